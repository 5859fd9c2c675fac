import { createParser, type EventSourceMessage } from "eventsource-parser";
import { ProviderError } from "../../contract/errors.ts";
import type { JsonValue } from "../../contract/json.ts";
import { monotonicMs } from "../../contract/monotonic.ts";
import { htmlTitle, oneLine } from "../errors/error-body.ts";
import { toProviderError } from "../errors/http-error.ts";

/** One step of a reply: an event with its JSON data, the `[DONE]` mark, or a whole JSON document instead of a stream. */
export type ServerEvent =
  | { kind: "event"; name: string | undefined; data: JsonValue }
  | { kind: "done" }
  | { kind: "whole"; data: JsonValue };

/** The steps of a reply. */
export type ServerEvents = AsyncGenerator<ServerEvent> & {
  /** Lets the connection go at once: the reply is over, but its stream may never be. */
  abandon(): void;
};

/** Characters of one event, of a whole JSON reply, and of a page that is only quoted. */
const maxEventLength = 64 * 1024 * 1024;
const maxPageLength = 64 * 1024;
/** How long the rest of a reply may take after its end mark, so that the connection can be used again. */
const drainMs = 100;

/**
 * Reads a reply as server-sent events. Reads no further than it is asked for. `[DONE]` ends it, whether or not the
 * server closes; a consumer that stops early lets the connection go. Throws a ProviderError: `protocol` for what is
 * no event stream (the page's title or the text is quoted), `network` for a body that breaks.
 *
 * @param provider Whom the errors name.
 */
export function readServerEvents(response: Response, provider: string): ServerEvents {
  const chunks = openText(response, provider);
  return Object.assign(read(chunks, response, provider), { abandon: chunks.cancel });
}

async function* read(chunks: TextChunks, response: Response, provider: string): AsyncGenerator<ServerEvent> {
  let ended = false;
  try {
    const start = await readStart(chunks);
    const [first = ""] = start.trimStart();
    if (first === "<") throw await pageError(start, chunks, { response, provider });
    if (first === "{" || first === "[") {
      yield { kind: "whole", data: await readWhole(start, chunks, provider) };
    } else {
      const reader = createEventReader(provider);
      for (let text: string | undefined = start; text !== undefined; text = await chunks.next()) {
        for (const event of reader.take(text)) {
          const step = toServerEvent(event, provider);
          yield step;
          if (step.kind === "done") return;
        }
      }
      for (const event of reader.end()) yield toServerEvent(event, provider);
    }
    ended = chunks.ended();
  } finally {
    if (!ended) chunks.release();
  }
}

type TextChunks = {
  /** The next piece of text, undefined at the end of the body. */
  next(): Promise<string | undefined>;
  /** Lets the connection go: reads on for a moment, then cancels. */
  release(): void;
  /** Lets the connection go at once. */
  cancel(): void;
  ended(): boolean;
};

/** The body as text: one decoder for all of it, so that a character may be split between chunks. */
function openText(response: Response, provider: string): TextChunks {
  const iterator = response.body?.[Symbol.asyncIterator]();
  const decoder = new TextDecoder();
  let ended = iterator === undefined;
  return {
    async next() {
      if (iterator === undefined || ended) return undefined;
      const result = await iterator.next().catch((thrown: unknown) => {
        ended = true;
        throw toBodyError(thrown, provider);
      });
      if (!result.done) return decoder.decode(result.value, { stream: true });
      ended = true;
      return decoder.decode() || undefined;
    },
    release() {
      if (iterator !== undefined && !ended) void drain(iterator);
    },
    cancel: () => cancel(iterator),
    ended: () => ended,
  };
}

/** An abort's reason passes as it is; everything else is a connection that broke. */
function toBodyError(thrown: unknown, provider: string): unknown {
  if (!(thrown instanceof Error) || thrown.name === "AbortError") return thrown;
  const error = toProviderError(thrown, provider);
  if (error.kind !== "protocol" || error === thrown || error.code !== undefined) return error;
  return new ProviderError(
    "network",
    `the connection to ${provider} broke: ${oneLine(thrown.message, 300)}`,
    {
      cause: thrown,
    },
  );
}

