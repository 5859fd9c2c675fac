import { expect, test } from "vitest";
import { watchLimits } from "../../../src/tools/shell/watch-limits.ts";

test("a signal that was aborted before stops at once", async () => {
  const { stopped, dispose } = watchLimits({ signal: AbortSignal.abort(), timeoutMs: 1 });
  expect(await stopped).toBe("abort");
  dispose();
});

test("the output is handed on up to its limit, and then it stops", async () => {
  const taken: string[] = [];
  const onOutput = (chunk: Uint8Array, stream: string): number =>
    taken.push(`${stream} ${Buffer.from(chunk).toString()}`);
  const limits = watchLimits({ maxOutputBytes: 5, onOutput });
  for (const [text, stream] of [
    ["abc", "stdout"],
    ["def", "stderr"],
    ["ghi", "stdout"],
  ] as const)
    limits.onOutput(Buffer.from(text), stream);
  expect([await limits.stopped, taken]).toEqual(["ceiling", ["stdout abc", "stderr de"]]);
});
