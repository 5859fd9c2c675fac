import { describe, expect, test } from "vitest";
import { toCodexParams, toParams } from "../../../src/providers/openai-responses/params.ts";
import { assistant, image, result, tools, user } from "../../support/histories.ts";
import { testModel, testRequest } from "../../support/provider-replies.ts";

const model = testModel("openai-responses", { id: "gpt-5.2", reasoning: true });
const reasoningItem = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "ZW5j" };
const signature = JSON.stringify(reasoningItem);
const picture = { type: "input_image", detail: "auto", image_url: "data:image/png;base64,aW1n" };

const history = [
  user([{ type: "text", text: "Look." }, image]),
  assistant(model, [
    { type: "thinking", thinking: "", thinkingSignature: signature, redacted: true },
    { type: "text", text: "Reading.", textSignature: '{"phase":"commentary"}' },
    { type: "toolCall", id: "call_1", name: "read", arguments: { path: "a" } },
    { type: "toolCall", id: "call_2", name: "now", arguments: {} },
  ]),
  result("call_1", [{ type: "text", text: "shot" }, image]),
  result("call_2", "", true),
];

const sentHistory = [
  { role: "user", content: [{ type: "input_text", text: "Look." }, picture] },
  reasoningItem,
  {
    type: "message",
    role: "assistant",
    content: [{ type: "output_text", text: "Reading." }],
    phase: "commentary",
  },
  { type: "function_call", call_id: "call_1", name: "read", arguments: '{"path":"a"}' },
  { type: "function_call", call_id: "call_2", name: "now", arguments: "{}" },
  {
    type: "function_call_output",
    call_id: "call_1",
    output: [{ type: "input_text", text: "shot" }, picture],
  },
  { type: "function_call_output", call_id: "call_2", output: "(no output)" },
];

const sentTools = [
  {
    type: "function",
    name: "now",
    description: "Tells the time.",
    parameters: { type: "object", properties: {} },
    strict: false,
  },
  {
    type: "function",
    name: "read",
    description: "Reads a file.",
    parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    strict: false,
  },
];

