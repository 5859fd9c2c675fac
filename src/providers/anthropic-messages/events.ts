import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { isBareError } from "../errors/error-body.ts";
import type { ServerEvent } from "../http/sse.ts";

/** The events of a Messages stream that a server's event holds. */
export function toMessageEvents(event: ServerEvent): Iterable<JsonObject> {
  if (event.kind === "done" || !isJsonObject(event.data)) return [];
  if (event.kind === "whole") return wholeMessageEvents(event.data);
  // Whatever type the error itself has.
  if (event.name === "error" && event.data.type !== "error") return [{ type: "error", error: event.data }];
  if (event.data.type !== undefined || event.name === undefined) return [event.data];
  return [{ ...event.data, type: event.name }];
}

/** The events that a stream of this message would have had, for servers that answer without streaming. */
function* wholeMessageEvents(message: JsonObject): Generator<JsonObject> {
  if (isError(message)) {
    yield message;
    return;
  }
  yield { type: "message_start", message };
  // As in requests, a text may stand for its block.
  const { content } = message;
  const blocks = typeof content === "string" ? [{ type: "text", text: content }] : content;
  for (const [index, block] of Array.isArray(blocks) ? blocks.entries() : []) {
    yield { type: "content_block_start", index, content_block: block };
    yield { type: "content_block_stop", index };
  }
  const { stop_reason = null, stop_details = null } = message;
  yield { type: "message_delta", delta: { stop_reason, stop_details } };
  yield { type: "message_stop" };
}

/** Whether an event tells of a failure, whatever it is called. */
export function isError(event: JsonObject): boolean {
  return event.type === "error" || (event.error ?? null) !== null || isBareError(event);
}
