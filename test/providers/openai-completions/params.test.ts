import { describe, expect, it } from "vitest";
import type { AssistantMessage, ModelMessage, ToolResultMessage } from "../../../src/contract/messages.ts";
import { zeroUsage } from "../../../src/contract/messages.ts";
import type { Compat, Model, ProviderRequest, ThinkingLevel } from "../../../src/contract/provider.ts";
import { toParams } from "../../../src/providers/openai-completions/params.ts";
import { askFake, testModel, testRequest } from "./adapter.fake.ts";

const png = { type: "image", data: "iVBORw0=", mimeType: "image/png" } as const;
const imagePart = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0=" } };

function model(changes: Partial<Model> = {}, compat: Compat = {}): Model {
  return { ...testModel, ...changes, compat };
}

function assistant(
  content: AssistantMessage["content"],
  changes: Partial<AssistantMessage> = {},
): AssistantMessage {
  return {
    role: "assistant",
    content,
    api: "openai-completions",
    provider: "test",
    model: "m",
    usage: zeroUsage(),
    stopReason: "stop",
    timestamp: 0,
    ...changes,
  };
}

function result(toolCallId: string, content: ToolResultMessage["content"]): ToolResultMessage {
  return { role: "toolResult", toolCallId, toolName: "read", content, isError: false, timestamp: 0 };
}

const call = (id: string, args = {}) => ({ type: "toolCall", id, name: "read", arguments: args }) as const;
const sentCall = (id: string, args = "{}") => ({
  id,
  type: "function",
  function: { name: "read", arguments: args },
});

function messagesOf(messages: readonly ModelMessage[], target = model()) {
  return toParams(testRequest({ messages, model: target })).messages;
}

