import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { askFake, cut, type Outcome } from "./adapter.fake.ts";

type Step = {
  status?: number;
  type?: string;
  headers?: Record<string, string>;
  body?: string;
  split?: number[];
};

const ls = (id: string, path: string) => ({ id, name: "ls", arguments: JSON.stringify({ path }) });
const cutWrite = '{"path":"keep.txt","content":"only the first half';

/** What the first reply of each scripted provider means to the adapter. */
const specs: [string, Partial<Outcome>, { kind: string; transient: boolean; message: RegExp }?][] = [
  [
    "E1a",
    { text: "The first half of" },
    { kind: "protocol", transient: true, message: /without a finish reason/ },
  ],
  ["E2a", { text: "Part" }, { kind: "overloaded", transient: true, message: /upstream overloaded/ }],
  ["E2b", { text: "" }, { kind: "rate_limit", transient: true, message: /worker limit/ }],
  ["E3a", { stopReason: "length", toolCalls: [{ id: "call_1", name: "write", arguments: cutWrite }] }],
  ["E3b", { stopReason: "toolUse", toolCalls: [{ id: "call_1", name: "write", arguments: cutWrite }] }],
  [
    "E3c",
    {
      stopReason: "length",
      toolCalls: [{ id: "call_1", name: "write", arguments: '{"path":"keep.txt","content":"first half"}' }],
    },
  ],
  ["E4a", { stopReason: "toolUse", toolCalls: [ls("c_a", "a"), ls("c_b", "b")] }],
  ["E4b", { stopReason: "toolUse", toolCalls: [ls("c_a", "a"), ls("c_b", "b")] }],
  ["E4c", { stopReason: "toolUse", toolCalls: [ls("c_a", "a"), ls("c_b", "b")] }],
  ["E6a", { stopReason: "toolUse", stopReasonRaw: "stop", toolCalls: [ls("call_1", ".")] }],
  ["E6b", { stopReason: "toolUse", stopReasonRaw: undefined, toolCalls: [ls("call_1", ".")] }],
  ["E7", { stopReason: "stop", text: "ok", usage: { input: 3, output: 1, cacheRead: 0, cacheWrite: 0 } }],
  ["E10", { stopReason: "stop", text: "né 你好 😀" }],
  ["E11a", { stopReason: "stop", text: "ab" }],
  ["E11b", { stopReason: "stop", text: "ab" }],
  ["E12", { stopReason: "toolUse", thinking: "think", toolCalls: [ls("call_1", ".")] }],
  ["E14a", { stopReason: "stop", text: "done", usage: { input: 3, output: 1, cacheRead: 0, cacheWrite: 0 } }],
  ["E14b", { text: "" }, { kind: "overloaded", transient: true, message: /model is loading/ }],
  ["E14c", { text: "" }, { kind: "overloaded", transient: true, message: /502.*"502 Bad Gateway"/ }],
  ["E14d", { text: "" }, { kind: "overloaded", transient: true, message: /520/ }],
  ["E14e", { text: "" }, { kind: "protocol", transient: false, message: /Sign in to the proxy/ }],
  ["L3", { stopReason: "stop", usage: { input: 1000, output: 100, cacheRead: 9000, cacheWrite: 0 } }],
];

describe("a scripted provider", () => {
  it.each(specs)("%s is read rightly", async (name, expected, error) => {
    const outcome = await askFake(toReply(name));
    expect(outcome).toMatchObject(error === undefined ? expected : { ...expected, stopReason: "error" });
    expect(outcome.error?.kind).toBe(error?.kind);
    expect(outcome.error?.transient).toBe(error?.transient);
    expect(outcome.error?.message ?? "").toMatch(error?.message ?? /^$/);
  });
});

function toReply(name: string) {
  const url = new URL(`../../fixtures/specs/${name}.json`, import.meta.url);
  const [step = {}]: Step[] = JSON.parse(readFileSync(url, "utf8"));
  const bytes = Buffer.from(step.body ?? "");
  const ends = [...(step.split ?? []), bytes.length];
  return {
    status: step.status ?? 200,
    headers: { "content-type": step.type ?? "text/event-stream", ...step.headers },
    chunks: cut(
      bytes,
      ends.map((end, i) => end - (ends[i - 1] ?? 0)),
    ),
  };
}