async function drain(iterator: AsyncIterator<unknown>): Promise<void> {
  const deadlineMs = monotonicMs() + drainMs;
  // The timer is for a body that is silent, the deadline for one that never is.
  const timer = setTimeout(() => cancel(iterator), drainMs);
  timer.unref();
  try {
    while (!(await iterator.next()).done) {
      if (monotonicMs() > deadlineMs) return cancel(iterator);
    }
  } catch {
    // The reply was over: how its connection ends does not matter.
  } finally {
    clearTimeout(timer);
  }
}

function cancel(iterator: AsyncIterator<unknown> | undefined): void {
  iterator?.return?.()?.catch(() => undefined);
}

/** Reads up to the first character that is no white space. */
async function readStart(chunks: TextChunks): Promise<string> {
  let start = "";
  while (start.trim() === "") {
    const text = await chunks.next();
    if (text === undefined) break;
    start += text;
  }
  return start;
}

type EventReader = {
  /** Takes the next piece of the stream; gives the events that end in it and say something. */
  take(text: string): EventSourceMessage[];
  /** Gives the event that the stream's end ends. Throws a ProviderError when there was no event at all. */
  end(): EventSourceMessage[];
};

function createEventReader(provider: string): EventReader {
  const pending: EventSourceMessage[] = [];
  const parser = createParser({
    maxBufferSize: maxEventLength,
    onEvent: (event) => pending.push(event),
    onError: ({ type, field, value = "" }) => {
      if (type === "max-buffer-size-exceeded") throw tooLong(provider);
      // llama.cpp reports errors in a field of its own invention.
      if (field === "error" && value.startsWith("{"))
        pending.push({ event: "error", id: undefined, data: value });
    },
  });
  let unread = "";
  let sawEvent = false;
  return {
    take(text) {
      parser.feed(text);
      if (pending.length > 0) sawEvent = true;
      if (!sawEvent && unread.length < maxPageLength) unread += text;
      return pending.splice(0).filter(({ data }) => data.trim() !== "");
    },
    end() {
      // Servers leave out the blank line behind their last event.
      parser.feed("\n\n");
      if (!sawEvent && pending.length === 0) refuseText(unread, provider);
      return pending;
    },
  };
}

function toServerEvent({ event, data }: EventSourceMessage, provider: string): ServerEvent {
  if (data.trim() === "[DONE]") return { kind: "done" };
  return { kind: "event", name: event, data: parseJson(data, provider) };
}

function parseJson(text: string, provider: string): JsonValue {
  try {
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch {
    throw new ProviderError("protocol", `${provider} sent data that is not JSON: ${oneLine(text, 200)}`);
  }
}

async function readWhole(start: string, chunks: TextChunks, provider: string): Promise<JsonValue> {
  const parts = [start];
  let length = start.length;
  for (let text = await chunks.next(); text !== undefined; text = await chunks.next()) {
    length += text.length;
    if (length > maxEventLength) throw tooLong(provider);
    parts.push(text);
  }
  return parseJson(parts.join(""), provider);
}

async function pageError(
  start: string,
  chunks: TextChunks,
  reply: { response: Response; provider: string },
): Promise<ProviderError> {
  let page = start;
  while (page.length < maxPageLength) {
    const text = await chunks.next();
    if (text === undefined) break;
    page += text;
  }
  const { response, provider } = reply;
  return new ProviderError(
    "protocol",
    `${provider} answered ${response.status} with an HTML page${htmlTitle(page)}, not with a model's reply; check the base URL and the network`,
    { status: response.status, transient: false },
  );
}

/** A body of lines that are neither events nor comments is somebody else's answer; one of comments only is just empty. */
function refuseText(text: string, provider: string): void {
  const lines = text
    .split(/\r\n|\r|\n/)
    .filter((line) => !/^(?:$|:|(?:data|event|id|retry)(?::|$))/.test(line));
  const words = oneLine(lines.join(" "), 200);
  if (words === "") return;
  throw new ProviderError("protocol", `${provider} sent text instead of an event stream: ${words}`);
}

function tooLong(provider: string): ProviderError {
  return new ProviderError("protocol", `${provider} sent an event of more than ${maxEventLength} characters`);
}
