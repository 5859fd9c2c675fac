/** The candidates that a misspelt word most likely meant, nearest first; case and leading dashes do not count. */
export function nearest(word: string, candidates: Iterable<string>, maxResults: number): string[] {
  const scored = Array.from(candidates, (candidate) => ({
    candidate,
    score: dissimilarity(word, candidate),
  }));
  scored.sort((a, b) => a.score - b.score);
  return scored.slice(0, maxResults).map(({ candidate }) => candidate);
}

/** How far two words are from each other: 0 when they are the same but for case and leading dashes, up to 1. */
export function dissimilarity(a: string, b: string): number {
  return editsPerLength(normalize(a), normalize(b));
}

function normalize(word: string): string {
  return word.replace(/^-+/, "").toLowerCase();
}

/** A word that is the start of the other, or part of it, is nearer than its edits say. */
function editsPerLength(a: string, b: string): number {
  const longest = Math.max(a.length, b.length, 1);
  const edits = editDistance(a, b) / longest;
  const shortest = Math.min(a.length, b.length);
  if (shortest < 2) return edits;
  if (a.startsWith(b) || b.startsWith(a)) return edits * 0.4;
  if (shortest > 2 && (a.includes(b) || b.includes(a))) return edits * 0.6;
  return edits;
}

/** Less than an edit: with the letters all there, a swap is the likelier slip. */
const swapCost = 0.8;

/** Insertions, deletions, substitutions and swaps of neighbours that turn one word into the other. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min(at(row, j - 1) + 1, at(last, j) + 1, at(last, j - 1) + changed);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, at(beforeLast, j - 2) + swapCost);
      }
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}
