import type { AssistantUpdateEvent } from "../contract/events.ts";
import type { AssistantContent, AssistantMessage } from "../contract/messages.ts";
import { toJsonStringBody, toJsonText } from "./json-text.ts";

/** Pieces of JSON text. The bytes are never changed any more, so they may wait in a queue without a copy. */
export type JsonParts = (string | Uint8Array)[];

/** The JSON of a message that grows. */
export type MessageBytes = {
  readonly message: AssistantMessage;
  /** The message as it is now, given the event that tells what changed since the last call. */
  after(event: AssistantUpdateEvent): JsonParts;
};

/**
 * Keeps the serialised text of a live message. The plain stream repeats the whole message in each line; here the work
 * a line is that for the delta. A block is serialised anew only when it ends or does not look as the events say.
 */
export function createMessageBytes(message: AssistantMessage): MessageBytes {
  let blocks = message.content.map(toCachedBlock);

  function update(event: AssistantUpdateEvent): void {
    const { content } = message;
    if (blocks.length > content.length) blocks = [];
    content.forEach((block, index) => {
      const cached = blocks[index];
      const delta = index === event.contentIndex ? growth(event) : "";
      const mayChange = index === event.contentIndex && event.type === "toolcall_end";
      if (cached === undefined || mayChange || !fits(cached, block, delta))
        blocks[index] = toCachedBlock(block);
      else if (delta !== "") grow(cached, delta);
    });
  }

  function after(event: AssistantUpdateEvent): JsonParts {
    update(event);
    // All but the content is small; `content` keeps its place among the keys.
    const rest = toJsonText({ ...message, content: [] });
    const at = rest.indexOf(emptyContent) + emptyContent.length - 1;
    const parts: JsonParts = [rest.slice(0, at)];
    blocks.forEach((block, index) => {
      if (index > 0) parts.push(",");
      parts.push(block.bytes?.subarray(0, block.byteLength) ?? block.head, block.tail);
    });
    parts.push(rest.slice(at));
    return parts;
  }

  return { message, after };
}

const emptyContent = '"content":[]';

type CachedBlock = {
  readonly source: AssistantContent;
  /** What besides the text decides how the block looks. */
  readonly stamp: readonly unknown[];
  /** The length of the block's text, in UTF-16 units. */
  textLength: number;
  /** The block's JSON up to the end of its text, while that is short: a short text costs less than bytes of its own. */
  head: string;
  /** The same once it is long, and room for more of it. */
  bytes: Buffer | undefined;
  byteLength: number;
  /** The block's JSON behind its text. */
  readonly tail: string;
};

function growth(event: AssistantUpdateEvent): string {
  return event.type === "text_delta" || event.type === "thinking_delta" ? event.delta : "";
}

function textOf(block: AssistantContent): string {
  if (block.type === "text") return block.text;
  return block.type === "thinking" ? block.thinking : "";
}

function stampOf(block: AssistantContent): readonly unknown[] {
  switch (block.type) {
    case "text":
      return [block.textSignature];
    case "thinking":
      return [block.thinkingSignature, block.redacted];
    default:
      return [block.id, block.name, block.arguments, block.thoughtSignature];
  }
}

function fits(cached: CachedBlock, block: AssistantContent, delta: string): boolean {
  if (cached.source !== block || cached.textLength + delta.length !== textOf(block).length) return false;
  // The second half of a pair whose first half is already written (as U+FFFD).
  if (isLowSurrogate(delta.charCodeAt(0))) return false;
  return stampOf(block).every((value, index) => value === cached.stamp[index]);
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}

function toCachedBlock(block: AssistantContent): CachedBlock {
  const json = toJsonText(block);
  const text = textOf(block);
  const head =
    block.type === "toolCall" ? json : `{"type":"${block.type}","${block.type}":"${toJsonStringBody(text)}`;
  const growable = json.startsWith(head);
  const cached: CachedBlock = {
    source: block,
    stamp: stampOf(block),
    // With its keys in another order a block cannot grow by appending: no length fits, and it is serialised anew.
    textLength: growable ? text.length : Number.NaN,
    head: growable ? head : json,
    bytes: undefined,
    byteLength: 0,
    tail: growable ? json.slice(head.length) : "",
  };
  keepLongAsBytes(cached);
  return cached;
}

function grow(cached: CachedBlock, delta: string): void {
  const body = toJsonStringBody(delta);
  cached.textLength += delta.length;
  if (cached.bytes === undefined) {
    cached.head += body;
    keepLongAsBytes(cached);
    return;
  }
  const needed = cached.byteLength + Buffer.byteLength(body);
  if (needed > cached.bytes.length) {
    // Lines that still wait keep the old buffer, which stays as it is.
    const larger = Buffer.allocUnsafe(needed * 2);
    cached.bytes.copy(larger, 0, 0, cached.byteLength);
    cached.bytes = larger;
  }
  cached.byteLength += cached.bytes.write(body, cached.byteLength);
}

function keepLongAsBytes(cached: CachedBlock): void {
  if (cached.head.length < maxHeadLength) return;
  cached.bytes = Buffer.from(cached.head);
  cached.byteLength = cached.bytes.length;
  cached.head = "";
}

/** From here on a block is kept as bytes, which wait in a queue without a copy. */
const maxHeadLength = 2048;
