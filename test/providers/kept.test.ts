import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../../src/contract/json.ts";
import type { Api, AssistantMessage, ModelMessage, UserContent } from "../../src/contract/messages.ts";
import { zeroUsage } from "../../src/contract/messages.ts";
import type { ProviderRequest } from "../../src/contract/provider.ts";
import { toParams as toAnthropic } from "../../src/providers/anthropic-messages/params.ts";
import { toRequestBody } from "../../src/providers/http/request-body.ts";
import { toParams as toCompletions } from "../../src/providers/openai-completions/params.ts";
import { toCodexParams, toParams as toResponses } from "../../src/providers/openai-responses/params.ts";
import { testModel, testRequest } from "../support/provider-replies.ts";

const apis: [Api, (request: ProviderRequest) => JsonObject, list: string][] = [
  ["openai-completions", toCompletions, "messages"],
  ["openai-responses", toResponses, "input"],
  ["openai-codex-responses", toCodexParams, "input"],
  ["anthropic-messages", toAnthropic, "messages"],
];

const content: fc.Arbitrary<UserContent[]> = fc.array(
  fc.oneof(
    fc.record({ type: fc.constant("text" as const), text: fc.string() }),
    fc.record({
      type: fc.constant("image" as const),
      data: fc.constant("QUJD"),
      mimeType: fc.constant("image/png"),
    }),
  ),
  { minLength: 1, maxLength: 3 },
);
// Ids that every API takes, that none does, and that become alike.
const callId = fc.constantFrom("call_1", "call_2", "fc|a", "fc|b", "fc", "an id", "x".repeat(70));

const messages = (api: Api): fc.Arbitrary<ModelMessage> =>
  fc.oneof(
    content.map((content): ModelMessage => ({ role: "user", content, timestamp: 1 })),
    fc
      .record({ text: fc.string(), ids: fc.array(callId, { maxLength: 3 }), own: fc.boolean() })
      .map(({ text, ids, own }): AssistantMessage => {
        const calls = ids.map((id) => ({
          type: "toolCall" as const,
          id,
          name: "bash",
          arguments: { a: id },
        }));
        return {
          role: "assistant",
          content: [{ type: "text", text }, ...calls],
          api,
          provider: "test",
          model: own ? "test-model" : "another",
          usage: zeroUsage(),
          stopReason: "toolUse",
          timestamp: 2,
        };
      }),
    fc.record({ content, id: callId, isError: fc.boolean() }).map(
      ({ content, id, isError }): ModelMessage => ({
        role: "toolResult",
        toolCallId: id,
        toolName: "bash",
        content,
        isError,
        timestamp: 3,
      }),
    ),
  );

test.each(apis)("%s: a request does not depend on those before it", (api, toParams, list) => {
  const bodyOf = (request: ProviderRequest) =>
    Buffer.concat(toRequestBody(toParams(request), list)).toString();
  fc.assert(
    fc.property(fc.array(messages(api), { maxLength: 12 }), fc.boolean(), (history, takesImages) => {
      const model = testModel(api, { compat: { supportsToolResultImages: takesImages } });
      for (let length = 1; length <= history.length; length++) {
        // Not always from the beginning: a compaction takes the older part away.
        const request = testRequest(model, { messages: history.slice(length > 8 ? 4 : 0, length) });
        expect(bodyOf(request)).toBe(bodyOf(structuredClone(request)));
      }
    }),
  );
});

test.each(apis)(
  "%s: what a request was made of stays as it is when the next ones are made",
  (api, toParams) => {
    fc.assert(
      fc.property(fc.array(messages(api), { maxLength: 12 }), fc.boolean(), (history, takesImages) => {
        const model = testModel(api, { compat: { supportsToolResultImages: takesImages } });
        const made = history.map((_, index) =>
          toParams(testRequest(model, { messages: history.slice(0, index + 1) })),
        );
        const alone = history.map((_, index) =>
          toParams(structuredClone(testRequest(model, { messages: history.slice(0, index + 1) }))),
        );
        expect(made).toEqual(alone);
      }),
    );
  },
);

test.each(apis)("%s: what was in the last request is sent again as it is", (api, toParams, list) => {
  const model = testModel(api);
  const large = "x".repeat(20_000);
  const turn = (id: string): ModelMessage[] => [
    {
      role: "assistant",
      content: [{ type: "toolCall", id, name: "bash", arguments: { command: "true" } }],
      ...{
        api,
        provider: "test",
        model: "test-model",
        usage: zeroUsage(),
        stopReason: "toolUse",
        timestamp: 2,
      },
    },
    {
      role: "toolResult",
      toolCallId: id,
      toolName: "bash",
      content: [{ type: "text", text: large }],
      isError: false,
      timestamp: 3,
    },
  ];
  const history: ModelMessage[] = [
    { role: "user", content: "go", timestamp: 1 },
    ...turn("call_1|fc_1"),
    ...turn("call_2|fc_2"),
    ...turn("call_3|fc_3"),
  ];
  const largeParts = (count: number) => {
    const request = testRequest(model, { messages: history.slice(0, count) });
    return toRequestBody(toParams(request), list).filter((part) => part.length > large.length);
  };
  const earlier = largeParts(7);
  const later = largeParts(7);
  expect(later).toHaveLength(3);
  // The Messages API wants a mark at the end of the last two turns of the user.
  const marked = api === "anthropic-messages" ? 2 : 0;
  for (let index = 0; index < 3 - marked; index++) expect(later[index]).toBe(earlier[index]);
});
