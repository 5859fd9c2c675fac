import { isJsonObject, type JsonObject, type JsonValue } from "../contract/json.ts";

/** A call's arguments as they came: parsed, or the text and what is wrong with it. */
export type ParsedArguments =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly raw: string; readonly problem: string };

/** Deeper JSON is refused: serialising it again would overflow the stack. */
const maxNesting = 500;

/**
 * Reads the JSON text of a call's arguments without any repair: nothing counts as `{}`, and a JSON string that holds
 * the whole object counts as the object.
 */
export function parseArguments(raw: string): ParsedArguments {
  const text = raw.trim();
  if (text === "") return { ok: true, value: {} };
  if (nesting(text) > maxNesting)
    return { ok: false, raw, problem: `nested deeper than ${maxNesting} levels` };
  let value: JsonValue;
  try {
    value = parse(text);
    if (typeof value === "string") value = value.trim() === "" ? {} : parse(value);
  } catch (error) {
    return { ok: false, raw, problem: error instanceof Error ? error.message : "not valid JSON" };
  }
  if (value === null) return { ok: true, value: {} };
  if (!isJsonObject(value)) return { ok: false, raw, problem: "not a JSON object" };
  // An escape can spell half a surrogate pair, which no other JSON reader has to take.
  return { ok: true, value: /\\u[dD][89a-fA-F]/.test(text) ? wellFormed(value) : value };
}

function parse(text: string): JsonValue {
  return JSON.parse(text);
}

function nesting(text: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (inString) {
      if (c === 0x5c) i++;
      else if (c === 0x22) inString = false;
    } else if (c === 0x22) inString = true;
    else if (c === 0x5b || c === 0x7b) deepest = Math.max(deepest, ++depth);
    else if (c === 0x5d || c === 0x7d) depth--;
  }
  return deepest;
}

function wellFormed<T extends JsonValue>(value: T): T;
function wellFormed(value: JsonValue): JsonValue {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map((item: JsonValue) => wellFormed(item));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormed(item)]),
  );
}
