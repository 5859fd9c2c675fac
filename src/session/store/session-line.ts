import type { JsonValue } from "../../contract/json.ts";

/** An entry (or another object) as a line of JSON that every parser takes: half of a surrogate pair becomes U+FFFD. */
export function serializeLine(entry: object): string {
  const line = JSON.stringify(entry);
  // JSON.stringify writes whole pairs as they are and only escapes what has lost its other half.
  return loneEscape.test(line) ? JSON.stringify(entry, withoutLoneSurrogates) : line;
}

const loneEscape = /\\ud[89a-f]/;
const loneSurrogates = /\p{Surrogate}/gu;

function withoutLoneSurrogates(_key: string, value: JsonValue): JsonValue {
  if (typeof value === "string") return value.replace(loneSurrogates, "\uFFFD");
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).map(
    ([key, field]) => [key.replace(loneSurrogates, "\uFFFD"), field] as const,
  );
  return Object.fromEntries(entries);
}
