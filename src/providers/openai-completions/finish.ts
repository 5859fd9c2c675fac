import { ProviderError } from "../../contract/errors.ts";
import type { ProviderEvent } from "../../contract/provider.ts";
import { oneLine } from "../errors/error-body.ts";

type EndReason = Extract<ProviderEvent, { type: "end" }>["stopReason"];

/** What is known of a reply once nothing more of it comes. */
export type ReplyFacts = {
  readonly provider: string;
  /** The server's word for why it stopped; empty when it gave none. */
  readonly finishReason: string;
  /** Whether the server marked the end of its stream. */
  readonly isDone: boolean;
  readonly refusal: string;
  readonly callCount: number;
  /** Whether every call's arguments are whole. */
  readonly callsAreWhole: boolean;
  readonly hasNamelessCall: boolean;
};

/** Decides how a reply ended; throws a ProviderError when it did not end well. */
export function toEnd(facts: ReplyFacts): Extract<ProviderEvent, { type: "end" }> {
  const { provider, finishReason, callCount } = facts;
  const raw = finishReason === "" ? {} : { stopReasonRaw: finishReason };
  if (facts.refusal.trim() !== "")
    throw new ProviderError(
      "refusal",
      `the model of ${provider} refused: ${oneLine(facts.refusal, 1_000)}`,
      raw,
    );
  if (finishReason === "") return toUnstatedEnd(facts);
  const meaning = finishReasons.get(finishReason.toLowerCase());
  if (meaning === undefined)
    throw new ProviderError(
      "protocol",
      `${provider} stopped for a reason that is not known: ${finishReason}`,
      {
        ...raw,
        transient: false,
      },
    );
  if (meaning === "refusal")
    throw new ProviderError(
      "refusal",
      `the content filter of ${provider} stopped the reply (${finishReason})`,
      raw,
    );
  if (meaning === "failure")
    throw new ProviderError("overloaded", `${provider} failed while it answered (${finishReason})`, raw);
  if (meaning === "length") return { type: "end", stopReason: "length", ...raw };
  if (facts.hasNamelessCall)
    throw new ProviderError("protocol", `${provider} sent a tool call without a name`, raw);
  // The content decides, whichever of the two the server says.
  return { type: "end", stopReason: callCount > 0 ? "toolUse" : "stop", ...raw };
}

/** The reason that counts when a server states several: the last, but a bad end is not undone by a good one. */
export function laterFinishReason(before: string, now: string): string {
  if (now === "") return before;
  const meaning = finishReasons.get(before.toLowerCase());
  return before === "" || meaning === "stop" || meaning === "toolUse" ? now : before;
}

/** Some servers leave the reason out after tool calls: their end mark and whole arguments stand for it. */
function toUnstatedEnd(facts: ReplyFacts): Extract<ProviderEvent, { type: "end" }> {
  if (facts.isDone && facts.callCount > 0 && facts.callsAreWhole && !facts.hasNamelessCall)
    return { type: "end", stopReason: "toolUse" };
  throw new ProviderError("protocol", `${facts.provider}: the stream ended without a finish reason`);
}

const finishReasons: ReadonlyMap<string, EndReason | "refusal" | "failure"> = new Map(
  Object.entries({
    stop: "stop",
    end_turn: "stop",
    eos: "stop",
    eos_token: "stop",
    stop_sequence: "stop",
    length: "length",
    max_tokens: "length",
    max_output_tokens: "length",
    model_length: "length",
    model_context_window_exceeded: "length",
    tool_calls: "toolUse",
    tool_call: "toolUse",
    tool_use: "toolUse",
    function_call: "toolUse",
    content_filter: "refusal",
    refusal: "refusal",
    safety: "refusal",
    sensitive: "refusal",
    error: "failure",
    network_error: "failure",
    insufficient_system_resource: "failure",
    abort: "failure",
  } as const),
);
