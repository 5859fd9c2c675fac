import { type Redact, redactValue } from "../contract/redact.ts";

/**
 * Serialises a value so that every JSON parser and every line reader takes it: as `JSON.stringify`, with U+2028 and
 * U+2029 escaped and lone surrogates replaced by U+FFFD.
 */
export function toJsonText(value: object | string | number): string {
  return toSafeText(JSON.stringify(value));
}

/**
 * The same, without the credentials that `redact` knows. They are looked for in all of the text at once, as hardly any
 * holds one; `redact` has to know them as JSON escapes them. Where it finds one, the strings are redacted one by one
 * before they are serialised, so that the text stays JSON whatever a credential looks like.
 */
export function toCleanJsonText(value: object, redact: Redact | undefined): string {
  const text = JSON.stringify(value);
  if (redact !== undefined && redact(text) !== text) return toJsonText(redactValue(value, redact));
  return toSafeText(text);
}

function toSafeText(text: string): string {
  if (!suspicious.test(text)) return text;
  return text.replace(unsafe, (found) => replacements[found] ?? (found.startsWith("\\u") ? "\ufffd" : found));
}

/** The JSON text of a string without its quotes, so that it can be put together from pieces. */
export function toJsonStringBody(text: string): string {
  return toJsonText(text).slice(1, -1);
}

const suspicious = /[\u2028\u2029]|\\ud/;
// JSON.stringify writes a lone surrogate as an escape; an escaped backslash is matched first, so that `\\ud800`, which
// is text, stays as it is.
const unsafe = /[\u2028\u2029]|\\\\|\\ud[89a-f][0-9a-f]{2}/g;
const replacements: Readonly<Record<string, string>> = { "\u2028": "\\u2028", "\u2029": "\\u2029" };
