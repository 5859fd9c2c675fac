import { isUtf8 } from "node:buffer";

/** Puts the bytes of characters together again that others came between. */
export type CharacterJoiner = {
  /** Takes bytes; gives those whose characters are whole, or never can be. */
  push(chunk: Uint8Array): Uint8Array;
  /** Gives what is left. */
  flush(): Uint8Array;
  /** Whether a character has begun whose next byte is waited for. */
  isOpen(): boolean;
};

/**
 * Makes a joiner for a pipe that two streams share. A program that writes the first bytes of a character to stdout, a line
 * to stderr and then the rest has it come out whole behind the line. What is no UTF-8 at all stays what it is.
 */
export function createCharacterJoiner(): CharacterJoiner {
  let open = nothing;
  /** A character that something else came behind before it was whole. */
  let parted = nothing;

  function push(chunk: Uint8Array): Uint8Array {
    const from = open.length === 0 ? 0 : Math.min(missing(open), continuationLength(chunk));
    const head = [...open, ...chunk.subarray(0, from)];
    const isWhole = head.length === 0 || missing(head) === 0;
    const to = isWhole ? Math.max(from, openStart(chunk)) : from;
    const middle = chunk.subarray(from, to);
    if (!isWhole || !isUtf8(middle)) return join(chunk);
    open = [...chunk.subarray(to)];
    return head.length === 0 ? middle : Buffer.concat([Buffer.from(head), middle]);
  }

  /** Byte by byte, for what is not in order. */
  function join(chunk: Uint8Array): Uint8Array {
    const out: number[] = [];
    for (const byte of chunk) {
      if (isContinuation(byte)) takeContinuation(byte, out);
      else {
        if (open.length > 0) {
          out.push(...parted);
          parted = open;
        }
        open = lengthOf(byte) > 1 ? [byte] : nothing;
        if (open.length === 0) out.push(byte);
      }
    }
    return Uint8Array.from(out);
  }

  function takeContinuation(byte: number, out: number[]): void {
    if (open.length > 0) {
      open = [...open, byte];
      if (missing(open) > 0) return;
      out.push(...open);
      open = nothing;
    } else if (parted.length > 0) {
      parted = [...parted, byte];
      if (missing(parted) > 0) return;
      out.push(...parted);
      parted = nothing;
    } else out.push(byte);
  }

  return {
    push,
    flush() {
      const left = Uint8Array.from([...parted, ...open]);
      parted = nothing;
      open = nothing;
      return left;
    },
    isOpen: () => open.length > 0,
  };
}

const nothing: readonly number[] = [];

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** How many bytes the character has that begins with this one; 1 for what begins none. */
function lengthOf(first: number): number {
  if (first < 0xc2 || first > 0xf4) return 1;
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

function missing(character: readonly number[]): number {
  return lengthOf(character[0] ?? 0) - character.length;
}

function continuationLength(chunk: Uint8Array): number {
  let length = 0;
  while (length < chunk.length && isContinuation(chunk[length] ?? 0)) length += 1;
  return length;
}

/** Where the character starts that the end of the chunk cuts; the chunk's length when none does. */
function openStart(chunk: Uint8Array): number {
  for (let at = chunk.length - 1; at >= Math.max(0, chunk.length - 3); at -= 1) {
    const byte = chunk[at] ?? 0;
    if (isContinuation(byte)) continue;
    return lengthOf(byte) > chunk.length - at ? at : chunk.length;
  }
  return chunk.length;
}
