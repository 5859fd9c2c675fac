import { truncateHead } from "../truncate.ts";
import { showPath } from "./path.ts";

/** Lines compared, and characters of each: a hint must not cost more than the edit. */
const maxLinesCompared = 20_000;
const maxCharactersCompared = 200;
const minLikeness = 0.5;
const quoteLimits = { maxBytes: 300, maxLines: 1 };

/**
 * Says where a text that was not found comes closest, and what stands there instead; nothing when nothing in the file
 * is like it.
 */
export function nearestHint(text: string, wanted: string): string | undefined {
  const wantedLines = splitLines(wanted);
  const firstWanted = wantedLines.findIndex((line) => line.trim() !== "");
  const lines = splitLines(text);
  const nearest = nearestLine(lines, wantedLines[firstWanted] ?? "");
  if (nearest === undefined) return undefined;
  const start = nearest - firstWanted;
  const different = wantedLines.findIndex((line, index) => line !== lines[start + index]);
  // The last line may be wanted in part only.
  const index = different === -1 ? wantedLines.length - 1 : different;
  const there = lines[start + index];
  if (there === undefined) {
    return `It comes closest at line ${start + 1}, but the file ends before it does.`;
  }
  const onlySpace = squeeze(there) === squeeze(wantedLines[index] ?? "") ? " (white space differs)" : "";
  const where = index === firstWanted ? ": " : `, but differs at line ${start + index + 1}: `;
  return `It comes closest at line ${start + firstWanted + 1}${where}${quote(there)}${onlySpace}.`;
}

function nearestLine(lines: readonly string[], wanted: string): number | undefined {
  const pairs = characterPairs(wanted);
  let nearest: number | undefined;
  let best = minLikeness;
  for (const [index, line] of lines.slice(0, maxLinesCompared).entries()) {
    const like = likeness(pairs, line);
    if (like <= best) continue;
    best = like;
    nearest = index;
  }
  return nearest;
}

/** How many neighbouring pairs of characters two lines share, from 0 to 1; white space does not count. */
function likeness(wanted: ReadonlyMap<string, number>, line: string): number {
  const pairs = characterPairs(line);
  let shared = 0;
  for (const [pair, count] of pairs) shared += Math.min(count, wanted.get(pair) ?? 0);
  const total = sum(wanted) + sum(pairs);
  return total === 0 ? 0 : (2 * shared) / total;
}

function characterPairs(line: string): Map<string, number> {
  const text = squeeze(line).slice(0, maxCharactersCompared);
  const pairs = new Map<string, number>();
  for (let at = 0; at + 1 < text.length; at += 1) {
    const pair = text.slice(at, at + 2);
    pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  return pairs;
}

function sum(pairs: ReadonlyMap<string, number>): number {
  let total = 0;
  for (const count of pairs.values()) total += count;
  return total;
}

function squeeze(line: string): string {
  return line.replace(/\s+/g, "");
}

function splitLines(text: string): string[] {
  return text.split(/\r?\n/);
}

function quote(line: string): string {
  const { text, truncated } = truncateHead(line, quoteLimits);
  return `"${showPath(text)}${truncated ? " ..." : ""}"`;
}
