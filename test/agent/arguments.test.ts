import fc from "fast-check";
import { expect, test } from "vitest";
import { parseArguments } from "../../src/agent/arguments.ts";

test.each([
  ["an empty text", "", {}],
  ["blanks", " \n", {}],
  ["null", "null", {}],
  ["an object", '{"path":"a"}', { path: "a" }],
  ["a JSON string that holds the object", '"{\\"path\\":\\"a\\"}"', { path: "a" }],
  [
    "half a surrogate pair in an escape",
    '{"\\ud83d":["\\ud83d\\ude00","\\ude00x"]}',
    { "\ufffd": ["😀", "\ufffdx"] },
  ],
])("%s is taken", (_, raw, value) => {
  expect(parseArguments(raw)).toEqual({ ok: true, value });
});

test.each([
  ["a cut object", '{"path":"a'],
  ["an object with a tail", '{"path":"a"}}'],
  ["two objects", '{"a":1}{"b":2}'],
  ["an array", "[1]"],
  ["a number", "3"],
  ["a string that holds no object", '"hello"'],
  ["a cut object within a string", '"{\\"path\\":\\"a"'],
  ["single quotes", "{'path':'a'}"],
  ["a hostile nesting", `{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}`],
])("%s is refused, with the text as it came", (_, raw) => {
  expect(parseArguments(raw)).toMatchObject({ ok: false, raw });
});

test("whatever JSON.stringify writes of an object is read back", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
      const raw = JSON.stringify(value);
      expect(parseArguments(raw)).toEqual({ ok: true, value: JSON.parse(raw) });
    }),
  );
});
