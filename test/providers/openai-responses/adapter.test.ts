import { afterEach, expect, test, vi } from "vitest";
import { ProviderError } from "../../../src/contract/errors.ts";
import type { ProviderFetch } from "../../../src/providers/adapter.ts";
import { createOpenAIResponses } from "../../../src/providers/openai-responses/adapter.ts";
import { assistant, result, user } from "../../support/histories.ts";
import {
  ask,
  gather,
  replyingFetch,
  testModel,
  testRequest,
  toEventStream,
} from "../../support/provider-replies.ts";

const model = testModel("openai-responses", { baseUrl: "http://127.0.0.1:1/v1", headers: { "X-Team": "a" } });
const message = { type: "message", content: [{ type: "output_text", text: "ok" }] };
const stream = toEventStream([
  { type: "response.completed", response: { id: "resp_1", status: "completed", output: [message] } },
]);

afterEach(() => {
  vi.unstubAllEnvs();
});

test("a request goes to the responses endpoint with the key, and with nothing of the environment", async () => {
  for (const name of ["API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID"])
    vi.stubEnv(`OPENAI_${name}`, "from-env");
  vi.stubEnv("OPENAI_BASE_URL", "http://from-env");
  vi.stubEnv("OPENAI_CUSTOM_HEADERS", "x-from-env: from-env");
  const fetch = replyingFetch(stream);
  expect((await ask(createOpenAIResponses, fetch, testRequest(model))).text).toBe("ok");
  const [sent] = fetch.sent;
  expect({ method: sent?.method, url: sent?.url, headers: sent?.headers }).toEqual({
    method: "POST",
    url: "http://127.0.0.1:1/v1/responses",
    headers: {
      accept: "application/json",
      authorization: "Bearer test-key",
      "content-type": "application/json",
      "user-agent": "base-context",
      "x-team": "a",
    },
  });
});

test("without a key no authorization is sent, whatever the environment holds", async () => {
  vi.stubEnv("OPENAI_API_KEY", "from-env");
  const fetch = replyingFetch(stream);
  await gather(createOpenAIResponses({ credentials: {}, fetch }), testRequest(model));
  expect(fetch.sent[0]?.headers.authorization).toBeUndefined();
});

test("half a character in the history is replaced before it is sent", async () => {
  const fetch = replyingFetch(stream);
  const call = { type: "toolCall", id: "a", name: "ls", arguments: { path: "\ud83d" } } as const;
  const messages = [user("a\ud83d b😀"), assistant(model, [call]), result("a", "x\ud83d")];
  await ask(createOpenAIResponses, fetch, testRequest(model, { messages }));
  const text = JSON.stringify(fetch.sent[0]?.body.input);
  expect(text).toContain("a\ufffd b😀");
  expect(text.match(/\ufffd/g)).toHaveLength(3);
  expect(text).not.toMatch(/\\ud83d/);
});

test("what the fetch throws arrives as it was, also when it reads like a time-out", async () => {
  const thrown = new ProviderError("overloaded", "test answered 504 Gateway Timeout", { status: 504 });
  const fetch: ProviderFetch = () => Promise.reject(thrown);
  expect((await ask(createOpenAIResponses, fetch, testRequest(model))).error).toBe(thrown);
});

test("a request is sent once, whatever its failure says about trying again", async () => {
  const fetch = replyingFetch('{"error":{"code":"insufficient_quota","message":"Pay."}}', {
    status: 429,
    headers: { "x-should-retry": "true" },
  });
  const { error } = await ask(createOpenAIResponses, fetch, testRequest(model));
  expect({ sent: fetch.sent.length, kind: error?.kind }).toEqual({ sent: 1, kind: "quota" });
});

test("an abort rejects with its reason", async () => {
  const reason = new Error("stopped");
  const fetch: ProviderFetch = (_, init) =>
    new Promise((_resolve, reject) =>
      init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)),
    );
  const controller = new AbortController();
  const unanswered = createOpenAIResponses({ credentials: {}, fetch }).stream(
    testRequest(model),
    controller.signal,
  );
  const first = unanswered.next();
  controller.abort(reason);
  await expect(first).rejects.toBe(reason);
});
