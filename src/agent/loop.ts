import type { ProviderError } from "../contract/errors.ts";
import type { AgentMessage, ToolResultMessage } from "../contract/messages.ts";
import type { ProviderRequest } from "../contract/provider.ts";
import type { ReplyEnd } from "./accumulate.ts";
import { runTools, type ToolDeps } from "./run-tools.ts";
import { type AskDeps, abortWords, ask, type Reply, tellEmptyReply } from "./turn.ts";

/** What to do about a reply that failed. */
export type FailureDecision = "try_again" | "give_up";

/** Whether the next turn may come: not after a limit or an abort, nor when an error makes it impossible. */
export type BeforeTurn = "go" | "stop" | { readonly errorMessage: string };

export type LoopDeps = {
  readonly ask: AskDeps;
  readonly tools: ToolDeps;
  /** Called between turns, before each request; may compact. */
  readonly beforeTurn: (signal: AbortSignal) => Promise<BeforeTurn>;
  /** The request for all that the session holds by now. */
  readonly buildRequest: () => ProviderRequest;
  /** Called once for a reply that worked, right after its end was told. */
  readonly onSuccess: (reply: Reply) => void;
  /** Called after the turn of a reply that failed; waits out a retry's delay, or compacts. */
  readonly onFailure: (error: ProviderError, signal: AbortSignal) => Promise<FailureDecision>;
  /** Messages that are to be said before the next request: what steers a running turn, or follows when it is done. */
  readonly takeQueued: (when: "between_turns" | "before_retry" | "at_end") => AgentMessage[];
};

/**
 * Runs turns until the model stops: it answers, its tools run, it answers again. The messages of `opening` were kept
 * by the caller and are told within the first turn. An abort between a call and the next answer ends in a message
 * that says so, so that the last assistant message always tells how the work ended.
 */
export async function runLoop(
  opening: readonly AgentMessage[],
  deps: LoopDeps,
  signal: AbortSignal,
): Promise<void> {
  let saying = opening;
  for (;;) {
    const decision = await deps.beforeTurn(signal);
    if (decision !== "go") {
      if (signal.aborted) close(saying, { stopReason: "aborted", errorMessage: abortWords(signal) }, deps);
      else if (decision !== "stop") close(saying, { stopReason: "error", ...decision }, deps);
      return;
    }
    const { reply, results } = await turn(saying, deps, signal);
    saying = [];
    if (reply.error !== undefined) {
      if ((await deps.onFailure(reply.error, signal)) === "give_up") return;
      saying = deps.takeQueued("before_retry");
      continue;
    }
    if (reply.message.stopReason === "aborted") return;
    if (signal.aborted && results.length === 0) return;
    saying = signal.aborted ? [] : deps.takeQueued("between_turns");
    if (results.length > 0 || saying.length > 0) continue;
    saying = deps.takeQueued("at_end");
    if (saying.length === 0) return;
  }
}

async function turn(
  saying: readonly AgentMessage[],
  deps: LoopDeps,
  signal: AbortSignal,
): Promise<{ reply: Reply; results: readonly ToolResultMessage[] }> {
  openTurn(saying, deps);
  const reply = await ask(deps.buildRequest(), deps.ask, signal);
  const complete = reply.error === undefined && reply.message.stopReason !== "aborted";
  if (complete) deps.onSuccess(reply);
  const results = complete ? await runTools(reply, deps.tools, signal) : [];
  deps.ask.emit({ type: "turn_end", message: reply.message, toolResults: [...results] });
  return { reply, results };
}

/** Tells a turn without a request, whose message says why there was none. */
function close(saying: readonly AgentMessage[], end: ReplyEnd, deps: LoopDeps): void {
  openTurn(saying, deps);
  const message = tellEmptyReply(deps.buildRequest().model, deps.ask, end);
  deps.ask.emit({ type: "turn_end", message, toolResults: [] });
}

function openTurn(saying: readonly AgentMessage[], { ask: { emit } }: LoopDeps): void {
  emit({ type: "turn_start" });
  for (const message of saying) {
    emit({ type: "message_start", message });
    emit({ type: "message_end", message });
  }
}
