import type { DeltaStreamLine } from "./deltas.ts";
import type { StreamLine } from "./events.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "./json.ts";

/** The bytes or the text of a stream, in pieces of any size: a child's stdout, a file's read stream, a response body. */
export type EventSource = AsyncIterable<Uint8Array | string>;

/**
 * Reads the lines of `base-context --mode json` as they arrive, the session header first. A last line without its
 * newline counts. Throws an Error with the line's number when a line is not one of such a stream: no JSON, an unknown
 * type, a field that is missing or of another kind. It does not look deeper; `base-context schema` does.
 */
export function readEvents(source: EventSource): AsyncGenerator<StreamLine, void, undefined> {
  return readLines(source, isStreamLine);
}

/** As `readEvents`, for `base-context --mode json --json-deltas`. */
export function readDeltaEvents(source: EventSource): AsyncGenerator<DeltaStreamLine, void, undefined> {
  return readLines(source, isDeltaStreamLine);
}

async function* readLines<Line extends StreamLine | DeltaStreamLine>(
  source: EventSource,
  isLine: (value: JsonObject) => value is JsonObject & Line,
): AsyncGenerator<Line, void, undefined> {
  let number = 0;
  for await (const text of splitLines(source)) {
    number++;
    const value = parseLine(text, number);
    if (!isLine(value)) throw badLine(number, `is not a line of this kind of stream`, text);
    yield value;
  }
}

/** Splits at LF and nothing else; the last line counts without it. */
export async function* splitLines(source: EventSource): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  for await (const chunk of source) {
    const text = typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
    const [first = "", ...further] = text.split("\n");
    pieces.push(first);
    for (const next of further) {
      yield pieces.join("");
      pieces = [next];
    }
  }
  const last = pieces.join("") + decoder.decode();
  if (last !== "") yield last;
}

/** Parses line `number` of a stream. Throws an Error with words when it is no JSON object. */
export function parseLine(text: string, number: number): JsonObject {
  let value: JsonValue;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw badLine(number, "is not JSON", text, error);
  }
  if (!isJsonObject(value)) throw badLine(number, "is not a JSON object", text);
  return value;
}

function badLine(number: number, problem: string, text: string, cause?: unknown): Error {
  const start = text.length > 80 ? `${text.slice(0, 80).toWellFormed()}...` : text;
  return new Error(`line ${number} ${problem}: ${start}`, cause === undefined ? undefined : { cause });
}

type Kind = "string" | "number" | "boolean" | "array" | "object";
type Fields = Readonly<Record<string, Kind>>;

const toolFields: Fields = { toolCallId: "string", toolName: "string" };
const commonFields: Readonly<Record<Exclude<StreamLine["type"], "message_update">, Fields>> = {
  session: { version: "number", id: "string", timestamp: "string", cwd: "string" },
  agent_start: {},
  agent_end: { messages: "array" },
  turn_start: {},
  turn_end: { message: "object", toolResults: "array" },
  message_start: { message: "object" },
  message_end: { message: "object" },
  tool_execution_start: { ...toolFields, args: "object" },
  tool_execution_update: { ...toolFields, args: "object", partialResult: "object" },
  tool_execution_end: { ...toolFields, result: "object", isError: "boolean" },
  session_action_update: { actions: "object" },
  compaction_start: { reason: "string" },
  compaction_end: { reason: "string", aborted: "boolean", willRetry: "boolean" },
  auto_retry_start: { attempt: "number", maxAttempts: "number", delayMs: "number", errorMessage: "string" },
  auto_retry_end: { success: "boolean", attempt: "number" },
};
const plainFields = new Map<string, Fields>(
  Object.entries({ ...commonFields, message_update: { message: "object", assistantMessageEvent: "object" } }),
);
const deltaFields = new Map<string, Fields>(
  Object.entries({
    ...commonFields,
    message_update: { messageId: "number", assistantMessageEvent: "object" },
  }),
);

/** Tells whether a JSON object is a line of `--mode json`, as far as `readEvents` looks. */
export function isStreamLine(value: JsonObject): value is JsonObject & StreamLine {
  return hasFields(value, plainFields);
}

/** As `isStreamLine`, for `--json-deltas`. */
export function isDeltaStreamLine(value: JsonObject): value is JsonObject & DeltaStreamLine {
  return hasFields(value, deltaFields) && !(value.type === "message_update" && "message" in value);
}

function hasFields(value: JsonObject, table: ReadonlyMap<string, Fields>): boolean {
  const fields = typeof value.type === "string" ? table.get(value.type) : undefined;
  if (fields === undefined) return false;
  return Object.entries(fields).every(([key, kind]) => kindOf(value[key]) === kind);
}

function kindOf(value: JsonValue | undefined): string {
  if (Array.isArray(value)) return "array";
  return value === null ? "null" : typeof value;
}
