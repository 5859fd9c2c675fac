const headerBytes = 13;
const trailer = 0x3b;
const imageMark = 0x2c;
const extensionMark = 0x21;

/**
 * Whether a GIF holds all of its last image. It may lack its trailer, as some programs write it: decoders take that.
 * The format has no mark that a search could find, so its blocks are walked.
 */
export function isWholeGif(bytes: Buffer): boolean {
  let at = headerBytes + colorTableBytes(bytes[10]);
  let images = 0;
  while (at < bytes.length && bytes[at] !== trailer) {
    if (bytes[at] === imageMark) {
      images += 1;
      at += 11 + colorTableBytes(bytes[at + 9]);
    } else if (bytes[at] === extensionMark) {
      at += 2;
    } else {
      // What follows the last image is no part of it.
      return images > 0;
    }
    at = afterData(bytes, at);
  }
  return images > 0 && at <= bytes.length;
}

function colorTableBytes(flags = 0): number {
  return (flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1);
}

/** Data come in blocks that begin with their length; one of no length ends them. */
function afterData(bytes: Buffer, start: number): number {
  let at = start;
  while (at < bytes.length && bytes[at] !== 0) at += 1 + (bytes[at] ?? 0);
  return at + 1;
}
