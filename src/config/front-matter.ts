/** The `key: value` lines at a text's head, between two lines of `---`, and what comes after them. */
export type FrontMatter = {
  /** Undefined where there is none. */
  readonly matter: string | undefined;
  readonly body: string;
};

/** Parts a text from its front matter. An opening line that is never closed is a part of the text. */
export function splitFrontMatter(text: string): FrontMatter {
  const match = /^---[ \t]*\n(?:([\s\S]*?)\n)??---[ \t]*(?:\n|$)/.exec(text);
  if (match === null) return { matter: undefined, body: text };
  return { matter: match[1] ?? "", body: text.slice(match[0].length) };
}

export type ParsedFields =
  | { readonly ok: true; readonly fields: ReadonlyMap<string, string> }
  | { readonly ok: false; readonly problem: string };

/**
 * Reads the text fields of front matter: plain, quoted, block (`|`, `>`) and continued values. Lists and nested keys are
 * passed over as text. Not strict: a plain value may hold `: `, as such values often do.
 */
export function parseFields(matter: string): ParsedFields {
  const fields = new Map<string, string>();
  const lines = matter.split("\n");
  for (let index = 0; index < lines.length; ) {
    const line = lines[index] ?? "";
    const start = index++;
    if (/^\s*(?:#.*)?$/.test(line)) continue;
    const match = /^([\w.-]+)[ \t]*:(?:[ \t]+(.*))?$/.exec(line);
    if (match === null) return { ok: false, problem: `line ${start + 2} is not "key: value"` };
    const [, key = "", first = ""] = match;
    while (index < lines.length && isContinuation(lines[index] ?? "")) index++;
    const value = toValue(first.trim(), lines.slice(start + 1, index));
    if (value === undefined)
      return { ok: false, problem: `line ${start + 2}: the quoted value of ${key} is not complete` };
    if (fields.has(key)) return { ok: false, problem: `line ${start + 2}: ${key} is there twice` };
    fields.set(key, value);
  }
  return { ok: true, fields };
}

/** A line of the value above: deeper, empty, or an item of a list. */
function isContinuation(line: string): boolean {
  return /^(?:\s|-\s|$)/.test(line);
}

function toValue(first: string, rest: readonly string[]): string | undefined {
  const block = /^([|>])[+\-\d]{0,2}(?:\s+#.*)?$/.exec(first);
  if (block !== null) return blockText(rest, block[1] === ">");
  const whole = fold([first, ...rest.filter((line) => !/^\s*#/.test(line))].map((line) => line.trim()));
  if (whole.startsWith('"')) return doubleQuoted(whole);
  if (whole.startsWith("'")) return /^'((?:[^']|'')*)'(?:\s+#.*)?$/.exec(whole)?.[1]?.replaceAll("''", "'");
  return whole.replace(/(?:^|\s)#.*$/s, "").trim();
}

function doubleQuoted(whole: string): string | undefined {
  const quoted = /^"(?:[^"\\]|\\.)*"(?=\s+#|$)/.exec(whole)?.[0];
  if (quoted === undefined) return undefined;
  try {
    const text: unknown = JSON.parse(quoted.replace(/[\n\t]/g, " "));
    return typeof text === "string" ? text : undefined;
  } catch {
    return undefined;
  }
}

function blockText(lines: readonly string[], folded: boolean): string {
  const indents = lines.filter((line) => line.trim() !== "").map((line) => line.search(/\S/));
  const indent = Math.min(...indents, Number.MAX_SAFE_INTEGER);
  const text = lines.map((line) => line.slice(indent).trimEnd());
  return (folded ? fold(text) : text.join("\n")).trim();
}

/** Joins lines by spaces, and paragraphs by a line break. */
function fold(lines: readonly string[]): string {
  return lines
    .join("\n")
    .trim()
    .replace(/\n+/g, (breaks) => (breaks.length === 1 ? " " : "\n"));
}
