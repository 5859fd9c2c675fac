import { applyPatch, createTwoFilesPatch } from "diff";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nearestHint } from "../../../src/tools/files/edit-hint.ts";
import { applyReplacements, type Edit, lineAt, matchEdits } from "../../../src/tools/files/edit-match.ts";
import { evenOut } from "../../../src/tools/files/even-text.ts";

describe("matchEdits", () => {
  it.each<[string, string, Edit[], string]>([
    ["an exact match", "a b c", [{ oldText: "b", newText: "B" }], "a B c"],
    [
      "several edits against the original text, in any order",
      "one two three",
      [
        { oldText: "three", newText: "one" },
        { oldText: "one", newText: "three" },
      ],
      "three two one",
    ],
    ["special replacement characters as they are", "x", [{ oldText: "x", newText: "$& $1 $$" }], "$& $1 $$"],
    ["an edit that deletes", "a\nb\nc\n", [{ oldText: "b\n", newText: "" }], "a\nc\n"],
    [
      "curly quotes only where the text is",
      "keep “q” — x   \nname = “A”\nend   \n",
      [{ oldText: 'name = "A"', newText: 'name = "B"' }],
      'keep “q” — x   \nname = "B"\nend   \n',
    ],
    [
      "lines that are only named to find the place keep their bytes",
      "“a” \u00A0\nold\n– b  \n",
      [{ oldText: '"a"\nold\n- b\n', newText: '"a"\nnew\n- b\n' }],
      "“a” \u00A0\nnew\n– b  \n",
    ],
    [
      "an insertion between such lines",
      "“a”\t\n“b”  \n",
      [{ oldText: '"a"\n"b"\n', newText: '"a"\n+\n"b"\n' }],
      "“a”\t\n+\n“b”  \n",
    ],
    ["a no-break space", "a\u00A0=\u202F1", [{ oldText: "a = 1", newText: "a = 2" }], "a = 2"],
    ["blanks at ends of lines", "a  \nb\t\nc", [{ oldText: "a\nb", newText: "x" }], "x\t\nc"],
    ["wanted blanks that are not there", "a\nb", [{ oldText: "a  ", newText: "x" }], "x\nb"],
    ["CRLF", "a\r\nb\r\nc\r\n", [{ oldText: "a\nb\n", newText: "1\n2\n3\n" }], "1\r\n2\r\n3\r\nc\r\n"],
    ["CRLF for one line's replacement", "a\r\nb\r\n", [{ oldText: "a", newText: "1\n2" }], "1\r\n2\r\nb\r\n"],
    [
      "the line ends of a mixed file's place",
      "a\r\nb\nc\n",
      [{ oldText: "b", newText: "1\n2" }],
      "a\r\n1\n2\nc\n",
    ],
    ["CRLF in the wanted text only", "a\nb\n", [{ oldText: "a\r\nb", newText: "x" }], "x\n"],
    ["what read shows for a stray byte", "caf\uDCE9 1", [{ oldText: "caf\uFFFD 1", newText: "tea" }], "tea"],
  ])("finds %s", (_, text, edits, result) => {
    const matches = matchEdits(text, edits);
    expect(matches).toMatchObject({ ok: true });
    if (matches.ok) expect(applyReplacements(text, matches.replacements)).toBe(result);
  });

  it.each<[string, string, Edit[], string]>([
    [
      "empty",
      "abc",
      [{ oldText: "", newText: "x" }],
      "oldText is empty: say which text to replace, or use write.",
    ],
    [
      "unchanging",
      "abc",
      [{ oldText: "a", newText: "a" }],
      "oldText and newText are the same: nothing would change.",
    ],
    ["absent", "abc", [{ oldText: "x", newText: "" }], "oldText was not found in the file."],
    [
      "repeated",
      "a\nb\na\n",
      [{ oldText: "a", newText: "" }],
      "oldText was found 2 times (lines 1, 3): add neighbouring lines until it occurs once.",
    ],
    [
      "self-overlapping",
      "aaa",
      [{ oldText: "aa", newText: "" }],
      "oldText was found 2 times (lines 1, 1): add neighbouring lines until it occurs once.",
    ],
    [
      "tolerantly repeated",
      "“a”\n‘a’\n„a“\n",
      [{ oldText: '"a"', newText: "" }],
      "oldText was found 2 times (lines 1, 3): add neighbouring lines until it occurs once.",
    ],
    ["blank", "a\nb", [{ oldText: " \n", newText: "" }], "oldText was not found in the file."],
    [
      "mid-line though it ends in blanks",
      "ab",
      [{ oldText: "a  ", newText: "" }],
      "oldText was not found in the file.",
    ],
    [
      "overlapping",
      "abcd",
      [
        { oldText: "abc", newText: "" },
        { oldText: "cd", newText: "" },
      ],
      "edits[0].oldText and edits[1].oldText overlap: join them into one edit.",
    ],
    [
      "partly absent",
      "abcd",
      [
        { oldText: "ab", newText: "" },
        { oldText: "x", newText: "" },
      ],
      "edits[1].oldText was not found in the file.",
    ],
  ])("refuses %s text", (_, text, edits, problem) => {
    expect(matchEdits(text, edits)).toMatchObject({ ok: false, problem });
  });

  const lines = fc.array(
    fc.constantFrom("“a”", "b — c", "x\u00A0y  ", "😀\t", "plain", "\uDCE9", "", "end"),
    { minLength: 1, maxLength: 12 },
  );

  it("changes nothing outside the wanted span, however loosely that was found", () => {
    fc.assert(
      fc.property(lines, lines, fc.constantFrom("\n", "\r\n"), (before, after, lineEnd) => {
        const head = before.join(lineEnd) + lineEnd;
        const tail = lineEnd + after.join(lineEnd);
        const text = `${head}key = “old” – 1${tail}`;
        const matches = matchEdits(text, [{ oldText: 'key = "old" - 1', newText: "key = new\nnext" }]);
        expect(matches.ok && applyReplacements(text, matches.replacements)).toBe(
          `${head}key = new${lineEnd}next${tail}`,
        );
      }),
    );
  });

  it("makes exact edits exactly as splitting the text by hand does", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.string()), { minLength: 1, maxLength: 8 }), (pieces) => {
        const text = pieces.map(([between], index) => `${between}<${index}>`).join("\n");
        const edits = pieces.map(([, newText], index) => ({ oldText: `<${index}>`, newText }));
        const expected = pieces.map(([between, newText]) => `${between}${newText}`).join("\n");
        const matches = matchEdits(text, edits.toReversed());
        // A generated piece may hold a marker itself: then the edit has to be refused.
        const isClear = edits.every(({ oldText }) => text.split(oldText).length === 2);
        expect(matches.ok).toBe(isClear);
        if (matches.ok) expect(applyReplacements(text, matches.replacements)).toBe(expected);
      }),
    );
  });

  it("makes a change that its unified diff reproduces", () => {
    fc.assert(
      fc.property(lines, lines, lines, (before, wanted, after) => {
        const text = [...before, "@@start", ...wanted, "@@end", ...after].join("\n");
        const matches = matchEdits(text, [
          { oldText: ["@@start", ...wanted, "@@end"].join("\n"), newText: [...after, "!"].join("\n") },
        ]);
        const result = matches.ok ? applyReplacements(text, matches.replacements) : "";
        expect(applyPatch(text, createTwoFilesPatch("f", "f", text, result))).toBe(result);
      }),
    );
  });
});

