import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ModelMessage, zeroUsage } from "../../../src/contract/messages.ts";
import { estimateTokens, measureText } from "../../../src/session/context/estimate.ts";
import { assistant, call, result, text } from "../samples.ts";

const usage = { ...zeroUsage(), input: 100, output: 20, cacheRead: 300, cacheWrite: 4 };
const tool = { name: "ls", description: "lists", parameters: { type: "object" } };

function said(content: string): ModelMessage {
  return { role: "user", content, timestamp: 1 };
}

describe("a text", () => {
  test.each([
    ["", 0],
    ["a", 1],
    ["abcd", 1],
    ["abcde", 2],
    ["é".repeat(8), 2],
    ["привет", 3],
    ["漢字かな", 4],
    ["😀", 2],
  ])("%j measures %i", (words, tokens) => {
    expect(measureText(words)).toBe(tokens);
  });
});

describe("the estimate of a request", () => {
  test("measures all of it when nothing was reported", () => {
    const messages = [said("a".repeat(40)), assistant([text("b".repeat(8)), call("1")])];
    expect(estimateTokens(messages, "c".repeat(400), [tool])).toBe(
      100 + (1 + 2 + 5) + (4 + 10) + (4 + 2 + 1 + 1),
    );
  });

  test("is what was reported last, and a measure of what came since", () => {
    const messages = [
      said("x".repeat(4000)),
      assistant([call("1")], { usage }),
      result("1", "y".repeat(4000)),
    ];
    expect(estimateTokens(messages, "system", [tool])).toBe(424 + 4 + 1000);
  });

  test("measures all of it when so little was reported that it cannot be true", () => {
    const few = { ...zeroUsage(), input: 10, output: 5 };
    const messages = [said("x".repeat(4000)), assistant([text("y".repeat(8))], { usage: few }), said("zzzz")];
    expect(estimateTokens(messages, "c".repeat(40), [])).toBe(10 + (4 + 1000) + (4 + 2) + (4 + 1));
  });

  test("does not count on what a failed attempt reported", () => {
    const failed = assistant([text("b")], { usage, stopReason: "error" });
    expect(estimateTokens([said("a"), failed], "", [])).toBe(5 + 5);
  });

  test("counts an image as 1,200 tokens, whatever its size", () => {
    const image = { type: "image" as const, data: "a".repeat(1_000_000), mimeType: "image/png" };
    expect(estimateTokens([{ role: "user", content: [image], timestamp: 1 }], "", [])).toBe(1204);
  });

  const anyMessage = fc.oneof(
    fc.string().map(said),
    fc.string().map((words): ModelMessage => result("1", words)),
    fc
      .record({ words: fc.string(), input: fc.nat(1000) })
      .map(
        ({ words, input }): ModelMessage => assistant([text(words)], { usage: { ...zeroUsage(), input } }),
      ),
  );

  test("never becomes less when something is said or grows", () => {
    fc.assert(
      fc.property(fc.array(anyMessage), fc.string(), fc.string(), (messages, words, more) => {
        const before = estimateTokens(messages, "system", []);
        const then = estimateTokens([...messages, said(words)], "system", []);
        const longer = estimateTokens([...messages, said(words + more)], "system", []);
        expect(then).toBeGreaterThanOrEqual(before);
        expect(longer).toBeGreaterThanOrEqual(then);
      }),
    );
  });
});