describe("the body of a request", () => {
  it("holds nothing but what every server knows by default", () => {
    expect(toParams(testRequest({ systemPrompt: "Be brief." }))).toEqual({
      model: "m",
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content: "hi" },
      ],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  const tool = { name: "ls", description: "Lists", parameters: { type: "object", properties: {} } };
  const schema = { type: "object" };
  const format = { type: "json_schema", json_schema: { name: "answer", schema } };
  const cases: [string, Partial<ProviderRequest>, object][] = [
    [
      "no stream options where they are refused",
      { model: model({}, { supportsUsageInStreaming: false }) },
      {},
    ],
    ["a limit when one is asked for", { maxTokens: 99 }, { max_tokens: 99 }],
    [
      "the limit in the field that the server knows",
      { maxTokens: 99, model: model({}, { maxTokensField: "max_completion_tokens" }) },
      { max_completion_tokens: 99 },
    ],
    [
      "the model's limit where each request has to state it",
      { model: model({}, { sendsMaxTokens: true }) },
      { max_tokens: 16_384 },
    ],
    ["store where it is known", { model: model({}, { supportsStore: true }) }, { store: false }],
    ["a cache key for OpenAI", { model: model({ provider: "openai" }) }, { prompt_cache_key: "session-1" }],
    ["the tools", { tools: [tool] }, { tools: [{ type: "function", function: tool }] }],
    [
      "strictness where it is known",
      { tools: [tool], model: model({}, { supportsStrictTools: true }) },
      { tools: [{ type: "function", function: { ...tool, strict: false } }] },
    ],
    ["the schema of the answer", { outputSchema: schema }, { response_format: format }],
    [
      "no schema where it would keep the model from calling tools",
      { outputSchema: schema, tools: [tool] },
      { tools: [{ type: "function", function: tool }] },
    ],
    ["no schema that is none of an object", { outputSchema: { type: "array" } }, {}],
    ["no schema where it is not known", { outputSchema: schema, model: model({ provider: "deepseek" }) }, {}],
  ];
  it.each(cases)("has %s", (_, changes, expected) => {
    const { messages, model: id, stream, stream_options: options, ...rest } = toParams(testRequest(changes));
    expect(rest).toEqual(expected);
    expect(options).toEqual(
      changes.model?.compat.supportsUsageInStreaming === false ? undefined : { include_usage: true },
    );
  });
});

describe("thinking", () => {
  const efforts: Compat = { supportsReasoningEffort: true };
  const effort = (value: string) => ({ reasoning_effort: value });
  const cases: [string, Compat, ThinkingLevel, object][] = [
    ["m", {}, "high", {}],
    ["m", efforts, "off", effort("none")],
    ["m", efforts, "minimal", effort("low")],
    ["m", efforts, "medium", effort("medium")],
    ["m", efforts, "max", effort("high")],
    ["gpt-5", efforts, "off", effort("minimal")],
    ["gpt-5-mini", efforts, "minimal", effort("minimal")],
    ["gpt-5.1", efforts, "off", effort("none")],
    ["gpt-5.2", efforts, "max", effort("xhigh")],
    ["o3", efforts, "off", effort("low")],
    ["openai/gpt-oss-120b", efforts, "xhigh", effort("high")],
    ["grok-3-mini", efforts, "medium", effort("low")],
    ["m", { thinkingFormat: "openrouter" }, "off", { reasoning: { enabled: false } }],
    ["m", { thinkingFormat: "openrouter" }, "high", { reasoning: { effort: "high" } }],
    ["openai/o3", { thinkingFormat: "openrouter" }, "off", { reasoning: { effort: "low" } }],
    ["m", { thinkingFormat: "zai" }, "off", { thinking: { type: "disabled" } }],
    ["m", { thinkingFormat: "zai" }, "low", { thinking: { type: "enabled" } }],
    ["m", { thinkingFormat: "qwen" }, "off", { enable_thinking: false }],
    ["m", { thinkingFormat: "qwen" }, "low", { enable_thinking: true }],
    ["m", { thinkingFormat: "deepseek" }, "off", { thinking: { type: "disabled" } }],
    ["m", { thinkingFormat: "deepseek" }, "low", { thinking: { type: "enabled" } }],
    ["m", { thinkingFormat: "none", ...efforts }, "high", {}],
  ];
  it.each(cases)("of %s with %j at %s asks for %j", (id, compat, thinkingLevel, expected) => {
    const target = model({ id, reasoning: true }, compat);
    const {
      model: _,
      messages,
      stream,
      stream_options,
      ...rest
    } = toParams(testRequest({ model: target, thinkingLevel }));
    expect(rest).toEqual(expected);
  });

  it("is not asked of a model that does not reason", () => {
    expect(toParams(testRequest({ model: model({}, efforts), thinkingLevel: "high" }))).not.toHaveProperty(
      "reasoning_effort",
    );
  });

  it("gives DeepSeek its own efforts", () => {
    const target = model(
      { provider: "deepseek", reasoning: true },
      { thinkingFormat: "deepseek", ...efforts },
    );
    expect(toParams(testRequest({ model: target, thinkingLevel: "max" }))).toMatchObject({
      thinking: { type: "enabled" },
      reasoning_effort: "max",
    });
  });
});

describe("the messages", () => {
  it("hold the system prompt in the role of a developer where the model wants it", () => {
    const target = model({ reasoning: true }, { supportsDeveloperRole: true });
    expect(toParams(testRequest({ model: target, systemPrompt: "x" })).messages).toEqual([
      { role: "developer", content: "x" },
      { role: "user", content: "hi" },
    ]);
  });

  it("hold what a user said and showed", () => {
    const content = [{ type: "text", text: "Look:" } as const, png];
    expect(messagesOf([{ role: "user", content, timestamp: 0 }])).toEqual([
      { role: "user", content: [{ type: "text", text: "Look:" }, imagePart] },
    ]);
    expect(messagesOf([{ role: "user", content, timestamp: 0 }], model({ input: ["text"] }))).toEqual([
      { role: "user", content: "Look:\n(image left out: this model takes none)" },
    ]);
  });

  it("hold calls with their results, and the results' images behind the last result", () => {
    expect(
      messagesOf([
        assistant([call("a", { path: "x" }), call("b")]),
        result("a", [{ type: "text", text: "one" }]),
        result("b", [png]),
        { role: "user", content: "go on", timestamp: 0 },
      ]),
    ).toEqual([
      { role: "assistant", content: null, tool_calls: [sentCall("a", '{"path":"x"}'), sentCall("b")] },
      { role: "tool", tool_call_id: "a", content: "one" },
      { role: "tool", tool_call_id: "b", content: "(see the image)" },
      {
        role: "user",
        content: [{ type: "text", text: "The images of the tool results above:" }, imagePart],
      },
      { role: "user", content: "go on" },
    ]);
  });

  it("hold images in the results where they may be, and names where they must be", () => {
    const target = model({}, { supportsToolResultImages: true, requiresToolResultName: true });
    expect(messagesOf([assistant([call("a")]), result("a", [png])], target)).toEqual([
      { role: "assistant", content: null, tool_calls: [sentCall("a")] },
      { role: "tool", tool_call_id: "a", name: "read", content: [imagePart] },
    ]);
  });

  it("say that a result is empty, or shows what the model cannot see", () => {
    const target = model({ input: ["text"] });
    expect(messagesOf([result("a", []), result("b", [png])], target)).toEqual([
      { role: "tool", tool_call_id: "a", content: "(no output)" },
      { role: "tool", tool_call_id: "b", content: "(image left out: this model takes none)" },
    ]);
  });

  it("hold ids and names that the target accepts, the same in call and result", () => {
    const id = `call_${"x".repeat(60)}|fc_${"y".repeat(20)}`;
    const history = [assistant([{ ...call(id), name: "web search!" }]), result(id, [])];
    const sent = messagesOf(history, model({ provider: "mistral" }));
    const text = JSON.stringify(sent);
    const [, callId] = /"id":"([^"]+)"/.exec(text) ?? [];
    expect(callId).toMatch(/^[a-zA-Z0-9]{9}$/);
    expect(sent).toEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: callId, type: "function", function: { name: "web_search_", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: callId, content: "(no output)" },
    ]);
  });

  const thought = { type: "thinking", thinking: "hm", thinkingSignature: '[{"type":"x"}]' } as const;
  const answer = { type: "text", text: "ok" } as const;
  const cases: [string, Compat, Partial<AssistantMessage>, object][] = [
    ["no field", {}, {}, {}],
    ["reasoning_content", { reasoningRoundTripField: "reasoning_content" }, {}, { reasoning_content: "hm" }],
    ["reasoning", { reasoningRoundTripField: "reasoning" }, {}, { reasoning: "hm" }],
    [
      "reasoning_details",
      { reasoningRoundTripField: "reasoning_details" },
      {},
      { reasoning_details: [{ type: "x" }] },
    ],
    ["reasoning of another model", { reasoningRoundTripField: "reasoning" }, { model: "other" }, {}],
    [
      "unsigned reasoning_details",
      { reasoningRoundTripField: "reasoning_details" },
      { content: [{ type: "thinking", thinking: "hm" }, answer] },
      { reasoning: "hm" },
    ],
  ];
  it.each(cases)("send thinking back: %s", (_, compat, changes, expected) => {
    const history = [assistant([thought, answer], changes)];
    expect(messagesOf(history, model({ reasoning: true }, compat))).toEqual([
      { role: "assistant", content: "ok", ...expected },
    ]);
  });

  it("give thinking DeepSeek its field with every call", () => {
    const target = model(
      { reasoning: true },
      { thinkingFormat: "deepseek", reasoningRoundTripField: "reasoning_content" },
    );
    expect(messagesOf([assistant([call("a")], { provider: "other" })], target)).toEqual([
      { role: "assistant", content: null, reasoning_content: "", tool_calls: [sentCall("a")] },
    ]);
  });

  it("send a call's signature back to the model that made it, and to no other", () => {
    const signed = { ...call("a"), thoughtSignature: '{"google":{"thought_signature":"s"}}' };
    expect(messagesOf([assistant([signed])])).toEqual([
      {
        role: "assistant",
        content: null,
        tool_calls: [{ ...sentCall("a"), extra_content: { google: { thought_signature: "s" } } }],
      },
    ]);
    expect(messagesOf([assistant([signed], { model: "other" })])).toEqual([
      { role: "assistant", content: null, tool_calls: [sentCall("a")] },
    ]);
  });

  it("leave out an assistant message that says nothing", () => {
    expect(messagesOf([assistant([thought])])).toEqual([]);
  });

  it("hold no half of a character anywhere", async () => {
    const half = "a\ud83d";
    const request = testRequest({
      systemPrompt: half,
      messages: [
        { role: "user", content: half, timestamp: 0 },
        assistant([{ type: "text", text: half }, call("a", { [half]: [half] })]),
        result("a", [{ type: "text", text: half }]),
      ],
    });
    const { sent } = await askFake({ chunks: [] }, { request });
    const text = JSON.stringify(sent[0]?.body);
    expect(text).not.toMatch(/\\ud83d/);
    expect(text.match(/a\ufffd/g)).toHaveLength(6);
  });
});
