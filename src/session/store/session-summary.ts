import { fstatSync } from "node:fs";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { parseObject, toHeader } from "./entry-schema.ts";
import { readWhole } from "./lines.ts";

/** What a list says about a session. */
export type SessionSummary = {
  readonly id: string;
  readonly path: string;
  readonly cwd: string;
  /** ISO 8601: when it began. */
  readonly timestamp: string;
  /** Milliseconds since the epoch. */
  readonly modifiedMs: number;
  readonly sizeBytes: number;
  readonly parentSession?: string;
  /** The latest that the ends of the file tell. */
  readonly name?: string;
  /** The beginning of the first prompt. */
  readonly firstMessage?: string;
};

/** Reads the two ends of an open session file, 32 KB each; undefined when it is none. */
export function readSummary(descriptor: number, path: string): SessionSummary | undefined {
  const stats = fstatSync(descriptor);
  const head = readPart(descriptor, 0, Math.min(stats.size, endBytes));
  const header = toHeader(lineAround(head, 0));
  if (typeof header === "string") return undefined;
  const tail = stats.size > endBytes ? readPart(descriptor, stats.size - endBytes, endBytes) : head;
  const name = lastName(tail) ?? (tail === head ? undefined : lastName(head));
  const firstMessage = firstPrompt(head);
  return {
    id: header.id,
    path,
    cwd: header.cwd,
    timestamp: header.timestamp,
    modifiedMs: stats.mtimeMs,
    sizeBytes: stats.size,
    ...(header.parentSession === undefined ? {} : { parentSession: header.parentSession }),
    ...(name === undefined || name === "" ? {} : { name }),
    ...(firstMessage === undefined ? {} : { firstMessage }),
  };
}

/** How much of each end of a file is read. */
const endBytes = 1 << 15;

const newline = 10;
const maxMessageLength = 200;

function readPart(descriptor: number, start: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  readWhole(descriptor, bytes, start);
  return bytes;
}

/** Undefined when no name is set in these bytes; empty when the last entry takes it away. */
function lastName(bytes: Buffer): string | undefined {
  let name: string | undefined;
  for (let at = bytes.indexOf(infoMark); at >= 0; at = bytes.indexOf(infoMark, at + 1)) {
    const entry = parseObject(lineAround(bytes, at));
    // The same words may stand inside of another entry.
    if (entry?.type === "session_info") name = typeof entry.name === "string" ? entry.name : "";
  }
  return name;
}

const infoMark = '"session_info"';
const userMark = '"user"';

function firstPrompt(head: Buffer): string | undefined {
  for (let at = head.indexOf(userMark); at >= 0; at = head.indexOf(userMark, at + 1)) {
    const text = promptText(parseObject(lineAround(head, at)));
    // The cut may fall inside a pair.
    if (text !== undefined) return text.slice(0, maxMessageLength).replace(/[\uD800-\uDBFF]$/, "");
  }
  return undefined;
}

function promptText(entry: JsonObject | undefined): string | undefined {
  if (entry === undefined || !isJsonObject(entry.message) || entry.message.role !== "user") return undefined;
  const { content } = entry.message;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return undefined;
  const text = content.find((block) => isJsonObject(block) && block.type === "text");
  return isJsonObject(text) && typeof text.text === "string" ? text.text : undefined;
}

function lineAround(bytes: Buffer, at: number): Buffer {
  const start = at === 0 ? 0 : bytes.lastIndexOf(newline, at - 1) + 1;
  const end = bytes.indexOf(newline, at);
  return bytes.subarray(start, end < 0 ? bytes.length : end);
}
