import type { FileHandle } from "node:fs/promises";
import type { ToolResult } from "../../contract/tool.ts";
import { errorResult, textResult } from "../define-tool.ts";
import { outputLimits, type TruncatedText, truncateHead } from "../truncate.ts";
import { type LineWindow, readLineWindow } from "./line-window.ts";
import type { FileToRead } from "./read-file.ts";
import { type ByteOrderMark, decodeText, findByteOrderMark, guessEncoding, showSize } from "./text-file.ts";

export type TextRange = {
  /** The first line, counted from 1. */
  readonly offset?: number;
  /** Lines. */
  readonly limit?: number;
};

const chunkBytes = 256 * 1024;

/** Shows lines of a text file in bounded memory, and says how to go on where they are not all. */
export async function readText(file: FileToRead, range: TextRange, signal: AbortSignal): Promise<ToolResult> {
  const mark = findByteOrderMark(file.head);
  const chunks = chunksOf(file.handle, mark?.bytes ?? 0, signal);
  const wide = mark !== undefined && mark.encoding !== "utf-8";
  return showLines(wide ? toUtf8(chunks, mark.encoding) : chunks, file.shownAs, { ...range, mark });
}

/** The same for a text that is in memory already. */
export async function showText(text: string, shownAs: string, range: TextRange): Promise<ToolResult> {
  return showLines([Buffer.from(text)], shownAs, range);
}

async function showLines(
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  shownAs: string,
  range: TextRange & { readonly mark?: ByteOrderMark | undefined },
): Promise<ToolResult> {
  const firstLine = range.offset ?? 1;
  const maxLines = Math.min(range.limit ?? outputLimits.maxLines, outputLimits.maxLines);
  // Four bytes more than can be shown, so that a cut character at the end is beyond what is shown.
  const window = await readLineWindow(chunks, { firstLine, maxLines, maxBytes: outputLimits.maxBytes + 4 });
  if (window.linesSeen === 0) return textResult(`[${shownAs} is empty.]`);
  if (firstLine > window.linesSeen) {
    return errorResult(
      `offset ${firstLine} is past the end: ${shownAs} has ${window.linesSeen} ${window.linesSeen === 1 ? "line" : "lines"}.`,
    );
  }
  const { text: decoded, notes } = decodeWindow(window, range.mark);
  const shown = withoutLineEnd(decoded, truncateHead(decoded, { maxBytes: outputLimits.maxBytes, maxLines }));
  const lastLine = firstLine + Math.max(1, shown.shownLines) - 1;
  notes.push(...rangeNotes(window, shown, { shownAs, firstLine, lastLine }));
  return textResult(withNotes(shown.text, notes), {
    firstLine,
    lastLine,
    ...(window.moreUnseen ? {} : { totalLines: window.linesSeen }),
  });
}

/** A line of which only the end is beyond the limit is shown whole. */
function withoutLineEnd(text: string, shown: TruncatedText): TruncatedText {
  return shown.partialLine && text[shown.text.length] === "\n" ? { ...shown, partialLine: false } : shown;
}

/** The window as text with plain line ends, and what there is to know about its bytes. */
function decodeWindow(
  window: LineWindow,
  mark: ByteOrderMark | undefined,
): { text: string; notes: string[] } {
  const notes: string[] = [];
  const bytes = window.isCut ? withoutCutLine(window.bytes) : window.bytes;
  const encoding = mark === undefined ? guessEncoding(bytes) : "utf-8";
  let text = decodeText(bytes, encoding);
  if (mark !== undefined && mark.encoding !== "utf-8")
    notes.push(`Decoded from ${mark.encoding.toUpperCase()}.`);
  if (encoding === "windows-1252") notes.push("Not UTF-8: decoded as Windows-1252 (Latin-1).");
  if (!text.isWellFormed()) notes.push("Not UTF-8 throughout: the stray bytes are shown as U+FFFD.");
  if (text.includes("\r\n")) {
    const all = !/(^|[^\r])\n/.test(text);
    notes.push(`${all ? "Lines" : "Some lines"} end in CRLF, shown as LF; edit keeps what the file has.`);
    text = text.replaceAll("\r\n", "\n");
  }
  return { text, notes };
}

/** Only the whole lines; of a single cut line all but a character that may be cut at the end. */
function withoutCutLine(bytes: Buffer): Buffer {
  const lastNewline = bytes.lastIndexOf(0x0a);
  if (lastNewline !== -1) return bytes.subarray(0, lastNewline + 1);
  let end = bytes.length - 1;
  while (end > bytes.length - 4 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.subarray(0, end);
}

function rangeNotes(
  window: LineWindow,
  shown: TruncatedText,
  { shownAs, firstLine, lastLine }: { shownAs: string; firstLine: number; lastLine: number },
): string[] {
  const total = `${window.moreUnseen ? "more than " : ""}${window.linesSeen} in ${shownAs}`;
  const more = window.moreUnseen || lastLine < window.linesSeen;
  const goOn = more ? ` Go on with offset=${lastLine + 1}.` : "";
  const cut = shown.partialLine || (window.isCut && !window.bytes.includes(0x0a));
  if (cut) {
    const size = showSize(shown.shownBytes);
    return [`Line ${lastLine} of ${total} is cut after ${size}: use bash to see the rest of it.${goOn}`];
  }
  return more ? [`Lines ${firstLine}-${lastLine} of ${total}.${goOn}`] : [];
}

function withNotes(text: string, notes: readonly string[]): string {
  // Providers refuse texts that are nothing but white space.
  const said = text.trim() === "" && notes.length === 0 ? ["Nothing but white space."] : notes;
  if (said.length === 0) return text;
  return `${text.replace(/\n$/, "")}\n\n${said.map((note) => `[${note}]`).join("\n")}`;
}

async function* chunksOf(handle: FileHandle, from: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  const buffer = Buffer.alloc(chunkBytes);
  for (let position = from; ; ) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

async function* toUtf8(chunks: AsyncIterable<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  const decoder = new TextDecoder(encoding, { ignoreBOM: true });
  for await (const chunk of chunks) yield Buffer.from(decoder.decode(chunk, { stream: true }));
  yield Buffer.from(decoder.decode());
}
