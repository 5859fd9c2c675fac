import { isUtf8 } from "node:buffer";

/** Puts the bytes of characters together again that a line came between. */
export type CharacterJoiner = {
  /** Takes bytes; gives those that are certain, which may be none. They are only valid until the next call. */
  push(chunk: Uint8Array): Uint8Array;
  /** Gives what is left. */
  flush(): Uint8Array;
  /** Whether bytes are held back, because a character has begun that may go on. */
  isOpen(): boolean;
};

/** A line that is longer than this comes between no character's bytes. */
const maxHeldBytes = 4096;
const newline = 0x0a;

/**
 * Makes a joiner for a pipe that two streams share. A program that writes the first bytes of a character to stdout, a line
 * to stderr and then the rest has it come out whole behind the line. All else stays what it is and where it is, also what
 * is no UTF-8 at all: its bytes look like cut characters, but no line of UTF-8 and then the very bytes that are missing
 * come behind them.
 */
export function createCharacterJoiner(): CharacterJoiner {
  let held: Uint8Array = new Uint8Array();

  function push(chunk: Uint8Array): Uint8Array {
    const bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    const cut = openStart(bytes);
    if (!isUtf8(bytes.subarray(0, cut))) return settle(bytes);
    held = Uint8Array.from(bytes.subarray(cut));
    return bytes.subarray(0, cut);
  }

  function settle(bytes: Uint8Array): Uint8Array {
    const out: Uint8Array[] = [];
    let from = 0;
    let at = 0;
    let lineEnd = -1;
    while (at < bytes.length) {
      const end = characterEnd(bytes, at);
      if (end - at === lengthOf(bytes[at] ?? 0)) {
        at = end;
        continue;
      }
      if (lineEnd < end) lineEnd = endOfLine(bytes, end);
      const rest = restBehind(bytes, { at, end, lineEnd });
      if (rest === "unknown") break;
      if (rest !== undefined) {
        out.push(bytes.subarray(from, at), bytes.subarray(end, lineEnd), bytes.subarray(at, end), rest);
        from = lineEnd + rest.length;
      }
      at = Math.max(end, from);
    }
    out.push(bytes.subarray(from, at));
    held = Uint8Array.from(bytes.subarray(at));
    return Buffer.concat(out);
  }

  return {
    push,
    flush() {
      const left = held;
      held = new Uint8Array();
      return left;
    },
    isOpen: () => held.length > 0,
  };
}

type CutCharacter = {
  readonly at: number;
  readonly end: number;
  /** Where the line that follows has its end; Infinity when it is not there yet. */
  readonly lineEnd: number;
};

/** The bytes behind the line that a cut character lacks; undefined when they are not there, `unknown` before they can be. */
function restBehind(
  bytes: Uint8Array,
  { at, end, lineEnd }: CutCharacter,
): Uint8Array | "unknown" | undefined {
  const soFar = Math.min(lineEnd, bytes.length);
  if (soFar - at > maxHeldBytes) return undefined;
  if (lineEnd > bytes.length) return "unknown";
  const restEnd = lineEnd + lengthOf(bytes[at] ?? 0) - (end - at);
  const rest = bytes.subarray(lineEnd, restEnd);
  if (!rest.every(isContinuation) || !isUtf8(bytes.subarray(end, lineEnd))) return undefined;
  if (restEnd > bytes.length) return "unknown";
  return isUtf8(Buffer.concat([bytes.subarray(at, end), rest])) ? rest : undefined;
}

function endOfLine(bytes: Uint8Array, from: number): number {
  const found = bytes.indexOf(newline, from);
  return found === -1 ? Number.POSITIVE_INFINITY : found + 1;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

/** How many bytes the character has that begins with this one; 1 for what begins none. */
function lengthOf(first: number): number {
  if (first < 0xc2 || first > 0xf4) return 1;
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/** Where the character that begins here has its end, or is cut. */
function characterEnd(bytes: Uint8Array, at: number): number {
  const whole = Math.min(at + lengthOf(bytes[at] ?? 0), bytes.length);
  let end = at + 1;
  while (end < whole && isContinuation(bytes[end] ?? 0)) end += 1;
  return end;
}

/** Where the character starts that the end of the bytes cuts; their length when none does. */
function openStart(bytes: Uint8Array): number {
  for (let at = bytes.length - 1; at >= Math.max(0, bytes.length - 3); at -= 1) {
    const byte = bytes[at] ?? 0;
    if (isContinuation(byte)) continue;
    return lengthOf(byte) > bytes.length - at ? at : bytes.length;
  }
  return bytes.length;
}
