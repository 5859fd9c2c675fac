import { applyPatch } from "diff";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { unifiedDiff } from "../../../src/tools/files/edit-diff.ts";
import { applyReplacements, type Replacement } from "../../../src/tools/files/edit-match.ts";

function replace(text: string, ...edits: [old: string, now: string][]): Replacement[] {
  return edits.map(([old, now]) => {
    const start = text.indexOf(old);
    return { start, end: start + old.length, text: now, tolerant: false };
  });
}

const numbered = (count: number, word: string): string =>
  Array.from({ length: count }, (_, index) => `${word} ${index}\n`).join("");

describe("unifiedDiff", () => {
  test("shows each place with three lines around it, and close ones together", async () => {
    const before = numbered(40, "line");
    const edits = replace(before, ["line 4\n", "four\n4\n"], ["line 11\n", ""], ["line 30", "thirty"]);
    expect(await unifiedDiff("f", { before, replacements: edits })).toBe(
      [
        "--- f",
        "+++ f",
        "@@ -2,14 +2,14 @@",
        ...[1, 2, 3].map((n) => ` line ${n}`),
        "-line 4",
        "+four",
        "+4",
        ...[5, 6, 7, 8, 9, 10].map((n) => ` line ${n}`),
        "-line 11",
        ...[12, 13, 14].map((n) => ` line ${n}`),
        "@@ -28,7 +28,7 @@",
        ...[27, 28, 29].map((n) => ` line ${n}`),
        "-line 30",
        "+thirty",
        ...[31, 32, 33].map((n) => ` line ${n}`),
        "",
      ].join("\n"),
    );
  });

  test("makes the new text from the old one, whatever is replaced", async () => {
    const piece = fc
      .array(fc.constantFrom("a", "b", "\n", "\n", "\r\n"), { maxLength: 20 })
      .map((all) => all.join(""));
    const change = fc.array(fc.record({ kept: piece, old: piece, now: piece }), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(change, piece, async (parts, end) => {
        const replacements: Replacement[] = [];
        let before = "";
        for (const { kept, old, now } of parts) {
          before += kept;
          replacements.push({
            start: before.length,
            end: before.length + old.length,
            text: now,
            tolerant: false,
          });
          before += old;
        }
        before += end;
        const after = applyReplacements(before, replacements);
        expect(applyPatch(before, await unifiedDiff("f", { before, replacements }))).toBe(after);
      }),
      { numRuns: 500 },
    );
  });

  test("ends in a large file, and where very much changes", async () => {
    const [old, now] = [numbered(16_000, "old"), numbered(16_000, "new")];
    const before = `${numbered(200_000, "head")}${old}${numbered(1000, "tail")}last`;
    const replacements = replace(before, [old, now], ["last", "end"]);
    // One that compares all lines with all others exceeds the test's time.
    const diff = await unifiedDiff("f", { before, replacements });
    expect(diff.split("\n").length).toBeLessThan(32_050);
    expect(applyPatch(before, diff)).toBe(applyReplacements(before, replacements));
  });
});
