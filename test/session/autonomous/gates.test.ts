import { describe, expect, test } from "vitest";
import type { CustomMessage } from "../../../src/contract/messages.ts";
import { createGates, type GateEnd, type GatesOptions } from "../../../src/session/autonomous/gates.ts";
import { gateFailedPrompt, gateWords } from "../../../src/session/autonomous/gates-report.ts";

const passed: GateEnd = { reason: "exit", exitCode: 0, durationMs: 5, output: "" };
const failed: GateEnd = { reason: "exit", exitCode: 2, durationMs: 5, output: "2 tests failed" };

/** Gates whose ends are given by command, in order; the last one repeats. `tree` is what the work tree is like. */
function make(ends: Readonly<Record<string, readonly GateEnd[]>>, changes: Partial<GatesOptions> = {}) {
  const ran: string[] = [];
  const told: CustomMessage[] = [];
  const busy: string[] = [];
  const state = { tree: "a" as string | undefined };
  const gates = createGates({
    commands: Object.keys(ends),
    retries: 1,
    timeoutMs: 1000,
    async run(command) {
      const all = ends[command] ?? [];
      const nth = ran.filter((each) => each === command).length;
      ran.push(command);
      return all[Math.min(nth, all.length - 1)] ?? passed;
    },
    workTree: async () => state.tree,
    redact: (text) => text.replaceAll("key", "[redacted]"),
    now: () => 42,
    ...changes,
  });
  const round = {
    signal: new AbortController().signal,
    tell: (message: CustomMessage) => told.push(message),
    busy: (label: string) => busy.push(label),
  };
  return { gates, ran, told, busy, state, check: () => gates.check(round) };
}

test("gates run in order, each is told, and all passed is no failure", async () => {
  const { gates, ran, told, busy, check } = make({ a: [passed], b: [passed] });
  expect(gates.notPassed()).toBe("gate never ran: a; gate never ran: b");
  expect(await check()).toBeUndefined();
  expect([ran, busy, gates.notPassed()]).toEqual([["a", "b"], ["a", "b"], undefined]);
  expect(told[0]).toEqual({
    role: "custom",
    customType: "gate_result",
    content: "gate passed: a (exit status 0)",
    display: true,
    details: {
      command: "a",
      attempt: 1,
      outcome: "passed",
      exit: 0,
      durationMs: 5,
      unchanged: false,
      output: "",
    },
    timestamp: 42,
  });
});

test("those behind one that failed do not run", async () => {
  const { gates, ran, check } = make({ a: [passed], b: [failed], c: [passed] });
  expect(await check()).toMatchObject({ command: "b", outcome: "failed", attempt: 1 });
  expect(ran).toEqual(["a", "b"]);
  expect(gates.notPassed()).toBe("gate failed: b (exit status 2); gate never ran: c");
});

test("a round on a tree that has not changed since is a failure without a run", async () => {
  const { gates, ran, told, state, check } = make({ a: [passed], b: [failed, failed, passed] });
  await check();
  expect(gates.mayRetry()).toBe(true);
  expect(await check()).toMatchObject({ command: "b", attempt: 2, unchanged: true });
  expect(gates.mayRetry()).toBe(false);
  expect(ran).toEqual(["a", "b"]);
  expect(told.at(-1)).toMatchObject({
    content: "gate failed: b (exit status 2, not run again since nothing changed)",
    details: { attempt: 2, durationMs: 0, unchanged: true },
  });
  state.tree = "b";
  expect(await check()).toMatchObject({ attempt: 3, unchanged: false });
  state.tree = "c";
  expect(await check()).toBeUndefined();
  expect(ran).toEqual(["a", "b", "a", "b", "a", "b"]);
});

test("a tree that cannot be told may have changed", async () => {
  const { ran, state, check } = make({ a: [failed] });
  state.tree = undefined;
  await check();
  await check();
  expect(ran).toEqual(["a", "a"]);
});

test("what the gate changes itself is no change since", async () => {
  let runs = 0;
  const { gates } = make(
    { a: [failed] },
    {
      run: async () => {
        runs++;
        return failed;
      },
      workTree: async () => `after run ${runs}`,
    },
  );
  const round = { signal: new AbortController().signal, tell: () => {}, busy: () => {} };
  await gates.check(round);
  await gates.check(round);
  expect(runs).toBe(1);
});

test("another prompt begins anew", async () => {
  const { gates, ran, check } = make({ a: [failed] });
  await check();
  await check();
  gates.restart();
  expect([gates.notPassed(), gates.mayRetry()]).toEqual(["gate never ran: a", true]);
  expect(await check()).toMatchObject({ attempt: 1, unchanged: false });
  expect(ran).toEqual(["a", "a"]);
});

test("a key in a command is not told", async () => {
  const { gates, told, ran, check } = make({ "curl key": [failed] });
  await check();
  expect(ran).toEqual(["curl key"]);
  expect(JSON.stringify([told, gates.results(), gates.notPassed()])).not.toContain("key");
});

describe("what is said of a gate", () => {
  const base = { command: "npm test", attempt: 1, unchanged: false };
  test.each([
    [{ ...base, outcome: "passed", end: passed }, "gate passed: npm test (exit status 0)"],
    [{ ...base, outcome: "failed", end: failed }, "gate failed: npm test (exit status 2)"],
    [
      { ...base, outcome: "failed", end: { reason: "exit", signal: "SIGSEGV", durationMs: 1, output: "" } },
      "gate failed: npm test (killed by SIGSEGV)",
    ],
    [
      { ...base, outcome: "timed_out", end: { reason: "timeout", durationMs: 300, output: "" } },
      "gate failed: npm test (no end after 300 ms)",
    ],
    [
      { ...base, outcome: "aborted", end: { reason: "abort", durationMs: 3, output: "" } },
      "gate failed: npm test (aborted)",
    ],
    [
      {
        ...base,
        outcome: "not_started",
        end: { reason: "not_started", errorMessage: "no bash", durationMs: 1, output: "" },
      },
      "gate failed: npm test (it could not be started: no bash)",
    ],
  ] as const)("%j", (result, words) => {
    expect(gateWords(result)).toBe(words);
  });

  test("the model gets command, ending and output, whatever is in them", () => {
    const end = { ...failed, output: "$& {{command}}\n" };
    const text = gateFailedPrompt({ ...base, command: "echo $'x'", outcome: "failed", end });
    expect(text).toContain("Command: echo $'x'\nResult: exit status 2\n");
    expect(text).toContain("\n\n$& {{command}}\n\n");
  });
});
