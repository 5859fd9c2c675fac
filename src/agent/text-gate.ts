/** Lets streamed text through in pieces that are safe to show one by one. */
export type TextGate = {
  /** Takes a delta; gives what can be shown now, which may be less or more than the delta. */
  push(delta: string): string;
  /** Gives what was held back. */
  flush(): string;
};

/**
 * Makes a gate that holds back the first half of a surrogate pair until the second arrives, and whatever may become
 * one of the secrets until it does (`[redacted]`) or does not. Other halves become U+FFFD.
 */
export function createTextGate(secrets: readonly string[]): TextGate {
  let held = "";

  function push(delta: string): string {
    const text = redact(held + delta, secrets);
    const keep = heldLength(text, secrets);
    held = keep === 0 ? "" : text.slice(text.length - keep);
    return (keep === 0 ? text : text.slice(0, -keep)).toWellFormed();
  }

  function flush(): string {
    const text = held.toWellFormed();
    held = "";
    return text;
  }

  return { push, flush };
}

function redact(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) if (clean.includes(secret)) clean = clean.replaceAll(secret, "[redacted]");
  return clean;
}

function heldLength(text: string, secrets: readonly string[]): number {
  let longest = isHighSurrogate(text.charCodeAt(text.length - 1)) ? 1 : 0;
  for (const secret of secrets) longest = Math.max(longest, overlap(text, secret));
  return longest;
}

/** The length of the longest end of `text` that is a beginning, but not the whole, of `secret`. */
function overlap(text: string, secret: string): number {
  const first = secret.charAt(0);
  let from = Math.max(0, text.length - secret.length + 1);
  for (;;) {
    from = text.indexOf(first, from);
    if (from === -1) return 0;
    if (secret.startsWith(text.slice(from))) return text.length - from;
    from++;
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}
