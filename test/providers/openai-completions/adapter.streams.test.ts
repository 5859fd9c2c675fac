import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { askFake, cut, type Outcome } from "./adapter.fake.ts";

type Expectation = Partial<Outcome> & { errorMessage?: string; kind?: string; transient?: boolean };

const none = { text: "", thinking: "", toolCalls: [], usage: undefined };
const failed = { ...none, stopReason: "error", stopReasonRaw: undefined };

/** What each hand-written reply means. */
const streams: Record<string, Expectation> = {
  "text-cached": {
    ...none,
    text: "Grüße, Welt 🌍",
    usage: { input: 36, output: 7, cacheRead: 64, cacheWrite: 0 },
    stopReason: "stop",
    stopReasonRaw: "stop",
  },
  "reasoning-content-tool": {
    ...none,
    text: "Looking.",
    thinking: "I should look.",
    toolCalls: [{ id: "call_1", name: "ls", arguments: '{"path":"."}' }],
    usage: { input: 18, output: 20, cacheRead: 32, cacheWrite: 0 },
    stopReason: "toolUse",
    stopReasonRaw: "tool_calls",
  },
  "reasoning-details": {
    ...none,
    text: "4",
    thinking: "Two plus two.",
    usage: { input: 10, output: 12, cacheRead: 10, cacheWrite: 20 },
    stopReason: "stop",
    stopReasonRaw: "stop",
  },
  "reasoning-encrypted": {
    ...none,
    text: "Hello!",
    thinking: "\n\n",
    stopReason: "stop",
    stopReasonRaw: "stop",
  },
  "thinking-parts": {
    ...none,
    text: "144",
    thinking: "12 * 12 = 144",
    usage: { input: 31, output: 9, cacheRead: 0, cacheWrite: 0 },
    stopReason: "stop",
    stopReasonRaw: "stop",
  },
  "odd-arguments": {
    ...none,
    toolCalls: [
      { id: "a", name: "now", arguments: "" },
      { id: "b", name: "ls", arguments: '{"path":"b"}' },
      { id: "c", name: "ls", arguments: '"{\\"path\\":\\"c\\"}"' },
    ],
    stopReason: "toolUse",
    stopReasonRaw: "stop",
  },
  "repeated-name-no-finish": {
    ...none,
    toolCalls: [{ id: "0", name: "ls", arguments: '{"path":"."}' }],
    usage: { input: 5, output: 6, cacheRead: 0, cacheWrite: 0 },
    stopReason: "toolUse",
    stopReasonRaw: undefined,
  },
  "legacy-function-call": {
    ...none,
    toolCalls: [{ id: "", name: "ls", arguments: '{"path":"."}' }],
    stopReason: "toolUse",
    stopReasonRaw: "function_call",
  },
  "thought-signature": {
    ...none,
    toolCalls: [
      { id: "", name: "ls", arguments: '{"path":"a"}' },
      { id: "", name: "ls", arguments: '{"path":"b"}' },
    ],
    usage: { input: 9, output: 3, cacheRead: 0, cacheWrite: 0 },
    stopReason: "toolUse",
    stopReasonRaw: "stop",
  },
  "usage-in-choice": {
    ...none,
    text: "ok",
    usage: { input: 3, output: 2, cacheRead: 5, cacheWrite: 0 },
    stopReason: "stop",
    stopReasonRaw: "stop",
  },
  "usage-x-groq": {
    ...none,
    text: "ok",
    usage: { input: 4, output: 2, cacheRead: 0, cacheWrite: 0 },
    stopReason: "stop",
    stopReasonRaw: "stop",
  },
  refusal: {
    ...failed,
    stopReasonRaw: "stop",
    usage: { input: 17, output: 9, cacheRead: 0, cacheWrite: 0 },
    errorMessage: "the model of test refused: I can't help with that.",
    kind: "refusal",
    transient: false,
  },
  "content-filter": {
    ...failed,
    text: "First you",
    stopReasonRaw: "content_filter",
    usage: { input: 17, output: 2, cacheRead: 0, cacheWrite: 0 },
    errorMessage: "the content filter of test stopped the reply (content_filter)",
    kind: "refusal",
    transient: false,
  },
  "unknown-finish": {
    ...failed,
    text: "Half",
    stopReasonRaw: "constructor",
    errorMessage: "test stopped for a reason that is not known: constructor",
    kind: "protocol",
    transient: false,
  },
  "failed-finish": {
    ...failed,
    text: "Half",
    stopReasonRaw: "insufficient_system_resource",
    errorMessage: "test failed while it answered (insufficient_system_resource)",
    kind: "overloaded",
    transient: true,
  },
  "error-event": {
    ...failed,
    thinking: "Let me call",
    errorMessage: "test reported an error (tool_use_failed): Tool call validation failed",
    kind: "invalid_request",
    transient: false,
  },
  "error-after-finish": {
    ...failed,
    stopReasonRaw: "length",
    text: "We need",
    usage: { input: 43, output: 10, cacheRead: 0, cacheWrite: 0 },
    errorMessage: "test reported an error (502): Upstream went away",
    kind: "overloaded",
    transient: true,
  },
  "error-in-choice": {
    ...failed,
    stopReasonRaw: "error",
    errorMessage: "test reported an error (429): Slow down",
    kind: "rate_limit",
    transient: true,
  },
  "error-code": {
    ...failed,
    text: "Half",
    errorMessage:
      "test reported an error (110): Access token invalid or no longer valid (check the credentials of test)",
    kind: "auth",
    transient: false,
  },
  "error-list": {
    ...failed,
    text: "Half",
    errorMessage: "test reported an error: Upstream went away",
    kind: "overloaded",
    transient: true,
  },
  "base-resp": {
    ...failed,
    text: "Half",
    errorMessage: "test reported an error (1002): rate limit",
    kind: "rate_limit",
    transient: true,
  },
  "length-in-call": {
    ...none,
    toolCalls: [{ id: "a", name: "write", arguments: '{"path":"x","content":"cut' }],
    stopReason: "length",
    stopReasonRaw: "length",
  },
  "done-without-finish": {
    ...failed,
    text: "All of it?",
    errorMessage: "test: the stream ended without a finish reason",
    kind: "protocol",
    transient: true,
  },
  "calls-cut": {
    ...failed,
    toolCalls: [{ id: "a", name: "ls", arguments: '{"path":"."}' }],
    errorMessage: "test: the stream ended without a finish reason",
    kind: "protocol",
    transient: true,
  },
  "torn-usage": { ...none, text: "ok", stopReason: "stop", stopReasonRaw: "stop" },
};

