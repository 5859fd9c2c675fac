/**
 * Serialises a value so that every JSON parser and every line reader takes it: as `JSON.stringify`, with U+2028 and
 * U+2029 escaped and lone surrogates replaced by U+FFFD.
 */
export function toJsonText(value: object | string | number): string {
  const text = JSON.stringify(value);
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
