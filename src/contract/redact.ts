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
  return Array.isArray(value)
    ? redactItems(value, redact)
    : redactFields(value as Readonly<Record<string, unknown>>, redact);
}

function redactItems(items: readonly unknown[], redact: Redact): readonly unknown[] {
  let copy: unknown[] | undefined;
  items.forEach((item, index) => {
    const clean = redactAny(item, redact);
    if (clean === item) return;
    copy ??= [...items];
    copy[index] = clean;
  });
  return copy ?? items;
}

/** Every event comes by here, and hardly any holds a credential: a copy is made only of one that does. */
function redactFields(value: Readonly<Record<string, unknown>>, redact: Redact): object {
  for (const key in value) {
    if (redact(key) === key && redactAny(value[key], redact) === value[key]) continue;
    const clean = Object.entries(value).map(([name, field]) => [redact(name), redactAny(field, redact)]);
    return Object.fromEntries(clean);
  }
  return value;
}
