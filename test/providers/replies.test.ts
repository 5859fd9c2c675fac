import { describe, expect, test } from "vitest";
import type { Api } from "../../src/contract/messages.ts";
import type { CreateAdapter } from "../../src/providers/adapter.ts";
import { createAnthropicMessages } from "../../src/providers/anthropic-messages/adapter.ts";
import { createOpenAIResponses } from "../../src/providers/openai-responses/adapter.ts";
import { createOpenAICodex } from "../../src/providers/openai-responses/codex.ts";
import {
  ask,
  chunkings,
  readHandWritten,
  readRecordings,
  readSpec,
  recordingsFolder,
  replyingFetch,
  testModel,
  testRequest,
} from "../support/provider-replies.ts";
import { expectRecorded } from "../support/recorded-expectations.ts";

if (recordingsFolder === undefined)
  console.warn("BASE_CONTEXT_FIXTURES is not set: recorded replies are skipped");

const recorded: [folder: string, Api, CreateAdapter, inputIncludesCached: boolean][] = [
  ["anthropic", "anthropic-messages", createAnthropicMessages, false],
  ["openai-responses", "openai-responses", createOpenAIResponses, true],
  ["openai-codex", "openai-codex-responses", createOpenAICodex, true],
];

describe.skipIf(recordingsFolder === undefined).each(recorded)(
  "recorded replies: %s",
  (folder, api, createAdapter, inputIncludesCached) => {
    for (const recording of readRecordings(folder)) {
      test.each(Object.entries(chunkings))(`${recording.name}, %s`, async (_, sizes) => {
        const { status, headers, model } = recording;
        const fetch = replyingFetch(recording.body, { sizes, status, headers });
        const reply = await ask(createAdapter, fetch, testRequest(testModel(api, { id: model })));
        expectRecorded(reply, recording, { inputIncludesCached });
      });
    }
  },
);

type Scripted = readonly [
  spec: string,
  expected: { readonly text: string; readonly kind: string; readonly transient: boolean },
];

const written: [Api, CreateAdapter, { responseId: string; inputIncludesCached: boolean }, Scripted[]][] = [
  [
    "anthropic-messages",
    createAnthropicMessages,
    { responseId: "msg_1", inputIncludesCached: false },
    [
      ["E1b", { text: "Part", kind: "protocol", transient: true }],
      ["E2c", { text: "Part", kind: "overloaded", transient: true }],
    ],
  ],
  [
    "openai-responses",
    createOpenAIResponses,
    { responseId: "resp_1", inputIncludesCached: true },
    [
      ["E1c", { text: "half", kind: "protocol", transient: true }],
      ["E2d", { text: "", kind: "quota", transient: false }],
      ["E2e", { text: "", kind: "overloaded", transient: true }],
    ],
  ],
];

describe.each(written)("%s", (api, createAdapter, { responseId, inputIncludesCached }, scripted) => {
  const reply = (body: string | Uint8Array, options: Parameters<typeof replyingFetch>[1] = {}) =>
    ask(createAdapter, replyingFetch(body, options), testRequest(testModel(api)));
  const text = readHandWritten(api).find(({ name }) => name === "text.sse")?.body ?? "";

  for (const { name, body, headers, ...rest } of readHandWritten(api)) {
    test.each(Object.entries(chunkings))(`${name}, %s`, async (_, sizes) => {
      expectRecorded(
        await reply(body, { sizes, headers }),
        { name, body, headers, ...rest },
        { inputIncludesCached },
      );
    });
  }

  test("the reply's id and model are told", async () => {
    expect(await reply(text)).toMatchObject({ responseId, responseModel: "test-model-1" });
  });

  test("a server that holds the connection open behind the end does not hold the reply", async () => {
    expect((await reply(text, { hang: true })).stopReason).toBe("stop");
  });

  test.each(scripted)("scripted reply %s", async (name, expected) => {
    const [answer = { body: "" }] = readSpec(name);
    const { text, error } = await reply(answer.body);
    expect({ text, kind: error?.kind, transient: error?.transient }).toEqual(expected);
  });
});
