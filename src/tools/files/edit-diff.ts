import type { StructuredPatchHunk } from "diff";
import { applyReplacements, lineAt, type Replacement } from "./edit-match.ts";

/** What a diff is made of: the text as it was, and what replaces what. */
export type Change = { readonly before: string; readonly replacements: readonly Replacement[] };

const contextLines = 3;
/** Lines removed and added up to which the shortest diff is looked for: the search takes the square of their number. */
const maxEditLength = 1000;

/**
 * Gives the unified diff of an edit, in time that grows with what the edit touches and not with the file. Where very much
 * changes, the lines of the place are shown as removed and added as a whole.
 */
export async function unifiedDiff(path: string, { before, replacements }: Change): Promise<string> {
  const { FILE_HEADERS_ONLY, formatPatch, structuredPatch } = await import("diff");
  const hunks: StructuredPatchHunk[] = [];
  let linesGained = 0;
  for (const place of placesOf(before, replacements)) {
    const old = before.slice(place.start, place.end);
    const inside = place.replacements.map((each) => ({
      ...each,
      start: each.start - place.start,
      end: each.end - place.start,
    }));
    const now = applyReplacements(old, inside);
    const options = { context: contextLines, maxEditLength };
    const found = structuredPatch(path, path, old, now, undefined, undefined, options)?.hunks;
    const linesAbove = lineAt(before, place.start) - 1;
    for (const hunk of found ?? [wholeHunk(old, now)]) {
      hunks.push({
        ...hunk,
        oldStart: hunk.oldStart + linesAbove,
        newStart: hunk.newStart + linesAbove + linesGained,
      });
    }
    linesGained += linesOf(now).length - linesOf(old).length;
  }
  const patch = { oldFileName: path, newFileName: path, oldHeader: undefined, newHeader: undefined, hunks };
  return formatPatch(patch, FILE_HEADERS_ONLY).toWellFormed();
}

/** A piece of whole lines, and the replacements within it. */
type Place = { readonly start: number; readonly end: number; readonly replacements: readonly Replacement[] };

/** The lines that replacements touch, with the context around them; what is close together is one place. */
function placesOf(text: string, replacements: readonly Replacement[]): Place[] {
  const places: Place[] = [];
  for (const replacement of replacements) {
    const start = lineStart(text, replacement.start, contextLines);
    const end = lineEnd(text, replacement.end, contextLines);
    const last = places.at(-1);
    if (last !== undefined && start <= last.end) {
      places.splice(-1, 1, { ...last, end, replacements: [...last.replacements, replacement] });
    } else {
      places.push({ start, end, replacements: [replacement] });
    }
  }
  return places;
}

/** Where the line starts that is so many lines above the one at a place. */
function lineStart(text: string, place: number, linesAbove: number): number {
  let newline = newlineBefore(text, place);
  for (let line = 0; line < linesAbove && newline !== -1; line += 1) newline = newlineBefore(text, newline);
  return newline + 1;
}

function newlineBefore(text: string, place: number): number {
  return place === 0 ? -1 : text.lastIndexOf("\n", place - 1);
}

/** Where the line ends that is so many lines below the one at a place. */
function lineEnd(text: string, place: number, linesBelow: number): number {
  let end = place;
  for (let line = 0; line <= linesBelow && end < text.length; line += 1) {
    const newline = text.indexOf("\n", end);
    end = newline === -1 ? text.length : newline + 1;
  }
  return end;
}

function wholeHunk(old: string, now: string): StructuredPatchHunk {
  const [oldLines, newLines] = [linesOf(old), linesOf(now)];
  const marked = (mark: string, lines: readonly string[]) =>
    lines.flatMap((line) =>
      line.endsWith("\n") ? [mark + line.slice(0, -1)] : [mark + line, "\\ No newline at end of file"],
    );
  return {
    oldStart: 1,
    oldLines: oldLines.length,
    newStart: 1,
    newLines: newLines.length,
    lines: [...marked("-", oldLines), ...marked("+", newLines)],
  };
}

function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}
