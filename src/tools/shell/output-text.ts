import { cleanText, stripAnsi } from "../truncate.ts";
import { createCharacterJoiner } from "./parted-characters.ts";

/** Turns the bytes of one pipe into text, as they come. */
export type OutputDecoder = {
  /** Takes bytes; gives the text that is certain by now, which may be less or more than they hold. */
  push(chunk: Uint8Array): string;
  /** Gives what was held back for want of more bytes. */
  flush(): string;
};

/**
 * Makes a decoder: UTF-8 to text without terminal sequences, control characters and secrets, wherever the chunks cut
 * them.
 */
export function createOutputDecoder(secrets: readonly string[]): OutputDecoder {
  const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
  const characters = createCharacterJoiner();
  let openEscape = "";
  let openSecret = "";

  function take(decoded: string, isLast: boolean): string {
    const raw = openEscape + decoded;
    const escapeAt = isLast ? raw.length : openEscapeStart(raw);
    openEscape = raw.slice(escapeAt);
    return release(openSecret + cleanText(stripAnsi(raw.slice(0, escapeAt))), isLast);
  }

  function release(clean: string, isLast: boolean): string {
    const text = redact(clean, secrets);
    const secretAt = isLast ? text.length : text.length - openSecretLength(text, secrets);
    openSecret = text.slice(secretAt);
    return text.slice(0, secretAt);
  }

  return {
    push(chunk) {
      const isPlain = !characters.isOpen() && openEscape === "" && isPrintableAscii(chunk);
      if (isPlain) return release(openSecret + toAscii(chunk), false);
      return take(utf8.decode(characters.push(chunk)), false);
    },
    flush: () => take(utf8.decode(characters.flush()), true),
  };
}

/** The common case, which a flood must not pay more than one look a byte for. */
function isPrintableAscii(chunk: Uint8Array): boolean {
  for (let at = 0; at < chunk.length; at += 1) {
    const byte = chunk[at] ?? 0;
    if ((byte < 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) || byte > 0x7e) return false;
  }
  return true;
}

function toAscii(chunk: Uint8Array): string {
  return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString("latin1");
}

/** A terminal sequence longer than this is taken for ordinary text. */
const maxEscapeLength = 4096;

/** A terminal sequence that has begun at the end of a text and may go on. */
const openEscapePattern =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject
  /(?:\u001B\[|\u009B)[0-?]*[ -/]*$|\u001B[\]PX^_][^\u0007\u001B]*\u001B?$|\u001B[ -/]*$/;

/** Where the sequence starts that the text's end cuts; the text's length when none does. */
function openEscapeStart(text: string): number {
  const from = Math.max(0, text.length - maxEscapeLength);
  const end = text.slice(from);
  if (!end.includes("\u001B") && !end.includes("\u009B")) return text.length;
  const at = end.search(openEscapePattern);
  return at === -1 ? text.length : from + at;
}

function redact(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) {
    if (secret !== "" && clean.includes(secret)) clean = clean.replaceAll(secret, "[redacted]");
  }
  return clean;
}

/** The length of the longest end of the text that a secret begins with. */
function openSecretLength(text: string, secrets: readonly string[]): number {
  let longest = 0;
  for (const secret of secrets) {
    for (let length = Math.min(secret.length - 1, text.length); length > longest; length -= 1) {
      if (secret.startsWith(text.slice(-length))) longest = length;
    }
  }
  return longest;
}
