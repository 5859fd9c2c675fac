import { readSync } from "node:fs";

/** A line of a file, without its newline. */
export type FileLine = {
  /** Offset of its first byte in the file. */
  readonly start: number;
  /** Valid until the next line is asked for. */
  readonly bytes: Buffer;
};

const chunkBytes = 1 << 20;
const newline = 10;

/**
 * The lines of the first `size` bytes of a file, last one first, in memory bounded by the longest line. The first one
 * is what stands behind the last newline, so it is empty in a file that ends well.
 */
export function* linesBackward(descriptor: number, size: number): Generator<FileLine, void, undefined> {
  let buffer: Buffer = Buffer.allocUnsafe(Math.min(size, chunkBytes));
  let base = size;
  let filled = 0;
  for (;;) {
    const at = filled === 0 ? -1 : buffer.lastIndexOf(newline, filled - 1);
    if (at >= 0) {
      yield { start: base + at + 1, bytes: buffer.subarray(at + 1, filled) };
      filled = at;
      continue;
    }
    if (base === 0) break;
    // Doubling keeps the search for the start of a long line linear.
    const length = Math.min(base, Math.max(chunkBytes, filled));
    buffer = withRoomBefore(buffer, filled, length);
    base -= length;
    filled += length;
    readWhole(descriptor, buffer.subarray(0, length), base);
  }
  yield { start: 0, bytes: buffer.subarray(0, filled) };
}

/** The lines of the first `size` bytes of a file from its start, in memory bounded by the longest line. */
export function* linesForward(descriptor: number, size: number): Generator<FileLine, void, undefined> {
  let buffer: Buffer = Buffer.allocUnsafe(0);
  let base = 0;
  while (base + buffer.length < size) {
    const length = Math.min(size - base - buffer.length, Math.max(chunkBytes, buffer.length));
    const more = Buffer.allocUnsafe(buffer.length + length);
    buffer.copy(more);
    readWhole(descriptor, more.subarray(buffer.length), base + buffer.length);
    let from = 0;
    for (let at = more.indexOf(newline); at >= 0; at = more.indexOf(newline, from)) {
      yield { start: base + from, bytes: more.subarray(from, at) };
      from = at + 1;
    }
    base += from;
    buffer = more.subarray(from);
  }
  yield { start: base, bytes: buffer };
}

/** Fills `into` from the file at `position`. Throws when the file has become shorter. */
export function readWhole(descriptor: number, into: Buffer, position: number): void {
  for (let done = 0; done < into.length; ) {
    const count = readSync(descriptor, into, done, into.length - done, position + done);
    if (count === 0) throw new Error("the file became shorter while it was read");
    done += count;
  }
}

/** The line that starts at `start` and is `length` bytes long. */
export function readLine(descriptor: number, start: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  readWhole(descriptor, bytes, start);
  return bytes;
}

function withRoomBefore(buffer: Buffer, filled: number, length: number): Buffer {
  const larger = filled + length > buffer.length ? Buffer.allocUnsafe(filled + length) : buffer;
  buffer.copy(larger, length, 0, filled);
  return larger;
}
