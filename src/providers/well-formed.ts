import { isJsonObject, type JsonObject, type JsonValue } from "../contract/json.ts";

/**
 * The same JSON with every lone surrogate as U+FFFD. Half a character anywhere in the history would make providers
 * refuse every request that repeats it.
 */
export function toWellFormedJson(object: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(object).map(([key, value]) => [key.toWellFormed(), toWellFormed(value)]),
  );
}

function toWellFormed(value: JsonValue): JsonValue {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(toWellFormed);
  return isJsonObject(value) ? toWellFormedJson(value) : value;
}
