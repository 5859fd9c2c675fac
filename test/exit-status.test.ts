import { expect, test } from "vitest";
import type { RunOutcome } from "../src/contract/outcome.ts";
import { exitRules, exitStatus } from "../src/exit-status.ts";

const ended = (stopReason: "stop" | "length" | "toolUse" | "error" | "aborted"): Partial<RunOutcome> => ({
  terminal: { stopReason },
});
const failure: Partial<RunOutcome> = { failures: [{ kind: "persistence", message: "disk full" }] };
const limit: Partial<RunOutcome> = { limit: { name: "turns", message: "12 turns" } };

test.each([
  [0, "an answer", ended("stop")],
  [0, "an answer cut by its length", ended("length")],
  [0, "a last message of calls", ended("toolUse")],
  [1, "an error", ended("error")],
  [1, "an abort without a signal", ended("aborted")],
  [1, "an answer that could not be kept", { ...ended("stop"), ...failure }],
  [2, "a refused start", { refused: "no such model" }],
  [3, "a gate that was not passed", { ...ended("stop"), gateNotPassed: "npm test" }],
  [4, "a limit", { ...ended("toolUse"), ...limit }],
  [129, "a hang-up", { ...ended("aborted"), signal: "SIGHUP" }],
  [130, "an interrupt", { ...ended("aborted"), signal: "SIGINT" }],
  [143, "a termination", { ...ended("aborted"), signal: "SIGTERM" }],
  [141, "a reader that went away", { ...ended("aborted"), readerGone: true }],
] satisfies [number, string, Partial<RunOutcome>][])("status %i for %s", (status, _, outcome) => {
  expect(exitStatus({ failures: [], finalText: "", ...outcome })).toBe(status);
});

test("when several apply, the order is signal, 141, 2, 1, 3, 4", () => {
  const all: RunOutcome = {
    signal: "SIGTERM",
    readerGone: true,
    refused: "x",
    failures: [{ kind: "internal", message: "x" }],
    gateNotPassed: "x",
    limit: { name: "time", message: "x" },
    finalText: "",
  };
  const { signal: _signal, ...noSignal } = all;
  const { readerGone: _gone, ...noReader } = noSignal;
  const { refused: _refused, ...started } = noReader;
  const noFailure = { ...started, failures: [] };
  const { gateNotPassed: _gate, ...noGate } = noFailure;
  const order = [all, noSignal, noReader, started, noFailure, noGate].map(exitStatus);
  expect(order).toEqual([143, 141, 2, 1, 3, 4]);
  expect(exitRules.map(({ status }) => status)).toEqual([129, 130, 143, 141, 2, 1, 1, 3, 4, 0]);
});
