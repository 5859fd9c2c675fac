import { ProviderError } from "../../contract/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../contract/json.ts";
import type { ProviderEvent } from "../../contract/provider.ts";
import type { ReplyContext } from "../create-adapter.ts";
import { isBareError, oneLine } from "../errors/error-body.ts";
import { toStreamError } from "../errors/http-error.ts";
import type { ServerEvent, ServerEvents } from "../http/sse.ts";
import { toCount, toText } from "../json-values.ts";
import { settleWithin, withinIdle } from "../settle-within.ts";
import { createOutputItems, type OutputItems } from "./items.ts";

/** How long the failed response may take behind the error event that it usually follows. */
const defaultGraceMs = 500;

export type DeltaOptions = ReplyContext & { readonly graceMs?: number };

/**
 * Turns the events of a reply into deltas, up to the reply's own end: what the server sends after it is not read.
 * Throws a ProviderError when the reply fails or stops before its end.
 */
export async function* toDeltas(
  events: ServerEvents,
  { provider, idleMs, graceMs = withinIdle(defaultGraceMs, idleMs) }: DeltaOptions,
): AsyncGenerator<ProviderEvent, void, undefined> {
  const next = createResponseMachine(provider);
  try {
    for (let result = await events.next(); !result.done; result = await events.next()) {
      const data = toResponseEvent(result.value);
      if (data === undefined) continue;
      if (isError(data)) {
        const behind = await settleWithin(events.next(), graceMs, events.abandon);
        const hasFailed = [result, behind].some(isFailedResponse);
        throw toStreamError(errorOf(data), provider, hasFailed ? "failed" : "");
      }
      for (const delta of next(data)) {
        yield delta;
        if (delta.type === "end") return;
      }
    }
  } finally {
    // Not awaited: what was abandoned may never settle.
    events.return(undefined).catch(() => undefined);
  }
  throw new ProviderError(
    "protocol",
    `${provider}: the reply broke off before its end (no response.completed)`,
  );
}

function isError(event: JsonObject): boolean {
  return event.type === "error" || (event.error ?? null) !== null || isBareError(event);
}

function isFailedResponse(result: IteratorResult<ServerEvent, unknown> | undefined): boolean {
  if (result === undefined || result.done) return false;
  return toResponseEvent(result.value)?.type === "response.failed";
}

/**
 * Takes one event of a Responses stream that is no error and gives what it means; throws a ProviderError when the reply
 * ends in failure.
 */
export type ResponseMachine = (event: JsonObject) => Generator<ProviderEvent, void, undefined>;

/** Makes the state machine of one reply. Its last event is `end`; after that it takes no more. */
export function createResponseMachine(provider: string): ResponseMachine {
  const items = createOutputItems();
  let named = false;

  return function* next(event) {
    const type = toText(event.type) ?? "";
    const response = isJsonObject(event.response) ? event.response : undefined;
    if (response !== undefined && !named) {
      named = true;
      yield toMeta(response);
    }
    if (terminalTypes.has(type)) {
      yield* finish(type, response ?? {}, { items, provider });
    } else {
      yield* items.next(type, event);
    }
  };
}

const terminalTypes: ReadonlySet<string> = new Set([
  "response.completed",
  "response.incomplete",
  "response.failed",
  "response.cancelled",
  "response.canceled",
  "response.done",
]);

function* finish(
  type: string,
  response: JsonObject,
  { items, provider }: { items: OutputItems; provider: string },
): Generator<ProviderEvent> {
  const status = terminalStatus(type, response);
  if (isJsonObject(response.usage)) yield toUsage(response.usage);
  if (status === "failed" || hasError(response)) throw toStreamError(response.error ?? {}, provider, status);
  yield* items.finish(Array.isArray(response.output) ? response.output : []);
  const refused = items.refusal();
  if (refused !== undefined) throw refusal("refusal", provider, refused);
  if (status === "completed") {
    const stopReason = items.calls() > 0 ? "toolUse" : "stop";
    yield {
      type: "end",
      stopReason,
      stopReasonRaw: status,
      ...(items.hasServerWork() && { hasServerWork: true }),
    };
    return;
  }
  const details = isJsonObject(response.incomplete_details) ? response.incomplete_details : {};
  const reason = toText(details.reason) ?? status;
  if (reason === "content_filter") throw refusal(reason, provider);
  if (reason === "max_output_tokens" || reason === "max_tokens") {
    yield { type: "end", stopReason: "length", stopReasonRaw: reason };
    return;
  }
  throw new ProviderError(
    "protocol",
    `${provider}: the reply stopped before it was complete (${reason}); the answer may be incomplete`,
    { stopReasonRaw: reason, transient: status === "cancelled" },
  );
}

/** Servers that end every reply as completed tell by the error alone that it is not; an empty one is no word of it. */
function hasError({ error }: JsonObject): boolean {
  const words = isJsonObject(error) ? Object.values(error) : [error];
  return words.some((word) => (toText(word) ?? "") !== "");
}

/** The state that the response itself states, which some servers know better than their event's name. */
function terminalStatus(type: string, response: JsonObject): string {
  const stated = toText(response.status) ?? "";
  const status = terminalTypes.has(`response.${stated}`) ? stated : type.slice("response.".length);
  if (status === "canceled") return "cancelled";
  return status === "done" ? "completed" : status;
}

function toResponseEvent(event: ServerEvent): JsonObject | undefined {
  if (event.kind === "done" || !isJsonObject(event.data)) return undefined;
  if (event.kind === "whole") return toTerminalEvent(event.data);
  // Whatever type the error itself has.
  if (event.name === "error" && event.data.type !== "error") return { type: "error", error: event.data };
  if (event.data.type !== undefined || event.name === undefined) return event.data;
  return { ...event.data, type: event.name };
}

/** What an error event says, nested or flat; what every event has is no reason. */
function errorOf(event: JsonObject): JsonValue {
  const { sequence_number: _, ...said } = event;
  return said;
}

/** A server that answers without streaming sends what the last event of a stream would have held. */
function toTerminalEvent(response: JsonObject): JsonObject {
  const status = toText(response.status);
  if (status === undefined || !terminalTypes.has(`response.${status}`)) return response;
  return { type: `response.${status}`, response };
}

function toMeta(response: JsonObject): ProviderEvent {
  const responseId = toText(response.id);
  const responseModel = toText(response.model);
  return {
    type: "meta",
    ...(responseId !== undefined && { responseId }),
    ...(responseModel !== undefined && { responseModel }),
  };
}

/** The API's input count includes what was read from and written to the cache; ours does not. */
function toUsage(usage: JsonObject): ProviderEvent {
  const details = isJsonObject(usage.input_tokens_details) ? usage.input_tokens_details : {};
  const cacheRead = toCount(details.cached_tokens) ?? 0;
  const cacheWrite = toCount(details.cache_write_tokens) ?? 0;
  const input = Math.max(0, (toCount(usage.input_tokens) ?? 0) - cacheRead - cacheWrite);
  return {
    type: "usage",
    tokens: { input, output: toCount(usage.output_tokens) ?? 0, cacheRead, cacheWrite },
  };
}

function refusal(reason: string, provider: string, said = ""): ProviderError {
  const what =
    reason === "content_filter" ? "a content filter stopped the answer" : "the model declined to answer";
  const words = oneLine(said, 1_000);
  return new ProviderError("refusal", `${provider}: ${what}${words === "" ? "" : `: ${words}`}`, {
    stopReasonRaw: reason,
  });
}
