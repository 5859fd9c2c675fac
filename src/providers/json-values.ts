import { isJsonObject, type JsonObject, type JsonValue } from "../contract/json.ts";

/** A JSON text's value, undefined when it is none. */
export function parseJson(text: string | undefined): JsonValue | undefined {
  if (text === undefined) return undefined;
  try {
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

/** A string, also an empty one; undefined for all else. */
export function toText(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A call's arguments as JSON text, which servers also send as the value itself; empty when there are none. */
export function toArgumentsText(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : value == null ? "" : JSON.stringify(value);
}

/** A number that can be a count; undefined for all else. */
export function toCount(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" && value >= 0 ? value : undefined;
}

/** The objects in a list; none for what is no list. */
export function toObjects(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
