import type { JsonObject } from "../../contract/json.ts";
import type { Model, ThinkingLevel } from "../../contract/provider.ts";

/** The fields of a request that decide how much the model thinks; an absent field is not sent. */
export type ThinkingParams = {
  thinking?: JsonObject;
  effort?: "low" | "medium" | "high" | "xhigh" | "max";
};

type RaisedLevel = Exclude<ThinkingLevel, "off">;

/** Thinking tokens by level, for models that take a budget. */
const budgets: Readonly<Record<RaisedLevel, number>> = {
  minimal: 1024,
  low: 4096,
  medium: 10_240,
  high: 20_480,
  xhigh: 32_768,
  max: 65_536,
};

const minBudget = 1024;
/** What a budget leaves of the output for the answer itself, where there is that much. */
const answerTokens = 8192;

const efforts: Readonly<Record<RaisedLevel, NonNullable<ThinkingParams["effort"]>>> = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "xhigh",
  max: "max",
};

/**
 * Translates a thinking level. Models up to 4.5 take a token budget, newer ones decide themselves and are steered by
 * effort. A model that cannot be kept from thinking gets the lowest effort for `off`.
 */
export function toThinkingParams(model: Model, level: ThinkingLevel, maxTokens: number): ThinkingParams {
  if (!model.reasoning) return {};
  const claude = parseClaude(model.id);
  if (level === "off") return offParams(claude);
  if (claude?.adaptive) {
    const effort = level === "xhigh" && claude.version < 4.7 ? "high" : efforts[level];
    return { thinking: { type: "adaptive", display: "summarized" }, effort };
  }
  const room = maxTokens - Math.min(answerTokens, Math.floor(maxTokens / 2));
  const budget = Math.max(minBudget, Math.min(budgets[level], room));
  if (budget >= maxTokens) return { thinking: { type: "disabled" } };
  return { thinking: { type: "enabled", budget_tokens: budget } };
}

/** Whether the model can be told the JSON Schema of its answer. */
export function supportsOutputSchema(model: Model): boolean {
  const claude = parseClaude(model.id);
  return claude !== undefined && claude.version >= (claude.family === "opus" ? 4.1 : 4.5);
}

function offParams(claude: Claude | undefined): ThinkingParams {
  if (claude?.alwaysThinks) return { effort: "low" };
  if (claude?.family === "sonnet" && claude.version >= 5.5) return { thinking: { type: "between_tools" } };
  return { thinking: { type: "disabled" } };
}

type Claude = {
  family: string;
  /** 4.5 for `claude-sonnet-4-5-20250929`; infinite when the name states none. */
  version: number;
  adaptive: boolean;
  alwaysThinks: boolean;
};

/** Reads family and version from a model id, with or without a vendor prefix; undefined when it is no Claude. */
function parseClaude(id: string): Claude | undefined {
  const family = /claude.*?(opus|sonnet|haiku|fable|mythos)/.exec(id)?.[1];
  if (family === undefined) return undefined;
  const [, major, minor] = /claude-(?:[a-z]+-)?(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?/.exec(id) ?? [];
  const version = major === undefined ? Number.POSITIVE_INFINITY : Number(`${major}.${minor ?? 0}`);
  return {
    family,
    version,
    adaptive: version >= 4.6,
    alwaysThinks: family === "fable" || family === "mythos" || (family === "opus" && version >= 5.5),
  };
}
