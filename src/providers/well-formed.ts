import type { JsonValue } from "../contract/json.ts";

/**
 * The text of some JSON with every lone surrogate as U+FFFD. Half a character anywhere in the history would make
 * providers refuse every request that repeats it.
 */
export function toWellFormedText(value: JsonValue): string {
  const text = JSON.stringify(value);
  return text.includes("\\ud")
    ? text.replace(escaped, (found) => (found === "\\\\" ? found : "\ufffd"))
    : text;
}

/** JSON.stringify escapes a surrogate only where it is alone. A backslash that is itself escaped begins no escape. */
const escaped = /\\\\|\\ud[89a-f][0-9a-f]{2}/g;
