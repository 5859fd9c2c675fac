import { describe, expect, test } from "vitest";
import { toParams } from "../../../src/providers/anthropic-messages/params.ts";
import { assistant, image, result, tools, user } from "../../support/histories.ts";
import { testModel, testRequest } from "../../support/provider-replies.ts";

const cached = { cache_control: { type: "ephemeral" } };
const model = testModel("anthropic-messages", {
  id: "claude-sonnet-4-5",
  reasoning: true,
  maxTokens: 64_000,
});

describe("the body of a Messages request", () => {
  test("a first prompt", () => {
    expect(toParams(testRequest(model))).toEqual({
      model: "claude-sonnet-4-5",
      max_tokens: 64_000,
      stream: true,
      system: [{ type: "text", text: "Be brief.", ...cached }],
      messages: [{ role: "user", content: [{ type: "text", text: "hi", ...cached }] }],
      thinking: { type: "disabled" },
    });
  });

  test("a conversation with thinking, parallel calls, images and an error", () => {
    const messages = [
      user([{ type: "text", text: "Look." }, image]),
      assistant(model, [
        { type: "thinking", thinking: "Hm.", thinkingSignature: "c2ln" },
        { type: "thinking", thinking: "", thinkingSignature: "c2VjcmV0", redacted: true },
        { type: "text", text: "Reading." },
        { type: "toolCall", id: "toolu_1", name: "read", arguments: { path: "a" } },
        { type: "toolCall", id: "toolu_2", name: "now", arguments: {} },
      ]),
      result("toolu_1", [{ type: "text", text: "shot" }, image]),
      result("toolu_2", "", true),
      user("And now?"),
    ];
    expect(
      toParams(testRequest(model, { messages, tools, thinkingLevel: "low", maxTokens: 20_000 })),
    ).toEqual({
      model: "claude-sonnet-4-5",
      max_tokens: 20_000,
      stream: true,
      system: [{ type: "text", text: "Be brief.", ...cached }],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Look." },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "aW1n" }, ...cached },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Hm.", signature: "c2ln" },
            { type: "redacted_thinking", data: "c2VjcmV0" },
            { type: "text", text: "Reading." },
            { type: "tool_use", id: "toolu_1", name: "read", input: { path: "a" } },
            { type: "tool_use", id: "toolu_2", name: "now", input: {} },
          ],
        },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "toolu_1",
              content: [
                { type: "text", text: "shot" },
                { type: "image", source: { type: "base64", media_type: "image/png", data: "aW1n" } },
              ],
            },
            {
              type: "tool_result",
              tool_use_id: "toolu_2",
              content: [{ type: "text", text: "(no output)" }],
              is_error: true,
            },
            { type: "text", text: "And now?", ...cached },
          ],
        },
      ],
      tools: [
        { name: "now", description: "Tells the time.", input_schema: { type: "object", properties: {} } },
        {
          name: "read",
          description: "Reads a file.",
          input_schema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
          ...cached,
        },
      ],
      thinking: { type: "enabled", budget_tokens: 4096 },
    });
  });

  test("a history of another model keeps its text and calls, not its thinking, and its ids become valid", () => {
    const other = testModel("openai-responses", { id: "gpt-5" });
    const id = `call_${"x".repeat(70)}|fc_1`;
    const messages = [
      user("Look."),
      assistant(other, [
        { type: "thinking", thinking: "Hm.", thinkingSignature: '{"type":"reasoning"}' },
        { type: "thinking", thinking: "unsigned" },
        { type: "text", text: "\n\n" },
        { type: "toolCall", id, name: "functions.read it", arguments: { path: "a" } },
      ]),
      result(id, "text"),
    ];
    const { messages: sent } = toParams(testRequest(model, { messages }));
    const mapped = expect.stringMatching(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(sent).toEqual([
      { role: "user", content: [{ type: "text", text: "Look.", ...cached }] },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: mapped, name: "functions_read_it", input: { path: "a" } }],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: mapped, content: [{ type: "text", text: "text" }], ...cached },
        ],
      },
    ]);
    const ids = JSON.stringify(sent)
      .match(/"(?:tool_use_)?id":"[^"]+"/g)
      ?.map((pair) => pair.split(":")[1]);
    expect(new Set(ids).size).toBe(1);
  });

  test("messages that are empty for this model leave no gap", () => {
    const messages = [
      user("One."),
      assistant(model, [{ type: "thinking", thinking: "unsigned" }]),
      user("  "),
      user("Two."),
    ];
    expect(toParams(testRequest(model, { messages, systemPrompt: "" })).messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "One." },
          { type: "text", text: "Two.", ...cached },
        ],
      },
    ]);
  });

  test("a model without images is told that one was left out", () => {
    const blind = testModel("anthropic-messages", { input: ["text"] });
    expect(toParams(testRequest(blind, { messages: [user([image])] })).messages).toEqual([
      {
        role: "user",
        content: [{ type: "text", text: "(image left out: this model takes none)", ...cached }],
      },
    ]);
  });

  test("at most four places are marked for the cache, however long the conversation", () => {
    const turns = Array.from({ length: 10 }, (_, i) => [
      user(`prompt ${i}`),
      assistant(model, [{ type: "text", text: "ok" }]),
    ]).flat();
    const body = JSON.stringify(toParams(testRequest(model, { messages: [...turns, user("last")], tools })));
    expect(body.split('"cache_control"').length - 1).toBe(4);
  });

  test.each([
    ["a turn that began without thinking", [{ type: "text", text: "Hm." } as const], { type: "disabled" }],
    [
      "a turn that began with thinking",
      [{ type: "thinking", thinking: "Hm.", thinkingSignature: "c2ln" } as const],
      { type: "enabled", budget_tokens: 4096 },
    ],
  ])("%s is continued as it was", (_, first, thinking) => {
    const messages = [
      user("Look."),
      assistant(model, [...first, { type: "toolCall", id: "toolu_1", name: "read", arguments: {} }]),
      result("toolu_1", "a"),
      assistant(model, [{ type: "toolCall", id: "toolu_2", name: "read", arguments: {} }]),
      result("toolu_2", "b"),
    ];
    expect(toParams(testRequest(model, { messages, thinkingLevel: "low" })).thinking).toEqual(thinking);
  });

  test("effort and the schema of the answer share one field", () => {
    const newer = testModel("anthropic-messages", { id: "claude-opus-4-7", reasoning: true });
    const outputSchema = { type: "object", properties: {}, additionalProperties: false };
    expect(toParams(testRequest(newer, { thinkingLevel: "xhigh", outputSchema })).output_config).toEqual({
      effort: "xhigh",
      format: { type: "json_schema", schema: outputSchema },
    });
  });
});
