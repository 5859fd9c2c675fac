import fc from "fast-check";
import { expect, test } from "vitest";
import { createTerminalFilter, toTerminalText } from "../../src/sinks/terminal-text.ts";

const cases: readonly [string, string, string][] = [
  ["plain text with tabs and newlines", "a\tb\nç 😀", "a\tb\nç 😀"],
  ["colours", "\u001b[1;31mred\u001b[0m", "red"],
  ["cursor moves and erasing", "a\u001b[2J\u001b[Hb", "ab"],
  ["a title, ended by BEL", "a\u001b]0;title\u0007b", "ab"],
  ["a clipboard write, ended by ST", "a\u001b]52;c;aGk=\u001b\\b", "ab"],
  ["a device control string", "a\u001bPq#0\u001b\\b", "ab"],
  ["a character set", "a\u001b(0b", "ab"],
  ["a reset", "a\u001bcb", "ab"],
  ["8-bit sequences", "a\u009b31mb\u009d0;t\u009cc", "abc"],
  ["a carriage return, backspaces and BEL", "safe\rx\b\b\u0007", "safex"],
  ["NUL and DEL", "a\0b\u007f", "ab"],
  ["an unfinished sequence, which ends with its line", "a\u001b]0;hidden\nshown", "a\nshown"],
  ["a sequence within a sequence", "a\u001b[3\u001b[1mb", "ab"],
];

test.each(cases)("%s is safe on a terminal", (_, text, expected) => {
  expect(toTerminalText(text)).toBe(expected);
});

test.each(cases)("%s is the same when it comes in pieces", (_, text, expected) => {
  const filter = createTerminalFilter();
  expect([...text].map((char) => filter(char)).join("")).toBe(expected);
});

test("nothing but tabs and newlines is left of the control characters", () => {
  const piece = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("\u001b", "\u001b[", "\u001b]", "\u009b", "\n"),
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const filter = createTerminalFilter();
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(pieces.map(filter).join("")).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    }),
  );
});
