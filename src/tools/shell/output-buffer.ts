import type { ToolOutput } from "../../contract/events.ts";
import type { JsonObject } from "../../contract/json.ts";
import { outputLimits, type TextLimits, truncateTail } from "../truncate.ts";
import { createOutputDecoder, type OutputDecoder } from "./output-text.ts";
import { createSpill, type SpillOptions } from "./spill.ts";

/** Collects the output of a process: its end in memory, all of it in a file when that is more than the model sees. */
export type OutputBuffer = {
  /** Takes bytes of a pipe. The order of calls is the order of the text. */
  append(chunk: Uint8Array, stream: "stdout" | "stderr"): void;
  /** Takes text that is not from a pipe, behind everything so far; the pipes' last bytes must have been appended. */
  appendText(text: string): void;
  /** What there is so far, in short. */
  soFar(): ToolOutput;
  /** Everything came: what the model sees, with a note when it is only a part, and facts for `details`. */
  finish(): { readonly text: string; readonly details: JsonObject };
};

export type OutputBufferOptions = SpillOptions & {
  /** Replaced by `[redacted]` wherever they appear. */
  readonly secrets: readonly string[];
};

/** The bounds of an update: there are many, and each is a line of the event stream. */
const updateLimits: TextLimits = { maxBytes: 16 * 1024, maxLines: 500 };
/** Characters to keep: more than the model sees, so that cuts can be made between lines. */
const keptLength = 64 * 1024;
const pieceLength = 4 * 1024;

export function createOutputBuffer(options: OutputBufferOptions): OutputBuffer {
  const decoders: Record<"stdout" | "stderr", OutputDecoder> = {
    stdout: createOutputDecoder(options.secrets),
    stderr: createOutputDecoder(options.secrets),
  };
  const spill = createSpill(options);
  const tail = createTail();
  let bytes = 0;
  let lineFeeds = 0;
  let endsInLine = false;

  function add(text: string): void {
    if (text === "") return;
    bytes += Buffer.byteLength(text);
    lineFeeds += countLineFeeds(text);
    endsInLine = !text.endsWith("\n");
    const lines = lineFeeds + (endsInLine ? 1 : 0);
    if (bytes > outputLimits.maxBytes || lines > outputLimits.maxLines) spill.write(tail.text, text);
    tail.push(text);
  }

  return {
    append(chunk, stream) {
      add(decoders[stream].push(chunk));
    },
    appendText(text) {
      for (const decoder of Object.values(decoders)) add(decoder.flush());
      add(decoders.stdout.push(Buffer.from(text)) + decoders.stdout.flush());
    },
    soFar() {
      const { text, truncated } = truncateTail(tail.text(), updateLimits);
      const details = truncated || !tail.isWhole() ? { details: { truncated: true } } : {};
      return { content: [{ type: "text", text: text.toWellFormed() }], ...details };
    },
    finish() {
      for (const decoder of Object.values(decoders)) add(decoder.flush());
      spill.close();
      const shown = truncateTail(tail.text());
      const text = shown.text.toWellFormed();
      if (tail.isWhole() && !shown.truncated) return { text, details: {} };
      const totalLines = lineFeeds + (endsInLine ? 1 : 0);
      const part = shown.partialLine
        ? `the last ${shown.shownBytes} bytes of the last line of ${totalLines}`
        : `the last ${shown.shownLines} of ${totalLines} lines`;
      return {
        text: `${text.replace(/\n$/, "")}\n\n[Output cut: shown are ${part}, ${bytes} bytes in all. ${spill.note()}]`,
        details: { truncated: true, totalLines, totalBytes: bytes, ...spill.details() },
      };
    },
  };
}

type Tail = { push(text: string): void; text(): string; isWhole(): boolean };

/** Keeps the end of a text in pieces, so that a flood is not copied again and again. */
function createTail(): Tail {
  let pieces: string[] = [];
  let length = 0;
  let isWhole = true;
  return {
    push(text) {
      const last = pieces.at(-1);
      if (last !== undefined && last.length < pieceLength) pieces[pieces.length - 1] = last + text;
      else pieces.push(text);
      length += text.length;
      for (let first = pieces[0]; first && length - first.length >= keptLength; first = pieces[0]) {
        pieces.shift();
        length -= first.length;
        isWhole = false;
      }
    },
    text() {
      pieces = [pieces.join("")];
      return pieces[0] ?? "";
    },
    isWhole: () => isWhole,
  };
}

/** A loop is several times as fast as `indexOf` where lines are short. */
function countLineFeeds(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += 1) if (text.charCodeAt(at) === 10) count += 1;
  return count;
}
