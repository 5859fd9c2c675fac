import fc from "fast-check";
import { expect, test } from "vitest";
import { createGrowingText } from "../../src/agent/growing-text.ts";

test("is what its pieces add up to, at every step and over thousands of them", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "binary" }), { maxLength: 20 }), (pieces) => {
      const text = createGrowingText();
      const many = Array.from({ length: 150 }, () => pieces).flat();
      many.forEach((piece, at) => {
        text.append(piece);
        if (at % 97 === 0) expect(text.whole()).toBe(many.slice(0, at + 1).join(""));
      });
      expect(text.whole()).toBe(many.join(""));
    }),
  );
});
