import fc from "fast-check";
import { expect, test } from "vitest";
import { createAccumulator } from "../../src/agent/accumulate.ts";
import type { AssistantMessageEvent } from "../../src/contract/events.ts";
import type { Model, ProviderEvent } from "../../src/contract/provider.ts";

const model: Model = {
  id: "m",
  name: "M",
  provider: "fake",
  api: "openai-completions",
  baseUrl: "http://127.0.0.1/v1",
  reasoning: true,
  input: ["text"],
  contextWindow: 1000,
  maxTokens: 100,
  cost: { input: 1, output: 2, cacheRead: 0.5, cacheWrite: 4 },
  headers: {},
  compat: {},
};

type Streamed = Exclude<ProviderEvent, { type: "end" }>;

function accumulate(events: readonly Streamed[], secrets: readonly string[] = []) {
  const told: AssistantMessageEvent[] = [];
  const accumulator = createAccumulator({
    model,
    timestamp: 1,
    uniqueCallId: (id) => id,
    secrets,
    // The message is live: what was told at the time is what a copy shows.
    emit: (event) => told.push(structuredClone(event)),
  });
  for (const event of events) accumulator.push(event);
  return { accumulator, told };
}

test("blocks that interleave keep their order and their text", () => {
  const { accumulator, told } = accumulate([
    { type: "meta", responseId: "r1", responseModel: "m-2026" },
    { type: "thinking_start", index: 0 },
    { type: "thinking_delta", index: 0, delta: "hm" },
    { type: "thinking_end", index: 0, signature: "sig" },
    { type: "toolcall_start", index: 1, id: "a", name: "ls" },
    { type: "toolcall_start", index: 2, id: "b", name: "ls" },
    { type: "toolcall_delta", index: 2, delta: '{"path":"b"}' },
    { type: "toolcall_delta", index: 1, delta: '{"path":"a"}' },
    { type: "toolcall_end", index: 2 },
    { type: "toolcall_end", index: 1, signature: "thought" },
    { type: "usage", tokens: { input: 1000, output: 500, cacheRead: 200, cacheWrite: 50 } },
  ]);
  accumulator.finish({ stopReason: "toolUse", stopReasonRaw: "tool_calls" });
  expect(accumulator.calls.map(({ call }) => call.id)).toEqual(["a", "b"]);
  expect(told.at(-1)).toEqual({
    type: "done",
    reason: "toolUse",
    message: {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm", thinkingSignature: "sig" },
        { type: "toolCall", id: "a", name: "ls", arguments: { path: "a" }, thoughtSignature: "thought" },
        { type: "toolCall", id: "b", name: "ls", arguments: { path: "b" } },
      ],
      api: "openai-completions",
      provider: "fake",
      model: "m",
      responseModel: "m-2026",
      responseId: "r1",
      usage: {
        input: 1000,
        output: 500,
        cacheRead: 200,
        cacheWrite: 50,
        totalTokens: 1750,
        cost: { input: 0.001, output: 0.001, cacheRead: 0.0001, cacheWrite: 0.0002, total: 0.0023 },
      },
      stopReason: "toolUse",
      stopReasonRaw: "tool_calls",
      timestamp: 1,
    },
  });
});

test("a call that its server says is cut cannot run in a whole reply either", () => {
  const { accumulator } = accumulate([
    { type: "toolcall_start", index: 0, id: "a", name: "ls" },
    { type: "toolcall_delta", index: 0, delta: "{}" },
    { type: "toolcall_end", index: 0, isCut: true },
  ]);
  accumulator.finish({ stopReason: "toolUse" });
  expect(accumulator.calls.map(({ arguments: args }) => args)).toEqual([
    { ok: false, raw: "{}", problem: "the call was cut off" },
  ]);
});

test("a cut reply ends its open blocks with what they had, and its call cannot run", () => {
  const { accumulator, told } = accumulate([
    { type: "text_start", index: 0 },
    { type: "text_delta", index: 0, delta: "half" },
    { type: "toolcall_start", index: 1, id: "a", name: "write" },
    { type: "toolcall_delta", index: 1, delta: '{"path":"keep.txt"}' },
  ]);
  accumulator.finish({ stopReason: "error", errorMessage: "cut" });
  expect(told.slice(-3).map(({ type }) => type)).toEqual(["text_end", "toolcall_end", "error"]);
  const had = { path: "keep.txt" };
  expect(accumulator.calls).toMatchObject([{ call: { arguments: had }, arguments: { ok: false } }]);
});

test("nothing is told before the first event, and an end without one tells the start too", () => {
  const { accumulator, told } = accumulate([]);
  expect(told).toEqual([]);
  accumulator.finish({ stopReason: "aborted", errorMessage: "aborted" });
  expect(told.map(({ type }) => type)).toEqual(["start", "error"]);
});

test("the deltas of each block add up to its final text, for any stream", () => {
  const deltas = fc.array(fc.string({ unit: "binary" }), { maxLength: 8 });
  const block = fc.record({ kind: fc.constantFrom("text", "thinking"), deltas });
  fc.assert(
    fc.property(fc.array(block, { maxLength: 5 }), (blocks) => {
      const events = blocks.flatMap(({ kind, deltas }, index) => [
        { type: `${kind}_start`, index } as Streamed,
        ...deltas.map((delta) => ({ type: `${kind}_delta`, index, delta }) as Streamed),
        { type: `${kind}_end`, index } as Streamed,
      ]);
      const { accumulator, told } = accumulate(events);
      accumulator.finish({ stopReason: "stop" });
      const sums = blocks.map(() => "");
      for (const event of told)
        if (event.type === "text_delta" || event.type === "thinking_delta")
          sums[event.contentIndex] += event.delta;
      const finals = accumulator.message.content.map((part) =>
        part.type === "text" ? part.text : part.type === "thinking" ? part.thinking : "",
      );
      expect(sums).toEqual(finals);
      expect(finals).toEqual(blocks.map(({ deltas }) => deltas.join("").toWellFormed()));
    }),
  );
});
