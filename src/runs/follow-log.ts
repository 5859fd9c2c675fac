import { open } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

export type FollowOptions = {
  /** Whether no more can come: asked when all there is has been read. */
  readonly isOver: () => boolean;
  readonly signal: AbortSignal;
};

/** How long to wait before the file is looked at again, in milliseconds. */
const pollMs = 40;
const chunkBytes = 256 * 1024;

/**
 * Reads a file of lines from its beginning, and on as it grows, until it is over. A last line without its end is left
 * out: its writer died over it. Rejects with the system's error when it cannot be read, and when it is aborted.
 */
export async function* followLines(
  path: string,
  { isOver, signal }: FollowOptions,
): AsyncGenerator<string, void, undefined> {
  const file = await open(path, "r");
  try {
    yield* toLines(chunks(file, { isOver, signal }));
  } finally {
    await file.close();
  }
}

type Readable = { read(bytes: Buffer): Promise<{ bytesRead: number }> };

async function* chunks(file: Readable, { isOver, signal }: FollowOptions): AsyncGenerator<Buffer> {
  for (let wasOver = false; ; ) {
    signal.throwIfAborted();
    const bytes = Buffer.allocUnsafe(chunkBytes);
    const { bytesRead } = await file.read(bytes);
    if (bytesRead > 0) {
      yield bytes.subarray(0, bytesRead);
    } else if (wasOver) return;
    else {
      // What was written before it was over may have come since the last look.
      wasOver = isOver();
      if (!wasOver) await sleep(pollMs, undefined, { signal });
    }
  }
}

/** Splits at LF. */
export async function* toLines(source: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  let pieces: Uint8Array[] = [];
  for await (const chunk of source) {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end >= 0; end = chunk.indexOf(lineFeed, start)) {
      pieces.push(chunk.subarray(start, end));
      yield Buffer.concat(pieces).toString("utf8");
      pieces = [];
      start = end + 1;
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start));
  }
}

const lineFeed = 10;
