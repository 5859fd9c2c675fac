import fc from "fast-check";
import { expect, test } from "vitest";
import type { UserContent } from "../../../src/contract/messages.ts";
import { measureText } from "../../../src/session/context/estimate.ts";
import { maxResultTokens, shortenResult } from "../../../src/session/context/results.ts";

const text = (words: string): UserContent => ({ type: "text", text: words });

test("a result may fill a quarter of the window", () => {
  expect(maxResultTokens({ contextWindow: 8001 })).toBe(2000);
});

test("a result that fits stays as it is", () => {
  const content = [text("a".repeat(400)), text("b")];
  expect(shortenResult(content, 101)).toEqual(content);
});

test("of one that does not, the beginning and the end stay, and images all of them", () => {
  const image: UserContent = { type: "image", data: "aW1n", mimeType: "image/png" };
  const [shortened, kept] = shortenResult([text(`start${"x".repeat(8000)}end`), image], 200);
  expect(kept).toEqual(image);
  expect(shortened?.type === "text" && shortened.text).toMatch(
    /^startx+\n\(… \d+ characters are left out here: [^\n]+\)\nx+end$/,
  );
});

test("no result exceeds its bound by more than the note, is cut within a character, or differs the next time", () => {
  const words = fc.oneof(
    fc.string({ unit: "grapheme" }),
    fc.constantFrom("漢".repeat(900), "😀".repeat(500), "ab".repeat(3000)),
  );
  fc.assert(
    fc.property(
      fc.array(words.map(text), { maxLength: 4 }),
      fc.integer({ min: 50, max: 2000 }),
      (content, bound) => {
        const shortened = shortenResult(content, bound);
        const texts = shortened.map((block) => (block.type === "text" ? block.text : ""));
        const tokens = texts.reduce((sum, each) => sum + measureText(each), 0);
        expect(tokens).toBeLessThanOrEqual(bound + 40 * content.length);
        expect(/\p{Surrogate}/u.test(texts.join(""))).toBe(false);
        expect(shortenResult(content, bound)).toEqual(shortened);
      },
    ),
  );
});
