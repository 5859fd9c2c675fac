import { expect, test } from "vitest";
import { ProviderError } from "../../src/contract/errors.ts";
import type { Provider, ProviderEvent } from "../../src/contract/provider.ts";
import { withRedactedReplies } from "../../src/providers/redacted-replies.ts";
import { testModel, testRequest } from "../support/provider-replies.ts";

const key = "sk-test-1234";
const request = testRequest(testModel("openai-completions"));

async function replies(provider: Provider): Promise<ProviderEvent[]> {
  const events: ProviderEvent[] = [];
  const redacted = withRedactedReplies(provider, [key]);
  for await (const event of redacted.stream(request, new AbortController().signal)) events.push(event);
  return events;
}

function saying(...events: ProviderEvent[]): Provider {
  return {
    async *stream() {
      yield* events;
    },
  };
}

test("names, ids, signatures and reasons are cleaned, pieces are not", async () => {
  const provider = saying(
    { type: "meta", responseId: `id-${key}`, responseModel: key },
    { type: "text_start", index: 0 },
    { type: "text_delta", index: 0, delta: key },
    { type: "text_end", index: 0, signature: key },
    { type: "thinking_end", index: 1, signature: `{"a":"${key}"}`, redacted: true },
    { type: "toolcall_start", index: 2, id: key, name: key },
    { type: "toolcall_end", index: 2 },
    { type: "end", stopReason: "stop", stopReasonRaw: key },
  );
  expect(await replies(provider)).toEqual([
    { type: "meta", responseId: "id-[redacted]", responseModel: "[redacted]" },
    { type: "text_start", index: 0 },
    { type: "text_delta", index: 0, delta: key },
    { type: "text_end", index: 0, signature: "[redacted]" },
    { type: "thinking_end", index: 1, signature: '{"a":"[redacted]"}', redacted: true },
    { type: "toolcall_start", index: 2, id: "[redacted]", name: "[redacted]" },
    { type: "toolcall_end", index: 2 },
    { type: "end", stopReason: "stop", stopReasonRaw: "[redacted]" },
  ]);
});

test("an error keeps all but the key", async () => {
  const options = { status: 429, code: key, stopReasonRaw: key, retryAfterMs: 5, transient: false };
  const failing: Provider = {
    // biome-ignore lint/correctness/useYield: it fails before anything
    async *stream() {
      throw new ProviderError("rate_limit", `no: ${key}`, options);
    },
  };
  const thrown = await replies(failing).catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(ProviderError);
  expect(thrown).toMatchObject({
    kind: "rate_limit",
    message: "no: [redacted]",
    ...options,
    code: "[redacted]",
    stopReasonRaw: "[redacted]",
  });
});

test("what is no provider's error passes as it is", async () => {
  const reason = new Error(key);
  const failing: Provider = {
    // biome-ignore lint/correctness/useYield: it fails before anything
    async *stream() {
      throw reason;
    },
  };
  await expect(replies(failing)).rejects.toBe(reason);
});
