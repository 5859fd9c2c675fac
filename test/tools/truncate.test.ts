import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  cleanText,
  countLines,
  stripAnsi,
  type TruncatedText,
  truncateHead,
  truncateTail,
} from "../../src/tools/truncate.ts";

/** Texts with many line ends and characters of every length. */
const texts = fc
  .array(fc.constantFrom("\n", "a", "é", "你", "😀", "\r\n", "word ", "line\n"), { maxLength: 60 })
  .map((parts) => parts.join(""));
const limits = fc.record({
  maxBytes: fc.integer({ min: 4, max: 60 }),
  maxLines: fc.integer({ min: 1, max: 10 }),
});

describe.each([
  ["truncateHead", truncateHead],
  ["truncateTail", truncateTail],
] as const)("%s", (name, truncate) => {
  const isEnd = name === "truncateTail";

  it("keeps one end of any text, within both limits, in whole characters, and counts right", () => {
    fc.assert(
      fc.property(texts, limits, (text, limit) => {
        const shown = truncate(text, limit);
        expect(isEnd ? text.endsWith(shown.text) : text.startsWith(shown.text)).toBe(true);
        expect(shown.text.isWellFormed()).toBe(true);
        expect(shown).toMatchObject({
          truncated: shown.text !== text,
          totalLines: countLines(text),
          totalBytes: Buffer.byteLength(text),
          shownLines: countLines(shown.text),
          shownBytes: Buffer.byteLength(shown.text),
        });
        expect(shown.shownBytes).toBeLessThanOrEqual(limit.maxBytes);
        expect(shown.shownLines).toBeLessThanOrEqual(limit.maxLines);
      }),
    );
  });

  it("cuts between lines unless a single line is too long", () => {
    fc.assert(
      fc.property(texts, limits, (text, limit) => {
        const shown = truncate(text, limit);
        if (!shown.truncated) return;
        const rest = isEnd ? text.slice(0, -shown.text.length || undefined) : text.slice(shown.text.length);
        const atLineEnd = isEnd ? rest.endsWith("\n") : shown.text.endsWith("\n");
        expect(atLineEnd || (shown.partialLine && shown.shownLines <= 1)).toBe(true);
      }),
    );
  });

  it("shows as much as fits", () => {
    fc.assert(
      fc.property(texts, limits, (text, limit) => {
        const shown = truncate(text, limit);
        const rest = isEnd ? text.slice(0, text.length - shown.text.length) : text.slice(shown.text.length);
        const nextLine = isEnd
          ? (rest.match(/[^\n]*\n?$/)?.[0] ?? "")
          : (rest.match(/^[^\n]*\n?/)?.[0] ?? "");
        const wouldFit =
          shown.shownLines < limit.maxLines &&
          shown.shownBytes + Buffer.byteLength(nextLine) <= limit.maxBytes &&
          !shown.partialLine;
        expect(shown.truncated && wouldFit).toBe(false);
      }),
    );
  });
});

describe("truncation", () => {
  const ten = Array.from({ length: 10 }, (_, index) => `${index}\n`).join("");

  it.each<[string, TruncatedText, Partial<TruncatedText>]>([
    [
      "the first lines",
      truncateHead(ten, { maxBytes: 99, maxLines: 2 }),
      { text: "0\n1\n", truncatedBy: "lines" },
    ],
    [
      "the last lines",
      truncateTail(ten, { maxBytes: 99, maxLines: 2 }),
      { text: "8\n9\n", truncatedBy: "lines" },
    ],
    [
      "the first bytes",
      truncateHead(ten, { maxBytes: 5, maxLines: 9 }),
      { text: "0\n1\n", truncatedBy: "bytes" },
    ],
    [
      "the last bytes",
      truncateTail(ten, { maxBytes: 5, maxLines: 9 }),
      { text: "8\n9\n", truncatedBy: "bytes" },
    ],
    ["a whole text", truncateHead("a\nb", { maxBytes: 3, maxLines: 2 }), { text: "a\nb", truncated: false }],
    [
      "whole emojis of a long line's start",
      truncateHead(`a${"😀".repeat(9)}`, { maxBytes: 11, maxLines: 9 }),
      { text: "a😀😀", partialLine: true, shownBytes: 9 },
    ],
    [
      "whole emojis of a long line's end",
      truncateTail(`${"😀".repeat(9)}a`, { maxBytes: 11, maxLines: 9 }),
      { text: "😀😀a", partialLine: true, shownBytes: 9 },
    ],
  ])("keeps %s", (_, shown, expected) => {
    expect(shown).toMatchObject(expected);
  });

  it("takes a single line of 100 million characters", () => {
    const line = "x".repeat(100_000_000);
    expect(truncateHead(line).shownBytes).toBe(50 * 1024);
    expect(truncateTail(line).shownBytes).toBe(50 * 1024);
  });
});

describe("cleanText", () => {
  it.each([
    ["NUL and other control characters", "a\0b\u0007\u001B[1m\u007F", "a\uFFFDb\uFFFD\uFFFD[1m\uFFFD"],
    ["lone surrogates", "\uD83D x \uDE00 😀", "\uFFFD x \uFFFD 😀"],
    ["nothing of tabs and line ends", "\ta\r\nb\n", "\ta\r\nb\n"],
  ])("replaces %s", (_, text, clean) => {
    expect(cleanText(text)).toBe(clean);
  });

  it("makes any string one that every JSON parser takes", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const clean = cleanText(`\uD800${text}`);
        expect(clean.isWellFormed()).toBe(true);
        expect(JSON.stringify(clean)).not.toMatch(/\\u0000|\\ud8/);
      }),
    );
  });
});

describe("stripAnsi", () => {
  it.each([
    ["colours", "\u001B[1;31mred\u001B[0m", "red"],
    ["titles and links", "\u001B]0;title\u0007a\u001B]8;;http://x\u001B\\b", "ab"],
    ["moves and erasures", "10%\u001B[2K\u001B[1G20%\u001B(B", "10%20%"],
    ["nothing else", "a [31m b", "a [31m b"],
  ])("removes %s", (_, text, plain) => {
    expect(stripAnsi(text)).toBe(plain);
  });
});
