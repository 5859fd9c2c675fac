import { describe, test } from "vitest";
import { createOpenAIResponses } from "../../../src/providers/openai-responses/adapter.ts";
import {
  ask,
  chunkings,
  readRecordings,
  recordingsFolder,
  replyingFetch,
  testModel,
  testRequest,
} from "../../support/provider-replies.ts";
import { expectRecorded } from "../../support/recorded-expectations.ts";

if (recordingsFolder === undefined)
  console.warn("BASE_CONTEXT_FIXTURES is not set: recorded replies are skipped");

describe.skipIf(recordingsFolder === undefined)("recorded replies of the openai-responses API", () => {
  for (const recording of readRecordings("openai-responses")) {
    test.each(Object.entries(chunkings))(`${recording.name}, %s`, async (_, sizes) => {
      const { status, headers, model } = recording;
      const fetch = replyingFetch(recording.body, { sizes, status, headers });
      const request = testRequest(testModel("openai-responses", { id: model }));
      const reply = await ask(createOpenAIResponses, fetch, request);
      expectRecorded(reply, recording, { inputIncludesCached: true });
    });
  }
});
