/** Which lines of a text are wanted, and how much of them at most. */
export type WindowRequest = {
  /** The first line, counted from 1. */
  readonly firstLine: number;
  readonly maxLines: number;
  /** Bytes to keep; the window may be cut inside a line, or inside a character. */
  readonly maxBytes: number;
};

/** Some lines in the middle of a text that is never in memory as a whole. */
export type LineWindow = {
  /** From the start of the first wanted line; empty when the text ends before it. */
  readonly bytes: Buffer;
  /** The window was full before it was complete: its last line or character may be cut. */
  readonly isCut: boolean;
  /** Lines counted, in the window or not. */
  readonly linesSeen: number;
  /** Counting stopped before the text's end: there are more lines than were seen. */
  readonly moreUnseen: boolean;
};

/** How far past the window lines are counted: telling the total is worth a second, not a minute. */
const maxBytesCounted = 128 * 1024 * 1024;
const lineFeed = 0x0a;

/** Reads chunks of bytes up to their end and keeps the wanted lines. Chunks may be reused once the next is asked for. */
export async function readLineWindow(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  request: WindowRequest,
): Promise<LineWindow> {
  const lastLine = request.firstLine + request.maxLines - 1;
  const kept: Buffer[] = [];
  let room = request.maxBytes;
  let line = 1;
  let endsWithNewline = true;
  let bytesCounted = 0;
  let moreUnseen = false;
  for await (const chunk of chunks) {
    const isOpen = room > 0 && line <= lastLine;
    let start = line >= request.firstLine ? 0 : chunk.length;
    let end = chunk.length;
    for (let at = chunk.indexOf(lineFeed); at !== -1; at = chunk.indexOf(lineFeed, at + 1)) {
      line += 1;
      if (line === request.firstLine) start = at + 1;
      if (line === lastLine + 1) end = at + 1;
    }
    if (isOpen) {
      const part = Buffer.from(chunk.subarray(start, Math.min(end, start + room)));
      kept.push(part);
      room -= part.length;
    } else {
      bytesCounted += chunk.length;
    }
    if (chunk.length > 0) endsWithNewline = chunk.at(-1) === lineFeed;
    moreUnseen = bytesCounted > maxBytesCounted;
    if (moreUnseen) break;
  }
  return {
    bytes: Buffer.concat(kept),
    isCut: room === 0,
    linesSeen: endsWithNewline ? line - 1 : line,
    moreUnseen,
  };
}
