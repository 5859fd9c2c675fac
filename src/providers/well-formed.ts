import { isJsonObject, type JsonObject, type JsonValue } from "../contract/json.ts";

/**
 * The same JSON with every lone surrogate as U+FFFD. Half a character anywhere in the history would make providers
 * refuse every request that repeats it.
 */
export function toWellFormedJson(object: JsonObject): JsonObject {
  return mapObject(object);
}

function mapValue(value: JsonValue): JsonValue {
  if (typeof value === "string") return value.replace(loneSurrogates, "\ufffd");
  if (Array.isArray(value)) return value.map(mapValue);
  return isJsonObject(value) ? mapObject(value) : value;
}

function mapObject(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([key, value]) => [key.replace(loneSurrogates, "\ufffd"), mapValue(value)]),
  );
}

/** With the `u` flag a pair is one code point, so that only halves match. */
const loneSurrogates = /\p{Surrogate}/gu;
