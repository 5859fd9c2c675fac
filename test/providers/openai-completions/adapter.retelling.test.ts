import { describe, expect, it } from "vitest";
import { askFake } from "./adapter.fake.ts";

type Choice = { index?: number; delta?: object | null; message?: object; finish_reason?: string | null };

/** What is made of a stream with these choices, one chunk each. */
async function read(...choices: Choice[]) {
  const lines = choices.map((choice) => `data: ${JSON.stringify({ id: "c1", choices: [choice] })}\n\n`);
  const body = Buffer.from(`${lines.join("")}data: [DONE]\n\n`);
  const { text, thinking, toolCalls, stopReason } = await askFake({ chunks: [body] });
  return { text, thinking, calls: toolCalls.map(({ id, arguments: args }) => `${id} ${args}`), stopReason };
}

const say = (content: string): Choice => ({ delta: { content } });
const call = (id: string | undefined, args: unknown) => ({
  ...(id !== undefined && { id }),
  type: "function",
  function: { name: "ls", arguments: args },
});
const callDelta = (index: number, id: string | undefined, args: string): Choice => ({
  delta: { tool_calls: [{ index, ...call(id, args) }] },
});
const none = { text: "", thinking: "", calls: [], stopReason: "stop" };

it("takes content that is a part instead of a list of parts", async () => {
  const thought = { delta: { content: { type: "thinking", thinking: [{ type: "text", text: "Hm." }] } } };
  const words = { delta: { content: { type: "text", text: "yo" } }, finish_reason: "stop" };
  expect(await read(thought, words)).toEqual({ ...none, thinking: "Hm.", text: "yo" });
});

describe("a message that comes in a stream", () => {
  it.each<[string, Choice]>([
    ["without a delta", {}],
    ["with a null delta", { delta: null }],
    ["with an empty delta", { delta: {} }],
    ["with a delta of the last piece", { delta: { content: "" } }],
  ])("adds nothing to the text that it tells again, %s", async (_, choice) => {
    const last = { ...choice, message: { role: "assistant", content: "yo" }, finish_reason: "stop" };
    expect(await read(say("y"), say("o"), last)).toEqual({ ...none, text: "yo" });
  });

  it("adds what the deltas left out", async () => {
    const message = { reasoning_content: "Hm.", content: "yo!" };
    expect(await read(say("yo"), { message, finish_reason: "stop" })).toEqual({
      ...none,
      thinking: "Hm.",
      text: "yo!",
    });
  });

  it("does not tell reasoning and its signature again", async () => {
    const details = [{ type: "reasoning.text", text: "Hm.", signature: "s" }];
    const said = { reasoning: "Hm.", reasoning_details: details, content: "yo" };
    expect(await read({ delta: said }, { message: said, finish_reason: "stop" })).toEqual({
      ...none,
      thinking: "Hm.",
      text: "yo",
    });
  });

  it("is the answer where there were no deltas", async () => {
    const message = { content: "yo", tool_calls: [call("a", "{}")] };
    const all = { ...none, text: "yo", calls: ["a {}"], stopReason: "toolUse" };
    expect(await read({ delta: {}, message, finish_reason: "stop" })).toEqual(all);
    expect(
      await read({ message: { content: "y" } }, { message: { content: "o" }, finish_reason: "stop" }),
    ).toEqual({ ...none, text: "yo" });
  });

  it.each<[string, string | undefined, unknown]>([
    ["under its id", "a", '{"path":"."}'],
    ["without an id", undefined, { path: "." }],
    ["under another id", "b", '{ "path": "." }'],
  ])("calls no tool again, %s", async (_, id, args) => {
    const last = { message: { tool_calls: [call(id, args)] }, finish_reason: "tool_calls" };
    const calls = ['a {"path":"."}'];
    const expected = { ...none, calls, stopReason: "toolUse" };
    expect(await read(callDelta(0, "a", '{"path":'), callDelta(0, "a", '"."}'), last)).toEqual(expected);
  });

  it("completes a call whose arguments the deltas left out, and adds one that they lack", async () => {
    const tool_calls = [call("a", '{"path":"x"}'), call("b", "{}")];
    expect(await read(callDelta(0, "a", '{"pa'), { message: { tool_calls }, finish_reason: "stop" })).toEqual(
      {
        ...none,
        calls: ['a {"path":"x"}', "b {}"],
        stopReason: "toolUse",
      },
    );
  });
});

it("the text is that of one choice where a server sends several", async () => {
  const choices = [
    { index: 0, ...say("a") },
    { index: 1, ...say("B") },
    { index: 0, ...say("b"), finish_reason: "stop" },
    { index: 1, delta: {}, finish_reason: "stop" },
  ];
  expect(await read(...choices)).toEqual({ ...none, text: "ab" });
});

it('a finish reason of "null" is none yet', async () => {
  expect(await read({ ...say("yo"), finish_reason: "null" }, { delta: {}, finish_reason: "stop" })).toEqual({
    ...none,
    text: "yo",
  });
});
