/** Takes credentials out of a text. */
export type Redact = (text: string) => string;

/**
 * A copy of a JSON value with every string (keys too) redacted; the same value when there was nothing to redact.
 * Strings are redacted before they are serialised, so that a line stays valid JSON whatever a credential looks like.
 */
export function redactValue<T>(value: T, redact: Redact | undefined): T {
  // Text in, text out; object in, object of the same keys out: the type stays.
  return redact === undefined ? value : (redactAny(value, redact) as T);
}

function redactAny(value: unknown, redact: Redact): unknown {
  if (typeof value === "string") return redact(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => redactAny(item, redact));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const before = Object.entries(value);
  const after = before.map(([key, item]): [string, unknown] => [redact(key), redactAny(item, redact)]);
  const changed = after.some(
    ([key, item], index) => key !== before[index]?.[0] || item !== before[index]?.[1],
  );
  return changed ? Object.fromEntries(after) : value;
}
