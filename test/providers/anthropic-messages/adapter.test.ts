import { afterEach, expect, test, vi } from "vitest";
import { ProviderError } from "../../../src/contract/errors.ts";
import type { ProviderFetch } from "../../../src/providers/adapter.ts";
import { createAnthropicMessages } from "../../../src/providers/anthropic-messages/adapter.ts";
import { toAnthropicHeaders } from "../../../src/providers/anthropic-messages/headers.ts";
import {
  ask,
  gather,
  replyingFetch,
  testModel,
  testRequest,
  toEventStream,
} from "../../support/provider-replies.ts";

const model = testModel("anthropic-messages", {
  baseUrl: "http://127.0.0.1:1/anthropic",
  headers: { "X-Team": "a" },
});
const stream = toEventStream([
  { type: "message_start", message: { id: "msg_1", usage: { input_tokens: 1, output_tokens: 1 } } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "ok" } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
  { type: "message_stop" },
]);

afterEach(() => {
  vi.unstubAllEnvs();
});

test("a request goes to the messages endpoint with the key, and with nothing of the environment", async () => {
  vi.stubEnv("ANTHROPIC_API_KEY", "from-env");
  vi.stubEnv("ANTHROPIC_AUTH_TOKEN", "from-env");
  vi.stubEnv("ANTHROPIC_BASE_URL", "http://from-env");
  vi.stubEnv("ANTHROPIC_CUSTOM_HEADERS", "x-from-env: from-env");
  const fetch = replyingFetch(stream);
  await ask(createAnthropicMessages, fetch, testRequest(model));
  const [sent] = fetch.sent;
  expect({ method: sent?.method, url: sent?.url, headers: sent?.headers }).toEqual({
    method: "POST",
    url: "http://127.0.0.1:1/anthropic/v1/messages",
    headers: {
      accept: "application/json",
      "anthropic-version": expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      authorization: "Bearer test-key",
      "content-type": "application/json",
      "user-agent": "base-context",
      "x-api-key": "test-key",
      "x-team": "a",
    },
  });
});

test.each([
  ["a key to Anthropic", "https://api.anthropic.com", "sk-ant-api03-1", { "x-api-key": "sk-ant-api03-1" }],
  [
    "a login's token",
    "https://api.anthropic.com",
    "sk-ant-oat01-1",
    { authorization: "Bearer sk-ant-oat01-1" },
  ],
  [
    "a key to a gateway, in both ways",
    "https://gateway.example/anthropic",
    "k",
    { "x-api-key": "k", authorization: "Bearer k" },
  ],
  ["no key", "https://api.anthropic.com", undefined, {}],
])("%s proves who asks", (_, baseUrl, apiKey, expected) => {
  const { "anthropic-version": version, ...proof } = toAnthropicHeaders(baseUrl, apiKey);
  expect({ version, proof }).toEqual({ version: "2023-06-01", proof: expected });
});

test("without a key no authorization is sent, whatever the environment holds", async () => {
  vi.stubEnv("ANTHROPIC_API_KEY", "from-env");
  const fetch = replyingFetch(stream);
  await gather(createAnthropicMessages({ credentials: {}, fetch }), testRequest(model));
  expect(Object.keys(fetch.sent[0]?.headers ?? {}).sort()).toEqual([
    "accept",
    "anthropic-version",
    "content-type",
    "user-agent",
    "x-team",
  ]);
});

test("half a character in the history is replaced before it is sent", async () => {
  const fetch = replyingFetch(stream);
  const messages = [{ role: "user", content: "a\ud83d b😀", timestamp: 0 } as const];
  await ask(createAnthropicMessages, fetch, testRequest(model, { messages }));
  expect(JSON.stringify(fetch.sent[0]?.body.messages)).toContain("a\ufffd b😀");
});

test("a schema is brought to the form that the API takes, or left out", async () => {
  const fetch = replyingFetch(stream);
  const request = testRequest({ ...model, id: "claude-sonnet-4-5" });
  const schema = { type: "object", properties: { n: { type: "number", minimum: 1 } }, required: ["n"] };
  await ask(createAnthropicMessages, fetch, { ...request, outputSchema: schema });
  await ask(createAnthropicMessages, fetch, { ...request, outputSchema: { description: "anything" } });
  expect(fetch.sent.map(({ body }) => body.output_config)).toEqual([
    {
      format: {
        type: "json_schema",
        schema: expect.objectContaining({ type: "object", additionalProperties: false, required: ["n"] }),
      },
    },
    undefined,
  ]);
});

test("old models and thinking budgets write nothing to the console", async () => {
  const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
  const old = { ...model, id: "claude-opus-4-20250514", reasoning: true };
  await ask(createAnthropicMessages, replyingFetch(stream), testRequest(old, { thinkingLevel: "high" }));
  expect(warn).not.toHaveBeenCalled();
  warn.mockRestore();
});

test.each([
  [new ProviderError("rate_limit", "slow down", { retryAfterMs: 5000 })],
  [new ProviderError("overloaded", "test answered 504 Gateway Timeout", { status: 504 })],
])("what the fetch throws arrives as it was: %s", async (thrown) => {
  const fetch: ProviderFetch = () => Promise.reject(thrown);
  expect((await ask(createAnthropicMessages, fetch, testRequest(model))).error).toBe(thrown);
});

test("a request is sent once, whatever its failure says about trying again", async () => {
  const fetch = replyingFetch('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', {
    status: 529,
    headers: { "x-should-retry": "true", "retry-after": "7" },
  });
  const { error } = await ask(createAnthropicMessages, fetch, testRequest(model));
  expect({ sent: fetch.sent.length, kind: error?.kind, retryAfterMs: error?.retryAfterMs }).toEqual({
    sent: 1,
    kind: "overloaded",
    retryAfterMs: 7000,
  });
});

test("an abort rejects with its reason: before the request, before the reply, within it", async () => {
  const reason = new Error("stopped");
  const waiting: ProviderFetch = (_, init) =>
    new Promise((_resolve, reject) =>
      init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)),
    );
  const aborted = createAnthropicMessages({ credentials: {}, fetch: waiting });
  await expect(aborted.stream(testRequest(model), AbortSignal.abort(reason)).next()).rejects.toBe(reason);

  const controller = new AbortController();
  const unanswered = aborted.stream(testRequest(model), controller.signal).next();
  controller.abort(reason);
  await expect(unanswered).rejects.toBe(reason);

  const within = new AbortController();
  const hanging = abortableFetch(stream.slice(0, 200), within.signal);
  const events = createAnthropicMessages({ credentials: {}, fetch: hanging }).stream(
    testRequest(model),
    within.signal,
  );
  await events.next();
  const rest = (async () => {
    for await (const _ of events);
  })();
  within.abort(reason);
  await expect(rest).rejects.toBe(reason);
});

/** A reply that goes silent and breaks when it is aborted. */
function abortableFetch(text: string, signal: AbortSignal): ProviderFetch {
  return async () =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(text));
          signal.addEventListener("abort", () => controller.error(signal.reason));
        },
      }),
    );
}
