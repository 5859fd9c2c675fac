import type { IncomingMessage } from "node:http";
import { pipeline, Readable, type Transform } from "node:stream";

/**
 * The body of a reply without its content encodings (gzip, deflate in both its forms, br; unknown ones are left as they
 * are). What the server has flushed comes out at once, and a reply that is cut keeps what came.
 */
export async function decompress(message: IncomingMessage): Promise<AsyncIterable<Uint8Array>> {
  const codings = (message.headers["content-encoding"] ?? "")
    .split(",")
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== "" && coding !== "identity");
  if (codings.length === 0 || codings.some((coding) => !known.has(coding))) return message;
  let body: Readable = message;
  for (const coding of codings.toReversed()) body = await decode(body, coding);
  return body;
}

const known: ReadonlySet<string> = new Set(["gzip", "x-gzip", "deflate", "br"]);

async function decode(body: Readable, coding: string): Promise<Readable> {
  const zlib = await import("node:zlib");
  const { Z_SYNC_FLUSH, BROTLI_OPERATION_FLUSH } = zlib.constants;
  const flush = { flush: Z_SYNC_FLUSH, finishFlush: Z_SYNC_FLUSH };
  if (coding === "br") {
    const brotli = { flush: BROTLI_OPERATION_FLUSH, finishFlush: BROTLI_OPERATION_FLUSH };
    return join(body, zlib.createBrotliDecompress(brotli));
  }
  if (coding !== "deflate") return join(body, zlib.createGunzip(flush));
  const [first, whole] = await peek(body);
  // The standard says zlib's format; some servers send the bare one.
  const bare = first !== undefined && (first & 0x0f) !== 8;
  return join(whole, bare ? zlib.createInflateRaw(flush) : zlib.createInflate(flush));
}

function join(body: Readable, decoder: Transform): Readable {
  // Errors reach whoever reads the decoder.
  return pipeline(body, decoder, () => undefined);
}

/** The first byte of a stream, and the stream with that byte still in it. */
async function peek(body: Readable): Promise<[number | undefined, Readable]> {
  const chunks: AsyncIterator<Uint8Array> = body[Symbol.asyncIterator]();
  const first = await chunks.next();
  const rest = async function* () {
    for (let chunk = first; !chunk.done; chunk = await chunks.next()) yield chunk.value;
  };
  return [first.done ? undefined : first.value[0], Readable.from(rest())];
}
