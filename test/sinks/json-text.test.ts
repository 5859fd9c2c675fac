import fc from "fast-check";
import { expect, test } from "vitest";
import { toJsonStringBody, toJsonText } from "../../src/sinks/json-text.ts";

test.each([
  ["a line separator", "a\u2028b\u2029c", '"a\\u2028b\\u2029c"'],
  ["NUL and other control characters", "\0\u001b\n", '"\\u0000\\u001b\\n"'],
  ["a lone first half of a pair", "a\ud83d", '"a\ufffd"'],
  ["a lone second half of a pair", "\ude00b", '"\ufffdb"'],
  ["halves in the wrong order", "\ude00\ud83d", '"\ufffd\ufffd"'],
  ["a whole pair", "😀", '"😀"'],
  ["the text of an escape", "\\ud83d", '"\\\\ud83d"'],
  ["a half behind a backslash", "\\\ud83d", '"\\\\\ufffd"'],
  ["a half behind two backslashes", "\\\\\ud83d", '"\\\\\\\\\ufffd"'],
  ["a half as a key", { "\ud83d": 1 }, '{"\ufffd":1}'],
])("%s is written for every parser", (_, value, expected) => {
  expect(toJsonText(value)).toBe(expected);
});

const anyText = fc.string({ unit: "binary" });
const withHalves = fc
  .array(fc.oneof(anyText, fc.constantFrom("\ud83d", "\ude00", "\\", "\\u", "\\ud8", '"', "\u2028", "\0")))
  .map((parts) => parts.join(""));

test("every value reads back as it was, lone surrogates aside", () => {
  fc.assert(
    fc.property(fc.jsonValue(), withHalves, (value, text) => {
      const line = toJsonText({ value, text });
      expect(JSON.parse(line)).toEqual({
        value: JSON.parse(JSON.stringify(value)),
        text: text.toWellFormed(),
      });
      expect(line).not.toMatch(/[\n\r\u2028\u2029]/);
      expect(line.isWellFormed()).toBe(true);
    }),
  );
});

test("the text of a string is that of its pieces, wherever no pair is cut", () => {
  fc.assert(
    fc.property(withHalves, withHalves, (first, second) => {
      fc.pre(!(/[\ud800-\udbff]$/.test(first) && /^[\udc00-\udfff]/.test(second)));
      expect(toJsonStringBody(first) + toJsonStringBody(second)).toBe(toJsonStringBody(first + second));
    }),
  );
});
