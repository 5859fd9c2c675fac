const mark = "[redacted]";

/** Shorter ones would tear ordinary words apart. */
const minLength = 6;
/** What local servers that want no key are usually given. */
const placeholders: ReadonlySet<string> = new Set(["ollama", "lm-studio", "not-needed", "no-key-required"]);

/**
 * Makes the function that strips the known credentials from a text: as they are, as JSON and URLs escape them, and in
 * base64, where Basic authorization carries them. Each becomes `[redacted]`, so that JSON stays JSON. Credentials of
 * fewer than six characters and the placeholders of local servers are left alone.
 */
export function createRedactor(secrets: readonly (string | undefined)[]): (text: string) => string {
  const pattern = secretPattern(secrets);
  return pattern === undefined ? (text) => text : (text) => text.replace(pattern, mark);
}

/**
 * Makes the function that strips them from the pieces of one text, over whose borders they may go: what was in several
 * pieces becomes `[redacted]` in the first of them.
 */
export function createPieceRedactor(
  secrets: readonly string[],
): (pieces: readonly string[]) => readonly string[] {
  const pattern = secretPattern(secrets);
  return (pieces) => {
    const matches = pattern === undefined ? [] : [...pieces.join("").matchAll(pattern)];
    if (matches.length === 0) return pieces;
    let start = 0;
    return pieces.map((piece) => {
      const end = start + piece.length;
      let clean = "";
      let at = start;
      for (const { 0: found, index } of matches) {
        if (index >= end || index + found.length <= start) continue;
        clean += piece.slice(at - start, Math.max(index, start) - start) + (index < start ? "" : mark);
        at = Math.min(index + found.length, end);
      }
      clean += piece.slice(at - start);
      start = end;
      return clean;
    });
  };
}

function secretPattern(secrets: readonly (string | undefined)[]): RegExp | undefined {
  const known = secrets.filter(isSecret);
  if (known.length === 0) return undefined;
  const forms = [...new Set(known.flatMap(plainForms))].sort((a, b) => b.length - a.length);
  const patterns = [...forms.map(escapePattern), ...known.map(base64Pattern)];
  return new RegExp(patterns.join("|"), "g");
}

/**
 * Makes the function that strips the credentials from the words of an error: as `createRedactor` does, and what a quote
 * that was cut (it ends in `…`) has left of one.
 */
export function createErrorRedactor(secrets: readonly (string | undefined)[]): (text: string) => string {
  const redact = createRedactor(secrets);
  const forms = secrets.filter(isSecret).flatMap(plainForms);
  return (text) => {
    const [first = "", ...rest] = redact(text).split("…");
    if (rest.length === 0) return first;
    const last = rest.pop() ?? "";
    return [...[first, ...rest].map((quote) => withoutCutSecret(quote, forms)), last].join("…");
  };
}

function withoutCutSecret(quote: string, forms: readonly string[]): string {
  const cut = Math.max(...forms.map((form) => beginningAtEnd(quote, form)), 0);
  return cut < minLength ? quote : quote.slice(0, -cut) + mark;
}

/** The length of the longest end of a text that a secret begins with. */
function beginningAtEnd(text: string, secret: string): number {
  for (let length = Math.min(secret.length, text.length); length > 0; length--)
    if (secret.startsWith(text.slice(-length))) return length;
  return 0;
}

/** Whether a credential is one that can be stripped without harm: not a short word, not a placeholder. */
export function isSecret(text: string | undefined): text is string {
  return text !== undefined && text.length >= minLength && !placeholders.has(text);
}

function plainForms(secret: string): string[] {
  const escaped = JSON.stringify(secret).slice(1, -1);
  const twice = JSON.stringify(escaped).slice(1, -1);
  // What stands twice escaped in a text is looked for in the JSON of that text, too.
  const thrice = JSON.stringify(twice).slice(1, -1);
  return [secret, escaped, twice, thrice, encodeURIComponent(secret.toWellFormed())];
}

/** Matches the base64 of any text that starts with the secret: its last group depends on what follows. */
function base64Pattern(secret: string): string {
  const whole = Buffer.from(secret).toString("base64").replace(/=+$/, "");
  const fixed = whole.length % 4 === 0 ? whole : whole.slice(0, -1);
  return `${escapePattern(fixed)}[A-Za-z0-9+/]*=*`;
}

function escapePattern(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&");
}
