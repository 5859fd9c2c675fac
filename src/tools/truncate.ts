/** How much of a text may be shown. A line is what `\n` ends; the last one need not end. */
export type TextLimits = {
  /** UTF-8 bytes. */
  readonly maxBytes: number;
  readonly maxLines: number;
};

/** What the model sees of one result at most. */
export const outputLimits: TextLimits = { maxBytes: 50 * 1024, maxLines: 2000 };

/** A part of a text, and how it relates to the whole. */
export type TruncatedText = {
  /** A prefix or suffix of the whole, cut between lines; inside a line only when that line alone is over the limit. */
  readonly text: string;
  readonly truncated: boolean;
  /** The limit that was met first. */
  readonly truncatedBy?: "bytes" | "lines";
  /** The shown text is a single line of which a part is missing. */
  readonly partialLine: boolean;
  readonly totalLines: number;
  readonly totalBytes: number;
  readonly shownLines: number;
  readonly shownBytes: number;
};

/** Keeps the start of a text. */
export function truncateHead(text: string, limits: TextLimits = outputLimits): TruncatedText {
  let end = 0;
  let bytes = 0;
  let lines = 0;
  while (end < text.length && lines < limits.maxLines) {
    const newline = text.indexOf("\n", end);
    const next = newline === -1 ? text.length : newline + 1;
    const lineBytes = byteLengthUpTo(text.slice(end, next), limits.maxBytes - bytes);
    if (lineBytes === undefined) break;
    bytes += lineBytes;
    end = next;
    lines += 1;
  }
  if (end === text.length) return whole(text, bytes, lines);
  if (lines > 0 || limits.maxLines === 0) return part(text, text.slice(0, end), lines === limits.maxLines);
  return partOfLine(text, text.slice(0, codePointEnd(text, limits.maxBytes)));
}

/** Keeps the end of a text. */
export function truncateTail(text: string, limits: TextLimits = outputLimits): TruncatedText {
  let start = text.length;
  let bytes = 0;
  let lines = 0;
  while (start > 0 && lines < limits.maxLines) {
    const next = start >= 2 ? text.lastIndexOf("\n", start - 2) + 1 : 0;
    const lineBytes = byteLengthUpTo(text.slice(next, start), limits.maxBytes - bytes);
    if (lineBytes === undefined) break;
    bytes += lineBytes;
    start = next;
    lines += 1;
  }
  if (start === 0) return whole(text, bytes, lines);
  if (lines > 0 || limits.maxLines === 0) return part(text, text.slice(start), lines === limits.maxLines);
  return partOfLine(text, text.slice(codePointStart(text, limits.maxBytes)));
}

/**
 * Makes a text safe for models, JSON and storage: lone surrogates and control characters other than tab, line feed
 * and carriage return become U+FFFD.
 */
export function cleanText(text: string): string {
  return text.toWellFormed().replace(controlCharacter, "\uFFFD");
}

/** Removes the escape sequences with which programs colour, move and title a terminal. */
export function stripAnsi(text: string): string {
  return text.includes("\u001B") || text.includes("\u009B") ? text.replace(escapeSequence, "") : text;
}

/** How many lines a text has; an end of line at its very end starts no further one. */
export function countLines(text: string): number {
  let lines = 0;
  for (let at = 0; at < text.length; lines += 1) {
    const newline = text.indexOf("\n", at);
    at = newline === -1 ? text.length : newline + 1;
  }
  return lines;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject
const controlCharacter = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F]/g;

/** CSI; OSC, DCS, SOS, PM and APC up to their terminator; then the short forms. */
const escapeSequence =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject
  /(?:\u001B\[|\u009B)[0-?]*[ -/]*[@-~]|\u001B[\]PX^_][^\u0007\u001B]*(?:\u0007|\u001B\\)|\u001B[ -/]*[0-~]/g;

function whole(text: string, bytes: number, lines: number): TruncatedText {
  return {
    text,
    truncated: false,
    partialLine: false,
    totalLines: lines,
    totalBytes: bytes,
    shownLines: lines,
    shownBytes: bytes,
  };
}

function part(text: string, shown: string, byLines: boolean): TruncatedText {
  return {
    text: shown,
    truncated: true,
    truncatedBy: byLines ? "lines" : "bytes",
    partialLine: false,
    totalLines: countLines(text),
    totalBytes: Buffer.byteLength(text),
    shownLines: countLines(shown),
    shownBytes: Buffer.byteLength(shown),
  };
}

function partOfLine(text: string, shown: string): TruncatedText {
  return { ...part(text, shown, false), partialLine: true };
}

/** The UTF-8 length of a text, or undefined when it is over the limit. Never walks a text that cannot fit. */
function byteLengthUpTo(text: string, maxBytes: number): number | undefined {
  if (text.length > maxBytes) return undefined;
  const bytes = Buffer.byteLength(text);
  return bytes > maxBytes ? undefined : bytes;
}

/** Where the longest prefix of whole code points ends that takes at most that many bytes. */
function codePointEnd(text: string, maxBytes: number): number {
  let end = 0;
  for (let bytes = 0; end < text.length; ) {
    const codePoint = text.codePointAt(end) ?? 0;
    bytes += utf8Length(codePoint);
    if (bytes > maxBytes) break;
    end += codePoint > 0xffff ? 2 : 1;
  }
  return end;
}

/** Where the longest suffix of whole code points starts that takes at most that many bytes. */
function codePointStart(text: string, maxBytes: number): number {
  let start = text.length;
  for (let bytes = 0; start > 0; ) {
    const width = start >= 2 && (text.codePointAt(start - 2) ?? 0) > 0xffff ? 2 : 1;
    bytes += utf8Length(text.codePointAt(start - width) ?? 0);
    if (bytes > maxBytes) break;
    start -= width;
  }
  return start;
}

function utf8Length(codePoint: number): number {
  if (codePoint < 0x80) return 1;
  if (codePoint < 0x800) return 2;
  return codePoint < 0x10000 ? 3 : 4;
}
