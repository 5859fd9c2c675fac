import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/contract/json.ts";
import { createAnthropicMessages } from "../../../src/providers/anthropic-messages/adapter.ts";
import {
  ask,
  readHandWritten,
  replyingFetch,
  testModel,
  testRequest,
  toEventStream,
} from "../../support/provider-replies.ts";

const request = testRequest(testModel("anthropic-messages"));

function reply(body: string | Uint8Array, options: Parameters<typeof replyingFetch>[1] = {}) {
  return ask(createAnthropicMessages, replyingFetch(body, options), request);
}

test("a whole message may hold its text as a string", async () => {
  const body = {
    type: "message",
    id: "msg_1",
    content: "hello",
    stop_reason: "end_turn",
    usage: { output_tokens: 1 },
  };
  expect(await reply(JSON.stringify(body))).toMatchObject({ stopReason: "stop", text: "hello" });
});

const start = (index: number, content_block: JsonObject) => ({
  type: "content_block_start",
  index,
  content_block,
});
const delta = (index: number, delta: JsonObject) => ({ type: "content_block_delta", index, delta });
const stop = (index: number) => ({ type: "content_block_stop", index });
const call = (index: number, id: string) => start(index, { type: "tool_use", id, name: "ls", input: {} });
const input = (index: number, partial_json: JsonValue) =>
  delta(index, { type: "input_json_delta", partial_json });

/** What is made of a reply with these events between its start and its end. */
async function read(...events: JsonObject[]) {
  const end = [{ type: "message_delta", delta: { stop_reason: "end_turn" } }, { type: "message_stop" }];
  const { text, thinking, toolCalls, error } = await reply(toEventStream([...events, ...end]));
  return {
    said: [thinking, text].filter((part) => part !== ""),
    calls: toolCalls.map(({ id, argumentsText }) => `${id} ${argumentsText}`),
    ...(error && { error: error.message, transient: error.transient }),
  };
}

test("blocks whose start is missing are told all the same", async () => {
  const thought = delta(0, { type: "thinking_delta", thinking: "Hm." });
  const events = [thought, stop(0), delta(1, { type: "text_delta", text: "yo" }), stop(1)];
  expect(await read(...events)).toEqual({ said: ["Hm.", "yo"], calls: [] });
});

test("a call whose start is missing is a fault, and what the server's own tools are told is not", async () => {
  const own = start(0, { type: "server_tool_use", id: "s", name: "web_search", input: {} });
  expect(await read(own, input(0, '{"query":"x"}'), stop(0), input(1, "{}"))).toEqual({
    said: [],
    calls: [],
    error: "test sent a piece of a tool call that never began",
    transient: true,
  });
});

test("a block ends where another one takes its place", async () => {
  const events = [call(0, "a"), input(0, '{"path":"."}'), call(0, "b"), input(0, "{}"), stop(0)];
  expect(await read(...events)).toEqual({ said: [], calls: ['a {"path":"."}', "b {}"] });
});

test("arguments may come as an object", async () => {
  const events = [call(0, "a"), input(0, { path: "." }), stop(0)];
  expect(await read(...events)).toEqual({ said: [], calls: ['a {"path":"."}'] });
});

test("no cut into chunks changes what a reply means", async () => {
  const written = readHandWritten("anthropic-messages");
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...written),
      fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 8 }),
      async ({ body, headers }, sizes) => {
        expect(await reply(body, { sizes, headers })).toEqual(await reply(body, { headers }));
      },
    ),
    { numRuns: 60 },
  );
});

test("a stream cut anywhere before its end never counts as whole", async () => {
  const whole = readHandWritten("anthropic-messages").filter(
    ({ name, expected }) => name.endsWith(".sse") && expected.stopReason !== "error",
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...whole), fc.nat(), async ({ body }, at) => {
      const end = Buffer.from(body).indexOf('{"type": "message_stop"');
      const cut = body.subarray(0, at % end);
      expect((await reply(cut)).stopReason).toBe("error");
    }),
    { numRuns: 100 },
  );
});
