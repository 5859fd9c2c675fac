import { errorMessage, ProviderError } from "../contract/errors.ts";
import type { AssistantMessageEvent, Emit } from "../contract/events.ts";
import type { AssistantMessage } from "../contract/messages.ts";
import type { Model, Provider, ProviderRequest } from "../contract/provider.ts";
import { type AccumulatedCall, type Accumulator, createAccumulator, type ReplyEnd } from "./accumulate.ts";

/** What asking a model needs of its surroundings. */
export type AskDeps = {
  readonly provider: Provider;
  readonly emit: Emit;
  /** Resolves when the sink has room: a slow reader slows the model. */
  readonly ready: () => Promise<void>;
  /** Keeps the message before its end is told. */
  readonly record: (message: AssistantMessage) => void;
  readonly uniqueCallId: (id: string) => string;
  readonly secrets: readonly string[];
  readonly redact: (text: string) => string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
};

/** A model's reply. `error` says why when the message's stop reason is `error`. */
export type Reply = {
  readonly message: AssistantMessage;
  readonly calls: readonly AccumulatedCall[];
  readonly error?: ProviderError;
};

/**
 * Asks the model once and tells the message as it grows. Failure is part of the reply, never thrown: the message then
 * ends in `error` (or `aborted`) and keeps what had arrived.
 */
export async function ask(request: ProviderRequest, deps: AskDeps, signal: AbortSignal): Promise<Reply> {
  const accumulator = startMessage(request.model, deps);
  try {
    const end = await stream(request, deps, accumulator, signal);
    if (end.stopReason !== "length" && end.hasServerWork !== true && isEmpty(accumulator))
      throw new ProviderError(
        "protocol",
        `${request.model.provider} sent an empty reply: no text and no tool call`,
        {
          ...(end.stopReasonRaw === undefined ? {} : { stopReasonRaw: end.stopReasonRaw }),
        },
      );
    // What a reply holds outranks what it says of itself: some servers stop with "stop" after tool calls.
    const stopReason = end.stopReason === "stop" && accumulator.calls.length > 0 ? "toolUse" : end.stopReason;
    accumulator.finish({ stopReason, stopReasonRaw: end.stopReasonRaw });
    return { message: accumulator.message, calls: accumulator.calls };
  } catch (thrown) {
    return fail(thrown, deps, accumulator, { model: request.model, signal });
  }
}

/** Tells the empty message that stands for a request which was never made. */
export function tellEmptyReply(model: Model, deps: AskDeps, end: ReplyEnd): AssistantMessage {
  const { message, finish } = startMessage(model, deps);
  finish(end);
  return message;
}

function startMessage(model: Model, deps: AskDeps): Accumulator {
  return createAccumulator({
    model,
    timestamp: deps.now(),
    uniqueCallId: deps.uniqueCallId,
    secrets: deps.secrets,
    emit: (event) => tell(event, deps),
  });
}

async function stream(
  request: ProviderRequest,
  deps: AskDeps,
  accumulator: Accumulator,
  signal: AbortSignal,
) {
  for await (const event of deps.provider.stream(request, signal)) {
    if (event.type === "end") return event;
    accumulator.push(event);
    await deps.ready();
    signal.throwIfAborted();
  }
  throw new ProviderError("protocol", `${request.model.provider} ended its reply without an end`);
}

function fail(
  thrown: unknown,
  deps: AskDeps,
  accumulator: Accumulator,
  { model, signal }: { model: Model; signal: AbortSignal },
): Reply {
  const { message, calls } = accumulator;
  if (signal.aborted) {
    accumulator.finish({ stopReason: "aborted", errorMessage: abortWords(signal) });
    return { message, calls };
  }
  const error =
    thrown instanceof ProviderError
      ? thrown
      : new ProviderError("protocol", `${model.provider}: ${errorMessage(thrown)}`, {
          cause: thrown,
          transient: false,
        });
  accumulator.finish({
    stopReason: "error",
    stopReasonRaw: error.stopReasonRaw,
    errorMessage: deps.redact(error.message),
  });
  return { message, calls, error };
}

/** Says in a few words what ended the run, for messages and results that were cut. */
export function abortWords(signal: AbortSignal): string {
  const reason: unknown = signal.reason;
  if (typeof reason !== "object" || reason === null || !("kind" in reason)) return "aborted";
  switch (reason.kind) {
    case "signal":
      return "signal" in reason ? `aborted by ${String(reason.signal)}` : "aborted";
    case "readerGone":
      return "aborted: the reader of the output went away";
    case "outputFailed":
      return "aborted: the output could not be written";
    case "internalError":
      return "aborted by an internal error";
    default:
      return "aborted";
  }
}

function tell(event: AssistantMessageEvent, deps: AskDeps): void {
  switch (event.type) {
    case "start":
      deps.emit({ type: "message_start", message: event.partial });
      return;
    case "done":
    case "error": {
      const message = event.type === "done" ? event.message : event.error;
      deps.record(message);
      deps.emit({ type: "message_end", message });
      return;
    }
    default:
      deps.emit({ type: "message_update", message: event.partial, assistantMessageEvent: event });
  }
}

function isEmpty({ message }: Accumulator): boolean {
  return !message.content.some(
    (block) => block.type === "toolCall" || (block.type === "text" && block.text.trim() !== ""),
  );
}
