import { expect, test } from "vitest";
import { createRepeatGuard } from "../../src/agent/repeat-guard.ts";
import type { ToolCall } from "../../src/contract/messages.ts";
import type { ToolResult } from "../../src/contract/tool.ts";

const call = (path: string): ToolCall => ({ type: "toolCall", id: "x", name: "ls", arguments: { path } });
const result = (text: string): ToolResult => ({ content: [{ type: "text", text }], isError: false });

test("the third same result says so and the sixth is one too many", () => {
  const guard = createRepeatGuard();
  const texts = [1, 2, 3, 4, 5, 6].map((n) => {
    const { content } = guard.check(call("."), result("same"));
    return [n, content.length, guard.exceeded() !== undefined];
  });
  expect(texts).toEqual([
    [1, 1, false],
    [2, 1, false],
    [3, 2, false],
    [4, 2, false],
    [5, 2, false],
    [6, 2, true],
  ]);
});

test("two calls in turns are noticed as well", () => {
  const guard = createRepeatGuard();
  const saysSo = (path: string) => guard.check(call(path), result(path)).content.length > 1;
  const told = [1, 2, 3, 4, 5, 6].map(() => ["a", "b"].map(saysSo));
  expect(told).toEqual([...Array(2).fill([false, false]), ...Array(4).fill([true, true])]);
  expect(guard.exceeded()).toBe("the call of ls gave the same result 6 times");
});

test("a result that is new starts the count anew", () => {
  const guard = createRepeatGuard();
  for (let n = 0; n < 20; n++) {
    guard.check(call("."), result("same"));
    if (n % 4 === 0) guard.check(call("."), result(`other ${n}`));
  }
  expect(guard.exceeded()).toBeUndefined();
});

test("the order in which arguments are named makes no call another one", () => {
  const guard = createRepeatGuard();
  const edits = [
    { path: "a", edits: [{ oldText: "x", newText: "y" }] },
    { edits: [{ newText: "y", oldText: "x" }], path: "a" },
  ];
  for (let n = 0; n < 6; n++)
    guard.check({ ...call("a"), arguments: edits[n % 2] ?? {} }, result("not found"));
  expect(guard.exceeded()).toBe("the call of ls gave the same result 6 times");
});

test("the file that the whole output is in makes no result another one", () => {
  const guard = createRepeatGuard();
  for (let n = 0; n < 6; n++) {
    const fullOutputPath = `/spill/bash-${n}.txt`;
    guard.check(call("."), {
      ...result(`the end (Whole output: ${fullOutputPath})`),
      details: { fullOutputPath },
    });
  }
  expect(guard.exceeded()).toBe("the call of ls gave the same result 6 times");
});
