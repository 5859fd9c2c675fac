import { expect, test } from "vitest";
import { gateResultOf } from "../../src/commands/gate-result.ts";
import type { JsonValue } from "../../src/contract/json.ts";
import { chain } from "../session/samples.ts";

const kept = { command: "npm test", attempt: 1, durationMs: 5, unchanged: false, output: "1 failed" };

test.each<[JsonValue, ReturnType<typeof gateResultOf>]>([
  [
    { ...kept, outcome: "failed", exit: 1 },
    { words: "gate failed: npm test (exit status 1)", output: "1 failed" },
  ],
  [
    { ...kept, outcome: "passed", exit: 0, output: "" },
    { words: "gate passed: npm test (exit status 0)", output: "" },
  ],
  [
    { ...kept, outcome: "failed", exit: null, signal: "SIGKILL" },
    { words: "gate failed: npm test (SIGKILL)", output: "1 failed" },
  ],
  [
    { ...kept, outcome: "failed", exit: 1, unchanged: true },
    { words: "gate failed: npm test (exit status 1, not run again since nothing changed)", output: "" },
  ],
  [
    { ...kept, outcome: "timed_out", exit: null },
    { words: "gate timed out: npm test", output: "1 failed" },
  ],
  [{ outcome: "passed" }, undefined],
  ["passed", undefined],
])("a gate's result as a session keeps it: %j", (data, expected) => {
  const [entry] = chain([{ type: "custom", customType: "gate_result", data }]);
  expect(entry && gateResultOf(entry)).toEqual(expected);
});
