import { expect, test } from "vitest";
import type { Credentials } from "../../../src/providers/adapter.ts";
import { createOpenAICodex } from "../../../src/providers/openai-responses/codex.ts";
import {
  gather,
  replyingFetch,
  testModel,
  testRequest,
  toEventStream,
} from "../../support/provider-replies.ts";
import { toToken } from "../openai-codex-tokens.ts";

const model = testModel("openai-codex-responses", {
  id: "gpt-5.4-mini",
  provider: "openai-codex",
  baseUrl: "http://127.0.0.1:1/backend-api/codex",
});
const done = { type: "response.completed", response: { id: "resp_1", status: "completed", output: [] } };
const delta = { type: "response.output_text.delta", output_index: 0, delta: "ok" };

async function ask(credentials: Credentials, fetch = replyingFetch(toEventStream([delta, done]))) {
  const reply = await gather(createOpenAICodex({ credentials, fetch }), testRequest(model));
  return { reply, sent: fetch.sent };
}

test.each([
  ["the credentials", { apiKey: toToken({ account: "account-2" }), accountId: "account-1" }, "account-1"],
  ["the token", { apiKey: toToken({ account: "account-2" }) }, "account-2"],
])("a request names the account that %s state", async (_, credentials, account) => {
  const { reply, sent } = await ask(credentials);
  expect(reply.text).toBe("ok");
  expect(sent.map(({ url, headers }) => ({ url, headers }))).toEqual([
    {
      url: "http://127.0.0.1:1/backend-api/codex/responses",
      headers: {
        accept: "text/event-stream",
        authorization: `Bearer ${credentials.apiKey}`,
        "chatgpt-account-id": account,
        "content-type": "application/json",
        "openai-beta": "responses=experimental",
        originator: "base-context",
        session_id: "session-1",
        "user-agent": "base-context",
      },
    },
  ]);
});

test("an expired token is refused before any request", async () => {
  const apiKey = toToken({ account: "a", expires: new Date("2020-01-02T03:04:05Z") });
  const { reply, sent } = await ask({ apiKey });
  expect({ kind: reply.error?.kind, sent }).toEqual({ kind: "auth", sent: [] });
  expect(reply.error?.message).toContain("expired at 2020-01-02T03:04:05");
});

test.each([
  ["an opaque token is sent as it is, without an account", { apiKey: "opaque" }, "Bearer opaque"],
  ["without a token the server decides", {}, undefined],
])("%s", async (_, credentials, authorization) => {
  const { reply, sent } = await ask(credentials);
  expect(reply.text).toBe("ok");
  expect(sent[0]?.headers.authorization).toBe(authorization);
  expect(sent[0]?.headers).not.toHaveProperty("chatgpt-account-id");
});

test.each([
  ["a detail", '{"detail":"Not for this account"}', "Not for this account"],
  ["a nested error", '{"error":{"message":"Nested","code":"bad_thing"}}', "bad_thing"],
  ["a flat message", '{"message":"Flat"}', "Flat"],
  ["text", "no healthy upstream", "no healthy upstream"],
  ["nothing", "", "gave no reason"],
])("an error that is %s keeps its words", async (_, body, words) => {
  const { reply } = await ask(
    { apiKey: "opaque", accountId: "account-1" },
    replyingFetch(body, { status: 400, headers: { "content-type": "application/json" } }),
  );
  expect(reply.error?.message).toContain(words);
});
