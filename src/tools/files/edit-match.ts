import { type EvenText, evenOut } from "./even-text.ts";

/** One replacement that the model asks for. */
export type Edit = { readonly oldText: string; readonly newText: string };

/** What to put where: `start` and `end` are places in the original text. */
export type Replacement = {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  /** The text was found only after quotes, dashes, spaces and line ends had been evened out. */
  readonly tolerant: boolean;
};

/** Where every edit goes, in the order of the text; or why not one of them is made. */
export type Matches =
  | { readonly ok: true; readonly replacements: readonly Replacement[] }
  | { readonly ok: false; readonly problem: string; readonly notFound?: Edit };

/** A found edit: the whole of the matched text, and the part of it that changes. */
type Match = { readonly start: number; readonly end: number; readonly replacement: Replacement };
type Located = { readonly match: Match } | { readonly problem: string; readonly notFound?: Edit };

const maxLinesNamed = 10;
const maxPlaces = 100;

/**
 * Finds the one place of each edit in the original text. An exact match comes first; a tolerant one only tells where
 * the text is, and lines that the edit leaves alone keep their bytes.
 */
export function matchEdits(text: string, edits: readonly Edit[]): Matches {
  let even: EvenText | undefined;
  const evenText = () => {
    even ??= evenOut(text);
    return even;
  };
  const matches: (Match & { readonly name: string })[] = [];
  for (const [index, edit] of edits.entries()) {
    const name = edits.length === 1 ? "oldText" : `edits[${index}].oldText`;
    const located = locate(text, evenText, edit);
    if ("problem" in located) return { ok: false, ...located, problem: `${name} ${located.problem}` };
    matches.push({ ...located.match, name });
  }
  matches.sort((a, b) => a.start - b.start || a.end - b.end);
  for (const [index, match] of matches.entries()) {
    const before = matches[index - 1];
    if (before && match.start < before.end) {
      return { ok: false, problem: `${before.name} and ${match.name} overlap: join them into one edit.` };
    }
  }
  return { ok: true, replacements: matches.map((match) => match.replacement) };
}

/** The text with all replacements made. */
export function applyReplacements(text: string, replacements: readonly Replacement[]): string {
  const parts: string[] = [];
  let end = 0;
  for (const replacement of replacements) {
    parts.push(text.slice(end, replacement.start), replacement.text);
    end = replacement.end;
  }
  parts.push(text.slice(end));
  return parts.join("");
}

/** The number of the line, from 1, that a place in a text is in. */
export function lineAt(text: string, place: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < place; at = text.indexOf("\n", at + 1)) line += 1;
  return line;
}

function locate(text: string, evenText: () => EvenText, edit: Edit): Located {
  if (edit.oldText === "") return { problem: "is empty: say which text to replace, or use write." };
  if (edit.oldText === edit.newText) return { problem: "and newText are the same: nothing would change." };
  const exact = placesOf(text, edit.oldText);
  if (exact.length > 1) return { problem: foundOften(text, exact) };
  const [start] = exact;
  if (start === undefined) return locateTolerantly(text, evenText(), edit);
  const end = start + edit.oldText.length;
  const replacement = { start, end, text: withLineEnds(text, start, edit.newText), tolerant: false };
  return { match: { start, end, replacement } };
}

function locateTolerantly(text: string, even: EvenText, edit: Edit): Located {
  const notFound = { problem: "was not found in the file.", notFound: edit };
  const wanted = evenOut(edit.oldText).text;
  // White space alone would match anywhere.
  if (wanted.trim() === "") return notFound;
  // Blanks at the very end are not compared, but the line has to end there.
  const needle = wanted.trimEnd() === wanted ? wanted : wanted.replace(/[ \t]+$/, "");
  const places = placesOf(even.text, needle).filter(
    (place) => needle === wanted || endsLine(even.text, place + needle.length),
  );
  const [place] = places;
  if (place === undefined) return notFound;
  if (places.length > 1) return { problem: foundOften(text, places.map(even.startOf)) };
  const { prefix, suffix, newText } = changedLines(edit);
  const needleEnd = place + needle.length;
  const matched = { start: even.startOf(place), end: even.endOf(needleEnd) };
  const start = prefix === "" ? matched.start : even.endOf(place + evenOut(prefix).text.length);
  const suffixLength = evenOut(suffix).text.replace(/[ \t]+$/, "").length;
  const end = Math.max(start, even.endOf(needleEnd - suffixLength));
  return {
    match: {
      ...matched,
      replacement: { start, end, text: withLineEnds(text, start, newText), tolerant: true },
    },
  };
}

/** Splits off the whole lines at both ends that an edit only names to be found. */
function changedLines(edit: Edit): { prefix: string; suffix: string; newText: string } {
  const before = linesOf(edit.oldText);
  const after = linesOf(edit.newText);
  const shorter = Math.min(before.length, after.length);
  let first = 0;
  while (first < shorter && before[first] === after[first] && before[first]?.endsWith("\n")) first += 1;
  let last = 0;
  while (last < shorter - first && before.at(-1 - last) === after.at(-1 - last)) last += 1;
  return {
    prefix: before.slice(0, first).join(""),
    suffix: before.slice(before.length - last).join(""),
    newText: after.slice(first, after.length - last).join(""),
  };
}

function linesOf(text: string): string[] {
  return text.replaceAll("\r\n", "\n").match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** The inserted text with the line ends of the lines around it. */
function withLineEnds(text: string, place: number, inserted: string): string {
  const next = text.indexOf("\n", place);
  const nearest = next === -1 ? text.lastIndexOf("\n") : next;
  return nearest > 0 && text[nearest - 1] === "\r" ? inserted.replace(/\r?\n/g, "\r\n") : inserted;
}

function endsLine(text: string, place: number): boolean {
  const lineEnd = /[ \t]*(\n|$)/y;
  lineEnd.lastIndex = place;
  return lineEnd.test(text);
}

/** Where a text occurs, overlapping ones included; not more than are needed to say that they are too many. */
function placesOf(text: string, wanted: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) {
    if (places.push(at) >= maxPlaces) break;
  }
  return places;
}

function foundOften(text: string, places: readonly number[]): string {
  const often = places.length < maxPlaces ? `${places.length} times` : `${maxPlaces} times or more`;
  const lines = places.slice(0, maxLinesNamed).map((place) => lineAt(text, place));
  const andMore = places.length > lines.length ? ", ..." : "";
  return `was found ${often} (lines ${lines.join(", ")}${andMore}): add neighbouring lines until it occurs once.`;
}
