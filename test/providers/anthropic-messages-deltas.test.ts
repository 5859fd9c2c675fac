import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createAnthropicMessages } from "../../src/providers/anthropic-messages.ts";
import {
  ask,
  chunkings,
  readHandWritten,
  readSpec,
  replyingFetch,
  testModel,
  testRequest,
} from "../support/provider-replies.ts";
import { expectRecorded } from "../support/recorded-expectations.ts";

const request = testRequest(testModel("anthropic-messages"));

function reply(body: string | Uint8Array, options: Parameters<typeof replyingFetch>[1] = {}) {
  return ask(createAnthropicMessages, replyingFetch(body, options), request);
}

describe("replies of the Messages API", () => {
  for (const written of readHandWritten("anthropic-messages")) {
    test.each(Object.entries(chunkings))(`${written.name}, %s`, async (_, sizes) => {
      const { headers } = written;
      expectRecorded(await reply(written.body, { sizes, headers }), written, { inputIncludesCached: false });
    });
  }
});

test("the reply's id and model are told", async () => {
  const [text] = readHandWritten("anthropic-messages").filter(({ name }) => name === "text.sse");
  const { responseId, responseModel } = await reply(text?.body ?? "");
  expect({ responseId, responseModel }).toEqual({ responseId: "msg_1", responseModel: "test-model-1" });
});

test("a server that holds the connection open behind message_stop does not hold the reply", async () => {
  const [text] = readHandWritten("anthropic-messages").filter(({ name }) => name === "text.sse");
  expect((await reply(text?.body ?? "", { hang: true })).stopReason).toBe("stop");
});

test.each([
  ["E1b", { text: "Part", kind: "protocol", transient: true }],
  ["E2c", { text: "Part", kind: "overloaded", transient: true }],
])("scripted reply %s", async (name, expected) => {
  const [answer = { body: "" }] = readSpec(name);
  const { text, error } = await reply(answer.body);
  expect({ text, kind: error?.kind, transient: error?.transient }).toEqual(expected);
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
