import { isJsonObject, type JsonValue } from "../../contract/json.ts";
import type { Tool } from "../../contract/tool.ts";
import goalOpen from "../prompts/goal-open.md";
import goalSystem from "../prompts/goal-system.md";
import goalTool from "../prompts/goal-tool.md";
import type { SessionStore } from "../store/store.ts";

/** What a session is to reach, as it is kept in it. */
export type GoalState = {
  readonly text: string;
  readonly reached: boolean;
  /** Tokens that may be used for it, over all runs. */
  readonly tokenBudget?: number;
  /** Tokens that were used for it by the time that this was kept. */
  readonly tokensUsed: number;
};

/** The goal that a run works on. */
export type Goal = {
  readonly text: string;
  readonly tokenBudget?: number;
  /** Tokens that were used in earlier runs. */
  readonly earlierTokens: number;
  /** What the system prompt says of it. */
  readonly systemPrompt: string;
  /** What the model calls when it is reached. */
  readonly tool: Tool;
  isReached(): boolean;
  /** What the model is told when it stopped before. */
  prompt(): string;
  /** What the session has to keep of it when the run used so many tokens. */
  state(tokens: number): GoalState;
};

const goalToolName = "goal_complete";
const entryType = "goal";

/** Makes the goal of a run: a new one, or one that the session kept. */
export function createGoal(kept: GoalState): Goal {
  let reached = kept.reached;
  const { text, tokenBudget, tokensUsed } = kept;
  return {
    text,
    ...(tokenBudget === undefined ? {} : { tokenBudget }),
    earlierTokens: tokensUsed,
    systemPrompt: fill(goalSystem, text),
    tool: {
      name: goalToolName,
      description: goalTool.trim(),
      parameters: { type: "object", properties: {}, additionalProperties: true },
      readOnly: false,
      async execute() {
        reached = true;
        const words = "The goal counts as reached. Answer with the result now.";
        return { content: [{ type: "text", text: words }], isError: false };
      },
    },
    isReached: () => reached,
    prompt: () => fill(goalOpen, text),
    state: (tokens) => ({ ...kept, reached, tokensUsed: tokensUsed + tokens }),
  };
}

/** The goal that a session was last given, if there is one. */
export function keptGoal(store: Pick<SessionStore, "branch">): GoalState | undefined {
  const entry = store.branch().findLast((each) => each.type === "custom" && each.customType === entryType);
  return entry?.type === "custom" ? toGoalState(entry.data) : undefined;
}

/**
 * Keeps the goal in the session unless it says the same already, where the context of a later run will find it. Throws a
 * PersistenceError.
 */
export function keepGoal(store: Pick<SessionStore, "branch" | "append">, state: GoalState): void {
  const branch = store.branch();
  const at = branch.findLastIndex((each) => each.type === "custom" && each.customType === entryType);
  const compactedAt = branch.findLastIndex(({ type }) => type === "compaction");
  const entry = branch[at];
  const isSame = entry?.type === "custom" && JSON.stringify(entry.data) === JSON.stringify(state);
  if (isSame && at > compactedAt) return;
  store.append({ type: "custom", customType: entryType, data: { ...state } });
}

function toGoalState(data: JsonValue | undefined): GoalState | undefined {
  if (!isJsonObject(data)) return undefined;
  const { text, reached, tokenBudget, tokensUsed } = data;
  if (typeof text !== "string" || text.trim() === "") return undefined;
  return {
    text,
    reached: reached === true,
    ...(typeof tokenBudget === "number" ? { tokenBudget } : {}),
    tokensUsed: typeof tokensUsed === "number" ? tokensUsed : 0,
  };
}

function fill(prose: string, goal: string): string {
  return prose.trimEnd().replace("{{goal}}", () => goal);
}
