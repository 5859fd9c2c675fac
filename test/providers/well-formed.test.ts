import { assert, property, string } from "fast-check";
import { expect, test } from "vitest";
import { toWellFormedText } from "../../src/providers/well-formed.ts";

test("is the JSON of the same value with U+FFFD for every half of a character", () => {
  const text = string({ unit: "binary", maxLength: 8 }).map((whole) => whole.slice(1));
  const half = (at: number) => String.fromCharCode(0xd800 + at);
  assert(
    property(text, text, string({ unit: "binary-ascii" }), (key, value, plain) => {
      const said = `${value}${half(key.length)}${plain}\\ud800${half(0x400 + value.length)}`;
      const parsed: unknown = JSON.parse(toWellFormedText({ [`${key}${half(1)}k`]: [said, { plain }] }));
      const wanted = { [`${key}${half(1)}k`.toWellFormed()]: [said.toWellFormed(), { plain }] };
      expect(parsed).toEqual(wanted);
    }),
  );
});
