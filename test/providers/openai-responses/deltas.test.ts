import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/contract/json.ts";
import { createOpenAIResponses } from "../../../src/providers/openai-responses/adapter.ts";
import { createResponseMachine } from "../../../src/providers/openai-responses/deltas.ts";
import {
  ask,
  readHandWritten,
  replyingFetch,
  testModel,
  testRequest,
  toEventStream,
} from "../../support/provider-replies.ts";

const request = testRequest(testModel("openai-responses"));

function reply(body: string | Uint8Array, options: Parameters<typeof replyingFetch>[1] = {}) {
  return ask(createOpenAIResponses, replyingFetch(body, options), request);
}

const errorEvent =
  'event: error\ndata: {"type":"error","error":{"code":"server_error","message":"Broken"}}\n\n';
const completedWithError =
  'data: {"type":"response.completed","response":{"status":"completed","error":{"message":"Broken"}}}\n\n';
const failedEvent =
  'data: {"type":"response.failed","response":{"status":"failed","error":{"message":"Broken"}}}\n\n';

test.each([
  ["a failed response", failedEvent, {}, "failed"],
  ["a completed response with an error in it", completedWithError, {}, "completed"],
  ["an error event", errorEvent, {}, undefined],
  ["an error event with the failed response behind it", errorEvent + failedEvent, {}, "failed"],
  ["an error event with nothing behind it", errorEvent, { hang: true }, undefined],
])("%s keeps the server's words", async (_, body, options, stopReasonRaw) => {
  const { error } = await reply(body, options);
  expect(error?.message).toContain("Broken");
  expect(error?.stopReasonRaw).toBe(stopReasonRaw);
});

test("arguments may come as an object in a delta", async () => {
  const item = { type: "function_call", id: "fc_1", call_id: "call_1", name: "ls", arguments: "" };
  const body = toEventStream([
    { type: "response.output_item.added", output_index: 0, item },
    { type: "response.function_call_arguments.delta", output_index: 0, delta: { path: "." } },
    { type: "response.completed", response: { status: "completed" } },
  ]);
  const { toolCalls, stopReason } = await reply(body);
  expect({ toolCalls, stopReason }).toEqual({
    toolCalls: [{ id: "call_1", name: "ls", argumentsText: '{"path":"."}' }],
    stopReason: "toolUse",
  });
});

test.each([
  ["when it ends", "response.output_item.done"],
  ["only in the final list", ""],
])("a call that is marked incomplete %s is cut, although the reply is completed", (_, type) => {
  const item = {
    type: "function_call",
    call_id: "call_1",
    name: "ls",
    arguments: "{}",
    status: "incomplete",
  };
  const next = createResponseMachine("test");
  const response = { status: "completed", output: [item] };
  const events = [
    { type, output_index: 0, item },
    { type: "response.completed", response },
  ];
  expect(events.flatMap((event) => [...next(event)])).toContainEqual({
    type: "toolcall_end",
    index: 0,
    isCut: true,
  });
});

test.each([
  ["a text", "yo"],
  ["a part", { type: "output_text", text: "yo" }],
  ["a list of parts", [{ type: "output_text", text: "yo" }]],
])("the content of a message may be %s", async (_, content) => {
  const response = { status: "completed", output: [{ type: "message", content }] };
  const { text, stopReason } = await reply(toEventStream([{ type: "response.completed", response }]));
  expect({ text, stopReason }).toEqual({ text: "yo", stopReason: "stop" });
});

describe("what the final list holds of items whose end was never told", () => {
  const call = (args: string, id = "call_1") => ({
    type: "function_call",
    id: `fc_${id}`,
    call_id: id,
    name: "ls",
    arguments: args,
  });
  const added = (output_index: number, item: JsonObject) => ({
    type: "response.output_item.added",
    output_index,
    item,
  });
  const pieceOf = (output_index: number, delta: string) => ({
    type: "response.function_call_arguments.delta",
    output_index,
    delta,
  });
  const completed = (...output: JsonObject[]) => ({
    type: "response.completed",
    response: { status: "completed", output },
  });
  const argumentsOf = async (...events: JsonObject[]) => {
    const { toolCalls } = await reply(toEventStream(events));
    return toolCalls.map(({ argumentsText }) => argumentsText);
  };
  const whole = '{"path":"a"}';

  test("are a call's arguments, all of them or the rest", async () => {
    expect(await argumentsOf(added(0, call("")), completed(call(whole)))).toEqual([whole]);
    expect(await argumentsOf(added(0, call("")), pieceOf(0, '{"pa'), completed(call(whole)))).toEqual([
      whole,
    ]);
  });

  test("are those of each call, also under other ids", async () => {
    const events = [added(0, call("", "x")), added(1, call("", "y"))];
    const output = [call(whole, "new_1"), call("{}", "new_2")];
    expect(await argumentsOf(...events, completed(...output))).toEqual([whole, "{}"]);
  });

  test("is the rest of a text, and reasoning's encrypted form", async () => {
    const body = toEventStream([
      { type: "response.reasoning_summary_text.delta", output_index: 0, summary_index: 0, delta: "Hm." },
      { type: "response.output_text.delta", output_index: 1, delta: "y" },
      completed(
        { type: "reasoning", id: "rs_1", summary: [{ text: "Hm." }], encrypted_content: "E" },
        { type: "message", content: [{ type: "output_text", text: "yo" }] },
      ),
    ]);
    const { text, thinking, signatures } = await reply(body);
    const signature = { type: "reasoning", id: "rs_1", summary: [{ text: "Hm." }], encrypted_content: "E" };
    expect({ text, thinking, signatures }).toEqual({
      text: "yo",
      thinking: "Hm.",
      signatures: [JSON.stringify(signature)],
    });
  });

  test("is not needed for arguments that came before the call's name", async () => {
    const nameless = { type: "function_call", id: "fc_call_1" };
    const done = { type: "response.output_item.done", output_index: 0, item: call("") };
    expect(await argumentsOf(pieceOf(0, whole), added(0, call("")), done, completed())).toEqual([whole]);
    expect(await argumentsOf(added(0, nameless), pieceOf(0, whole), done, completed())).toEqual([whole]);
  });
});

test("the last event is an end also without its response", async () => {
  const body = toEventStream([
    { type: "response.output_text.delta", output_index: 0, delta: "yo" },
    { type: "response.completed" },
  ]);
  const { text, stopReason } = await reply(body);
  expect({ text, stopReason }).toEqual({ text: "yo", stopReason: "stop" });
});

test("no cut into chunks changes what a reply means", async () => {
  const written = readHandWritten("openai-responses");
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
  const whole = readHandWritten("openai-responses").filter(
    ({ name, expected }) => name.endsWith(".sse") && expected.stopReason !== "error",
  );
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...whole), fc.nat(), async ({ body }, at) => {
      const text = Buffer.from(body);
      const end = Math.max(
        text.lastIndexOf('{"type": "response.completed"'),
        text.lastIndexOf('{"type": "response.incomplete"'),
      );
      const cut = body.subarray(0, at % end);
      expect((await reply(cut)).stopReason).toBe("error");
    }),
    { numRuns: 100 },
  );
});