describe("the body of a Responses request", () => {
  test("a first prompt to a model that does not reason", () => {
    expect(toParams(testRequest(testModel("openai-responses", { id: "gpt-4.1" })))).toEqual({
      model: "gpt-4.1",
      stream: true,
      store: false,
      prompt_cache_key: "session-1",
      input: [
        { role: "system", content: "Be brief." },
        { role: "user", content: [{ type: "input_text", text: "hi" }] },
      ],
    });
  });

  test("a conversation with reasoning, parallel calls, images and an error", () => {
    const request = testRequest(model, { messages: history, tools, thinkingLevel: "high", maxTokens: 2000 });
    expect(toParams(request)).toEqual({
      model: "gpt-5.2",
      stream: true,
      store: false,
      prompt_cache_key: "session-1",
      tools: sentTools,
      reasoning: { effort: "high", summary: "auto" },
      include: ["reasoning.encrypted_content"],
      input: [{ role: "system", content: "Be brief." }, ...sentHistory],
      max_output_tokens: 2000,
    });
  });

  test("the same conversation at the Codex endpoint", () => {
    const request = testRequest(model, { messages: history, tools, thinkingLevel: "off", maxTokens: 2000 });
    expect(toCodexParams(request)).toEqual({
      model: "gpt-5.2",
      stream: true,
      store: false,
      prompt_cache_key: "session-1",
      instructions: "Be brief.",
      tools: sentTools,
      tool_choice: "auto",
      parallel_tool_calls: true,
      reasoning: { effort: "none" },
      include: ["reasoning.encrypted_content"],
      text: { verbosity: "medium" },
      input: sentHistory,
    });
  });

  test("a history of another model keeps its text and calls, not its reasoning, and its ids become valid", () => {
    const other = testModel("anthropic-messages", { id: "claude-opus-4-6" });
    const id = `call_${"x".repeat(70)}|fc_1`;
    const messages = [
      user("Look."),
      assistant(other, [
        { type: "thinking", thinking: "Hm.", thinkingSignature: signature },
        { type: "text", text: "ok", textSignature: '{"phase":"commentary"}' },
        { type: "toolCall", id, name: "functions.read it", arguments: { path: "a" } },
      ]),
      result(id, "text"),
    ];
    const { input } = toParams(testRequest(model, { messages, systemPrompt: "" }));
    const mapped = expect.stringMatching(/^[a-zA-Z0-9_-]{1,40}$/);
    expect(input).toEqual([
      { role: "user", content: [{ type: "input_text", text: "Look." }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "ok" }] },
      { type: "function_call", call_id: mapped, name: "functions_read_it", arguments: '{"path":"a"}' },
      { type: "function_call_output", call_id: mapped, output: "text" },
    ]);
    const ids = JSON.stringify(input).match(/"call_id":"[^"]+"/g);
    expect({ count: ids?.length, different: new Set(ids).size }).toEqual({ count: 2, different: 1 });
  });

  test.each([
    ["that is not signed", { type: "thinking", thinking: "Hm." } as const],
    ["whose signature is no item", { type: "thinking", thinking: "Hm.", thinkingSignature: "c2ln" } as const],
    [
      "that is not encrypted",
      { type: "thinking", thinking: "Hm.", thinkingSignature: '{"type":"reasoning","id":"rs_1"}' } as const,
    ],
  ])("reasoning %s is not sent back", (_, block) => {
    const messages = [user("a"), assistant(model, [block, { type: "text", text: "b" }]), user("c")];
    expect(toParams(testRequest(model, { messages, systemPrompt: "" })).input).toEqual([
      { role: "user", content: [{ type: "input_text", text: "a" }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "b" }] },
      { role: "user", content: [{ type: "input_text", text: "c" }] },
    ]);
  });

  test("reasoning that led to nothing is not sent back", () => {
    const cut = assistant(model, [{ type: "thinking", thinking: "Hm.", thinkingSignature: signature }]);
    const { input } = toParams(
      testRequest(model, { messages: [user("a"), cut, user("b")], systemPrompt: "" }),
    );
    expect(input).toEqual([
      { role: "user", content: [{ type: "input_text", text: "a" }] },
      { role: "user", content: [{ type: "input_text", text: "b" }] },
    ]);
  });

  test("where results cannot hold images, these follow behind the last result", () => {
    const compat = { supportsToolResultImages: false, supportsStore: false, supportsStrictTools: false };
    const request = testRequest({ ...model, compat }, { messages: history, tools, systemPrompt: "" });
    const { input, store, tools: sent } = toParams(request);
    expect({ store, strict: JSON.stringify(sent).includes("strict") }).toEqual({
      store: undefined,
      strict: false,
    });
    expect(Array.isArray(input) && input.slice(-3)).toEqual([
      { type: "function_call_output", call_id: "call_1", output: "shot" },
      { type: "function_call_output", call_id: "call_2", output: "(no output)" },
      { role: "user", content: [picture] },
    ]);
  });

  test("a model without images is told that one was left out", () => {
    const blind = testModel("openai-responses", { input: ["text"] });
    expect(toParams(testRequest(blind, { messages: [user([image])], systemPrompt: "" })).input).toEqual([
      { role: "user", content: [{ type: "input_text", text: "(image left out: this model takes none)" }] },
    ]);
  });

  test("the system prompt is the developer's where the server knows that role", () => {
    const request = testRequest({ ...model, compat: { supportsDeveloperRole: true } });
    expect(toParams(request).input).toMatchObject([
      { role: "developer", content: "Be brief." },
      { role: "user" },
    ]);
  });

  test.each([
    [
      { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false },
      true,
    ],
    [{ type: "object", properties: { a: { type: "string" } }, required: ["a"] }, false],
    [{ type: "object", properties: { a: { type: "string" } }, additionalProperties: false }, false],
    [
      {
        type: "object",
        properties: { a: { type: "array", uniqueItems: true, items: { type: "string" } } },
        required: ["a"],
        additionalProperties: false,
      },
      false,
    ],
    [{ type: "object", properties: {}, additionalProperties: false, anyOf: [{ title: "a" }] }, false],
  ])("the schema of the answer %j is strict: %s", (schema, strict) => {
    const format = { type: "json_schema", name: "answer", schema, strict };
    expect(toParams(testRequest(model, { outputSchema: schema })).text).toEqual({ format });
    expect(toCodexParams(testRequest(model, { outputSchema: schema })).text).toEqual({
      verbosity: "medium",
      format,
    });
  });

  test.each([{ type: "array", items: {} }, { type: "integer" }, {}, { anyOf: [{ type: "object" }] }])(
    "a schema of an answer that need be no object is not sent: %j",
    (outputSchema) => {
      expect(toParams(testRequest(model, { outputSchema }))).not.toHaveProperty("text");
      expect(toCodexParams(testRequest(model, { outputSchema })).text).toEqual({ verbosity: "medium" });
    },
  );

  test("the model's own bound is sent where each request has to state it", () => {
    const bound = { ...model, maxTokens: 5_000, compat: { ...model.compat, sendsMaxTokens: true } };
    expect(toParams(testRequest(bound)).max_output_tokens).toBe(5_000);
    expect(toParams(testRequest(model))).not.toHaveProperty("max_output_tokens");
  });

  test("a bound of the output is never below what the API takes", () => {
    expect(toParams(testRequest(model, { maxTokens: 1 })).max_output_tokens).toBe(16);
  });
});
