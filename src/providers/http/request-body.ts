import type { JsonObject, JsonValue } from "../../contract/json.ts";
import type { RequestBody } from "../adapter.ts";
import { toWellFormedText } from "../well-formed.ts";

/**
 * Serialises the body of a request as `JSON.stringify` does. The values of the body, and the items of its conversation,
 * the array `list`, are serialised once each: an object that was in an earlier body must not have changed since. Half a
 * character anywhere becomes U+FFFD.
 */
export function toRequestBody(params: JsonObject, list: string): RequestBody {
  const parts: Uint8Array[] = [];
  let text = "{";
  const add = (piece: string | Uint8Array): void => {
    if (typeof piece === "string") text += piece;
    else {
      parts.push(Buffer.from(text), piece);
      text = "";
    }
  };
  Object.entries(params)
    .filter(([, value]) => value !== undefined)
    .forEach(([key, value], index) => {
      add(`${index > 0 ? "," : ""}${JSON.stringify(key)}:`);
      if (key === list && Array.isArray(value)) addItems(value, add);
      else add(serialise(value));
    });
  parts.push(Buffer.from(`${text}}`));
  return parts;
}

/** From this many characters on an item is kept as bytes, and sent without a copy. */
const largeLength = 8 * 1024;
/** What items became. A long conversation is sent again at every turn, with a few new items at its end. */
const serialised = new WeakMap<object, string | Uint8Array>();

function addItems(items: readonly JsonValue[], add: (piece: string | Uint8Array) => void): void {
  items.forEach((item, index) => {
    add(index === 0 ? "[" : ",");
    add(serialise(item));
  });
  add(items.length === 0 ? "[]" : "]");
}

function serialise(item: JsonValue): string | Uint8Array {
  if (typeof item !== "object" || item === null) return toWellFormedText(item);
  const known = serialised.get(item);
  if (known !== undefined) return known;
  const text = toWellFormedText(item);
  const made = text.length < largeLength ? text : Buffer.from(text);
  serialised.set(item, made);
  return made;
}
