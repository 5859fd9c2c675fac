import { isUtf8 } from "node:buffer";
import { ProviderError } from "../../contract/errors.ts";
import type { JsonValue } from "../../contract/json.ts";
import type { ProviderInit } from "../adapter.ts";
import { type ReplyBody, toReplyBody, toResponse } from "../http/reply.ts";
import type { RecordedChunk, RecordedExchange, RecordedFailure } from "./cassette-file.ts";
import { type RedactPieces, redactEvents } from "./recorded-events.ts";

/** An exchange that is being recorded. */
export type OpenExchange = {
  /** The same reply, its chunks kept as they are read. */
  watch(response: Response): Response;
  /** Ends the exchange; only the first call counts. */
  finish(failure?: RecordedFailure): void;
};

/** What strips the credentials of a run. */
export type Redaction = { readonly redact: (text: string) => string; readonly redactPieces: RedactPieces };

/**
 * Starts to record an exchange.
 *
 * @param redaction Strips the credentials: one that is split between chunks or events too, at the price of the borders of
 *   chunks.
 * @param onFinished Takes the exchange, once: when the reply was read, broke, or was given up.
 */
export function openExchange(
  request: RecordedExchange["request"],
  redaction: Redaction,
  onFinished: (exchange: RecordedExchange) => void,
): OpenExchange {
  const chunks: Uint8Array[] = [];
  let head: Omit<NonNullable<RecordedExchange["response"]>, "chunks"> | undefined;
  let finished = false;
  const finish = (failure?: RecordedFailure) => {
    if (finished) return;
    finished = true;
    onFinished({
      type: "exchange",
      request,
      ...(head !== undefined && { response: { ...head, chunks: toChunks(chunks, redaction) } }),
      ...(failure !== undefined && { failure }),
      ...(head === undefined && failure === undefined && { failure: stopped }),
    });
  };
  async function* keep(body: ReplyBody): AsyncGenerator<Uint8Array> {
    try {
      for await (const chunk of body) {
        chunks.push(chunk);
        yield chunk;
      }
      finish();
    } catch (thrown) {
      finish(toRecordedFailure(thrown));
      throw thrown;
    }
  }
  return {
    finish,
    watch(response) {
      const { status, statusText, url } = response;
      const headers = new Map(response.headers.entries());
      head = {
        status,
        ...(statusText !== "" && { statusText }),
        headers: Object.fromEntries([...headers].filter(([name]) => keptHeaders.test(name))),
      };
      const body = response.body as ReplyBody | null;
      if (body === null) finish();
      const giveUp = () => {
        finish();
        body?.return().catch(() => undefined);
      };
      const watched = body === null ? null : toReplyBody(keep(body), giveUp);
      return toResponse({ status, statusText, url, headers, body: watched });
    },
  };
}

const stopped: RecordedFailure = {
  code: "ABORT_ERR",
  message: "the recorded run was stopped here",
  transient: false,
};

/** What failed, in a form that a replay can fail with again. The reason of an abort is no failure of the provider. */
export function toRecordedFailure(thrown: unknown): RecordedFailure {
  if (!(thrown instanceof ProviderError)) return stopped;
  const { kind, code, message, transient } = thrown;
  // Faults of these kinds pass unless something is said of them.
  return { kind, ...(code !== undefined && { code }), message, ...(!transient && { transient }) };
}

/** The body of a request: as JSON where it is JSON. */
export function toRecordedBody(body: ProviderInit["body"]): { body?: JsonValue } {
  if (body === undefined || body === null) return {};
  const bytes = Array.isArray(body) ? Buffer.concat(body) : body;
  const text = bytes instanceof Uint8Array ? Buffer.from(bytes).toString("utf8") : String(bytes);
  try {
    const value: JsonValue = JSON.parse(text);
    return { body: value };
  } catch {
    return { body: text };
  }
}

const keptHeaders =
  /^(?:content-type|location|retry-after(?:-ms)?|x-should-retry|(?:x-)?request-id|(?:x|anthropic)-ratelimit-.+)$/;

function toChunks(chunks: readonly Uint8Array[], { redact, redactPieces }: Redaction): RecordedChunk[] {
  const whole = Buffer.concat(chunks).toString("utf8");
  const clean = redactEvents(redact(whole), redactPieces);
  if (clean !== whole) return [clean];
  return chunks.map((chunk) => {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    return isUtf8(bytes) ? bytes.toString("utf8") : { base64: bytes.toString("base64") };
  });
}