describe("evenOut", () => {
  it("maps every place back to where it came from", () => {
    const even = evenOut("a\u00A0 \r\n“é” \uDCE9 ");
    expect(even.text).toBe('a\n"é" \uFFFD ');
    const origins = Array.from(even.text, (_, place) => [even.startOf(place), even.endOf(place + 1)]);
    expect(origins).toEqual([
      [0, 1],
      [3, 5],
      [5, 6],
      [6, 7],
      [7, 8],
      [8, 9],
      [9, 10],
      [10, 11],
    ]);
  });
});

describe("nearestHint", () => {
  const file = "function add(a, b) {\n  return a + b;\n}\n\nfunction sub(a, b) {\n\treturn a - b;\n}\n";

  it.each([
    [
      "a line of several that differs",
      "function add(a, b) {\n  return a * b;\n}",
      'It comes closest at line 1, but differs at line 2: "  return a + b;".',
    ],
    [
      "a difference in white space",
      "function sub(a, b) {\n    return a - b;\n}",
      'It comes closest at line 5, but differs at line 6: "\\treturn a - b;" (white space differs).',
    ],
    ["a single line", "function summ(a, b) {", 'It comes closest at line 5: "function sub(a, b) {".'],
    ["nothing where nothing is alike", "class Zebra", undefined],
  ])("names %s", (_, wanted, hint) => {
    expect(nearestHint(file, wanted)).toBe(hint);
  });
});

describe("lineAt", () => {
  it("counts lines from 1", () => {
    expect([0, 1, 2, 3, 4].map((place) => lineAt("a\n\nb", place))).toEqual([1, 1, 2, 3, 3]);
  });
});
