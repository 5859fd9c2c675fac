import { isUtf8 } from "node:buffer";
import { constants, type Stats } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { describeLookupError, showPath, specialKind } from "./path.ts";

/** Every one of them maps a whole file to text and back without losing a byte. */
export type TextEncoding = "utf-8" | "windows-1252" | "utf-16le" | "utf-16be";

/** The mark at the start of a text file, and what it says. */
export type ByteOrderMark = { readonly encoding: TextEncoding; readonly bytes: number };

/** A regular file that is open for reading, or a sentence that says why there is none. */
export type OpenedFile =
  | { readonly ok: true; readonly handle: FileHandle; readonly stats: Stats }
  | { readonly ok: false; readonly problem: string };

/**
 * Opens a regular file for reading and never waits: anything else (a directory, a FIFO, a device) is refused by name.
 * The caller closes the handle.
 */
export async function openRegularFile(path: string, shownAs: string): Promise<OpenedFile> {
  try {
    const refused = refuseSpecial(await stat(path), shownAs);
    if (refused !== undefined) return { ok: false, problem: refused };
    // Not blocking, since the path may have become a FIFO by now.
    const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const stats = await handle.stat();
    const refusedNow = refuseSpecial(stats, shownAs);
    if (refusedNow === undefined) return { ok: true, handle, stats };
    await handle.close();
    return { ok: false, problem: refusedNow };
  } catch (error) {
    return { ok: false, problem: await describeLookupError("read", { asked: shownAs, path }, error) };
  }
}

/** Tells the byte order mark that some bytes start with. */
export function findByteOrderMark(bytes: Uint8Array): ByteOrderMark | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return { encoding: "utf-8", bytes: 3 };
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { encoding: "utf-16le", bytes: 2 };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { encoding: "utf-16be", bytes: 2 };
  return undefined;
}

/**
 * Guesses what bytes without a mark are: UTF-8 when at least half of what is not ASCII is valid UTF-8, else
 * Windows-1252, which Latin-1 is a part of.
 */
export function guessEncoding(bytes: Uint8Array): "utf-8" | "windows-1252" {
  if (isUtf8(bytes)) return "utf-8";
  let sequences = 0;
  let strayBytes = 0;
  for (let at = 0; at < bytes.length; ) {
    const length = utf8SequenceLength(bytes, at);
    if (length === 0) strayBytes += 1;
    else if (length > 1) sequences += 1;
    at += Math.max(1, length);
  }
  return sequences >= strayBytes ? "utf-8" : "windows-1252";
}

/**
 * Decodes bytes so that `encodeText` gives back the same ones: a byte that is not UTF-8 becomes the lone surrogate
 * U+DC00 + byte. A half character at the end of UTF-16 is the caller's to refuse.
 */
export function decodeText(bytes: Uint8Array, encoding: TextEncoding): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (encoding) {
    case "utf-8":
      return isUtf8(bytes) ? buffer.toString("utf8") : decodeWithStrayBytes(buffer);
    case "windows-1252":
      return buffer
        .toString("latin1")
        .replace(/[\u0080-\u009F]/g, (c) => high1252[c.charCodeAt(0) - 0x80] ?? c);
    case "utf-16le":
      return buffer.toString("utf16le");
    case "utf-16be":
      return Buffer.from(buffer).swap16().toString("utf16le");
  }
}

/** The bytes of a text, or the first character that the encoding does not have. */
export function encodeText(
  text: string,
  encoding: TextEncoding,
): { readonly bytes: Buffer } | { readonly unknown: string } {
  switch (encoding) {
    case "utf-8":
      return { bytes: encodeWithStrayBytes(text) };
    case "windows-1252": {
      const unknown = [...text].find((character) => to1252(character) === undefined);
      if (unknown !== undefined) return { unknown };
      return {
        bytes: Buffer.from(
          text.replace(/[\u0080-\uFFFF]/g, (c) => to1252(c) ?? c),
          "latin1",
        ),
      };
    }
    case "utf-16le":
      return { bytes: Buffer.from(text, "utf16le") };
    case "utf-16be":
      return { bytes: Buffer.from(text, "utf16le").swap16() };
  }
}

/** A file's size in words. */
export function showSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  const units = ["KB", "MB", "GB", "TB"];
  const power = Math.min(units.length, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** power).toFixed(1)} ${units[power - 1]}`;
}

/** What Windows-1252 has at 0x80 to 0x9F; the five bytes that it leaves open stay control characters. */
const high1252 =
  "\u20AC\u0081\u201A\u0192\u201E\u2026\u2020\u2021\u02C6\u2030\u0160\u2039\u0152\u008D\u017D\u008F" +
  "\u0090\u2018\u2019\u201C\u201D\u2022\u2013\u2014\u02DC\u2122\u0161\u203A\u0153\u009D\u017E\u0178";

/** The Latin-1 character with a character's Windows-1252 byte. */
function to1252(character: string): string | undefined {
  const high = high1252.indexOf(character);
  if (high !== -1) return String.fromCharCode(0x80 + high);
  const code = character.codePointAt(0) ?? 0;
  return code < 0x80 || (code >= 0xa0 && code <= 0xff) ? character : undefined;
}

function refuseSpecial(stats: Stats, shownAs: string): string | undefined {
  const kind = specialKind(stats);
  if (kind === undefined) return undefined;
  const advice = stats.isDirectory() ? " Use ls to list it." : "";
  return `${showPath(shownAs)} is ${kind}, not a file.${advice}`;
}

function decodeWithStrayBytes(bytes: Buffer): string {
  const parts: string[] = [];
  let start = 0;
  for (let at = 0; at < bytes.length; ) {
    const length = utf8SequenceLength(bytes, at);
    if (length === 0) {
      parts.push(bytes.toString("utf8", start, at), String.fromCharCode(0xdc00 + (bytes[at] ?? 0)));
      start = at + 1;
    }
    at += Math.max(1, length);
  }
  parts.push(bytes.toString("utf8", start));
  return parts.join("");
}

function encodeWithStrayBytes(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text, "utf8");
  // With the `u` flag a surrogate only matches where it stands alone.
  const parts = text.split(/([\uDC80-\uDCFF])/u);
  return Buffer.concat(
    parts.map((part, index) =>
      index % 2 === 1 ? Buffer.from([part.charCodeAt(0) - 0xdc00]) : Buffer.from(part, "utf8"),
    ),
  );
}

/** How many bytes the UTF-8 sequence at a place has; 0 when there is no valid one. */
function utf8SequenceLength(bytes: Uint8Array, at: number): number {
  const lead = bytes[at] ?? 0;
  if (lead < 0x80) return 1;
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const [low, high] = secondByteRange(lead);
  const second = bytes[at + 1] ?? 0;
  if (second < low || second > high) return 0;
  for (let next = at + 2; next < at + length; next += 1) {
    if (((bytes[next] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return length;
}

/** Keeps out overlong forms, surrogates and what is above U+10FFFF. */
function secondByteRange(lead: number): [low: number, high: number] {
  switch (lead) {
    case 0xe0:
      return [0xa0, 0xbf];
    case 0xed:
      return [0x80, 0x9f];
    case 0xf0:
      return [0x90, 0xbf];
    case 0xf4:
      return [0x80, 0x8f];
    default:
      return [0x80, 0xbf];
  }
}
