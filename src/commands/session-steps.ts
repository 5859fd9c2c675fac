import type { SessionEntry } from "../contract/entries.ts";
import type { AssistantMessage, ToolResultMessage } from "../contract/messages.ts";

/** What happened in a session, an answer together with the results of its calls. */
export type SessionStep =
  | {
      readonly kind: "answer";
      readonly entry: SessionEntry;
      readonly message: AssistantMessage;
      /** By the call's id; a call that was never answered has none. */
      readonly results: ReadonlyMap<string, ToolResultMessage>;
    }
  /** Everything else, results whose call is not the last answer's among them. */
  | { readonly kind: "entry"; readonly entry: SessionEntry };

/** Joins answers and results. What stands between a call and its result comes behind them. */
export function* toSteps(entries: Iterable<SessionEntry>): Generator<SessionStep, void, undefined> {
  let answer: OpenAnswer | undefined;
  let held: SessionEntry[] = [];
  function* flush(): Generator<SessionStep, void, undefined> {
    if (answer !== undefined) yield { kind: "answer", ...answer };
    for (const entry of held) yield { kind: "entry", entry };
    answer = undefined;
    held = [];
  }

  for (const entry of entries) {
    const message = entry.type === "message" ? entry.message : undefined;
    if (message?.role === "assistant") {
      yield* flush();
      answer = { entry, message, results: new Map() };
    } else if (message?.role === "toolResult" && isAsked(answer, message)) {
      answer.results.set(message.toolCallId, message);
    } else if (message !== undefined || answer === undefined) {
      yield* flush();
      yield { kind: "entry", entry };
    } else held.push(entry);
  }
  yield* flush();
}

type OpenAnswer = {
  readonly entry: SessionEntry;
  readonly message: AssistantMessage;
  readonly results: Map<string, ToolResultMessage>;
};

function isAsked(answer: OpenAnswer | undefined, { toolCallId }: ToolResultMessage): answer is OpenAnswer {
  return (
    answer?.message.content.some((block) => block.type === "toolCall" && block.id === toolCallId) === true &&
    !answer.results.has(toolCallId)
  );
}
