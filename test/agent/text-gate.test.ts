import fc from "fast-check";
import { expect, test } from "vitest";
import { createTextGate } from "../../src/agent/text-gate.ts";

test("a surrogate pair is never shown in halves, and what is shown adds up to the text", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary" }), { maxLength: 20 }), fc.nat(), (parts, seed) => {
      const text = parts.join("");
      const gate = createTextGate([]);
      const shown = cut(text, seed).map((delta) => gate.push(delta));
      shown.push(gate.flush());
      expect(shown.every((piece) => piece.isWellFormed())).toBe(true);
      expect(shown.join("")).toBe(text.toWellFormed());
    }),
  );
});

test("a secret is replaced however it is cut", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.nat(), (before, after, seed) => {
      const secret = "sk-abcabcabd-123";
      const text = `${before}${secret}${after}`;
      const gate = createTextGate([secret]);
      const shown = cut(text, seed).map((delta) => gate.push(delta));
      shown.push(gate.flush());
      expect(shown.join("")).not.toContain(secret);
      expect(shown.join("")).toBe(text.replaceAll(secret, "[redacted]"));
    }),
  );
});

test("a beginning of a secret that goes on otherwise is shown whole", () => {
  const gate = createTextGate(["sk-abcdef"]);
  expect([gate.push("key sk-ab"), gate.push("xyz"), gate.push(" sk"), gate.flush()]).toEqual([
    "key ",
    "sk-abxyz",
    " ",
    "sk",
  ]);
});

function cut(text: string, seed: number): string[] {
  const pieces: string[] = [];
  let at = 0;
  let state = seed;
  while (at < text.length) {
    state = (state * 1103515245 + 12345) % 2147483648;
    const size = 1 + (state % 3);
    pieces.push(text.slice(at, at + size));
    at += size;
  }
  return pieces;
}