describe.each(Object.entries(streams))("the reply %s", (name, expected) => {
  const body = readFileSync(new URL(`../../fixtures/openai-completions/${name}.sse`, import.meta.url));

  it.each([[[Number.POSITIVE_INFINITY]], [[1]], [[5, 1, 64, 2]]])(
    "means the same in pieces of %j",
    async (sizes) => {
      const { error, events, sent, ...outcome } = await askFake({ chunks: cut(body, sizes) });
      expect({
        ...outcome,
        ...(error && { errorMessage: error.message, kind: error.kind, transient: error.transient }),
      }).toEqual(expected);
    },
  );
});

async function signatures(name: string) {
  const body = readFileSync(new URL(`../../fixtures/openai-completions/${name}.sse`, import.meta.url));
  const { events } = await askFake({ chunks: [body] });
  return events.filter((event) => event.type === "thinking_end" || event.type === "toolcall_end");
}

describe("what has to be sent back", () => {
  it("keeps signed reasoning as the whole items that it came in pieces of", async () => {
    const item = {
      type: "reasoning.text",
      text: "Two plus two.",
      format: "v1",
      index: 0,
      signature: "c2lnbmVk",
    };
    expect(await signatures("reasoning-details")).toEqual([
      { type: "thinking_end", index: 0, signature: JSON.stringify([item]) },
    ]);
  });

  it("keeps encrypted reasoning in redacted blocks, late ones behind the text", async () => {
    const item = { type: "reasoning.encrypted", data: "c2VhbGVk", id: "rs_1", format: "v1", index: 0 };
    const late = { type: "reasoning.encrypted", data: "bGF0ZQ==", id: "rs_2", format: "v1", index: 1 };
    expect(await signatures("reasoning-encrypted")).toEqual([
      { type: "thinking_end", index: 0, signature: JSON.stringify([item]), redacted: true },
      { type: "thinking_end", index: 2, signature: JSON.stringify([late]), redacted: true },
    ]);
  });

  it("keeps the signature of a tool call", async () => {
    expect(await signatures("thought-signature")).toEqual([
      { type: "toolcall_end", index: 0, signature: '{"google":{"thought_signature":"c2ln"}}' },
      { type: "toolcall_end", index: 1 },
    ]);
  });
});
