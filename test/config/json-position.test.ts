import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { JsonSyntaxError, parseLocatedJson } from "../../src/config/json-position.ts";

const document = `{
  "providers": {
    "a b": {"models": [{"id": "x"}, {"id": ""}]}
  }
}`;

describe("parseLocatedJson", () => {
  test.each([
    [["providers"], { line: 2, column: 3 }],
    [["providers", "a b", "models", 1, "id"], { line: 3, column: 38 }],
    [["providers", "a b", "models", 1], { line: 3, column: 37 }],
    [["providers", "a b", "missing"], { line: 3, column: 5 }],
    [[], { line: 1, column: 1 }],
  ])("finds %j", (path, position) => {
    expect(parseLocatedJson(document).locate(path)).toEqual(position);
  });

  test.each([
    ["{", "unexpected end, expected a key in double quotes", { line: 1, column: 2 }],
    ['{"a": 1,\n}', "unexpected } behind a comma", { line: 2, column: 1 }],
    [
      '{\n  // why\n  "a": 1}',
      "expected a key in double quotes (comments are not allowed)",
      { line: 2, column: 3 },
    ],
    ['{"a" 1}', "expected :", { line: 1, column: 6 }],
    ["{'a': 1}", "expected a key in double quotes", { line: 1, column: 2 }],
    ['{"a": tru}', "expected a value", { line: 1, column: 7 }],
    ['{"a": 01}', "expected a comma or }", { line: 1, column: 8 }],
    ['{"a": "b\n"}', "a string that does not end or is not valid", { line: 1, column: 7 }],
    ["{} x", "unexpected text behind the end", { line: 1, column: 4 }],
    ["[".repeat(500), "nested too deeply", { line: 1, column: 102 }],
  ])("says what is wrong with %j and where", (text, message, position) => {
    const error = caught(() => parseLocatedJson(text));
    expect(error).toBeInstanceOf(JsonSyntaxError);
    expect(error).toMatchObject({ message, position });
  });

  test("names keys that are there twice", () => {
    expect(parseLocatedJson('{"a": {"b": 1, "b": 2}}').repeated).toEqual([["a", "b"]]);
  });

  test("reads whatever JSON.stringify writes", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), fc.constantFrom(0, 2, "\t"), (json, indent) => {
        const value: unknown = JSON.parse(json);
        expect(parseLocatedJson(JSON.stringify(value, null, indent)).value).toEqual(value);
      }),
    );
  });

  test("accepts a text exactly when JSON.parse does", () => {
    const piece = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"a"',
      '"\\u12"',
      "1",
      "-",
      "1.",
      "true",
      "null",
      " ",
      "\n",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = pieces.join("");
        expect(succeeds(() => parseLocatedJson(text))).toBe(succeeds(() => JSON.parse(text)));
      }),
      { numRuns: 2000 },
    );
  });
});

function caught(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

function succeeds(action: () => unknown): boolean {
  try {
    action();
    return true;
  } catch {
    return false;
  }
}
