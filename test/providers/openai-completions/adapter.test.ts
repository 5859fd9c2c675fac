import { afterEach, expect, it, vi } from "vitest";
import { ProviderError } from "../../../src/contract/errors.ts";
import type { ProviderEvent } from "../../../src/contract/provider.ts";
import type { ProviderFetch } from "../../../src/providers/adapter.ts";
import { toResponse } from "../../../src/providers/http/reply.ts";
import type { ServerEvent } from "../../../src/providers/http/sse.ts";
import { createOpenAICompletions } from "../../../src/providers/openai-completions/adapter.ts";
import { toDeltas } from "../../../src/providers/openai-completions/deltas.ts";
import { askFake, collect, type FakeReply, testModel, testRequest, toBody } from "./adapter.fake.ts";

const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: "c1", model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const bytes = (...chunks: string[]) => chunks.map((text) => Buffer.from(text));
const good = bytes(chunk({ content: "ok" }), chunk({}, "stop"), "data: [DONE]\n\n");

afterEach(() => {
  vi.unstubAllEnvs();
  vi.useRealTimers();
});

it("sends the key, the model's headers and nothing that the environment holds for others", async () => {
  vi.stubEnv("OPENAI_API_KEY", "from-env");
  vi.stubEnv("OPENAI_BASE_URL", "http://elsewhere.invalid");
  vi.stubEnv("OPENAI_ORG_ID", "org");
  vi.stubEnv("OPENAI_CUSTOM_HEADERS", "x-secret: 1");
  const model = { ...testModel, headers: { "X-Title": "t" } };
  const { sent } = await askFake({ chunks: good }, { request: testRequest({ model }) });
  expect(sent).toMatchObject([
    {
      url: "http://127.0.0.1:1/v1/chat/completions",
      headers: {
        accept: "application/json",
        authorization: "Bearer key",
        "content-type": "application/json",
        "user-agent": "base-context",
        "x-title": "t",
      },
    },
  ]);
  expect(Object.keys(sent[0]?.headers ?? {})).toHaveLength(5);
});

it("sends no authorization without a key", async () => {
  vi.stubEnv("OPENAI_API_KEY", "from-env");
  const { sent } = await askFake({ chunks: good }, { apiKey: null });
  expect(sent[0]?.headers).not.toHaveProperty("authorization");
});

it("gives events in the order of the wire", async () => {
  const { events } = await askFake({
    chunks: bytes(
      chunk({ role: "assistant", content: "" }),
      chunk({ reasoning_content: "hm" }),
      chunk({ content: "Look" }),
      chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "ls", arguments: "{}" } }] }),
      chunk({ content: "ing" }),
      chunk({}, "tool_calls"),
      "data: [DONE]\n\n",
    ),
  });
  expect(events).toEqual([
    { type: "meta", responseId: "c1", responseModel: "m" },
    { type: "thinking_start", index: 0 },
    { type: "thinking_delta", index: 0, delta: "hm" },
    { type: "thinking_end", index: 0 },
    { type: "text_start", index: 1 },
    { type: "text_delta", index: 1, delta: "Look" },
    { type: "text_end", index: 1 },
    { type: "toolcall_start", index: 2, id: "a", name: "ls" },
    { type: "toolcall_delta", index: 2, delta: "{}" },
    { type: "text_start", index: 3 },
    { type: "text_delta", index: 3, delta: "ing" },
    { type: "activity" },
    { type: "text_end", index: 3 },
    { type: "toolcall_end", index: 2 },
    { type: "end", stopReason: "toolUse", stopReasonRaw: "tool_calls" },
  ]);
});

it("puts reasoning that came in the middle of a text before the call that it led to", async () => {
  const detail = { type: "reasoning.encrypted", data: "c2VhbGVk" };
  const { events } = await askFake({
    chunks: bytes(
      chunk({ content: "Look" }),
      chunk({
        reasoning_details: [detail],
        tool_calls: [{ index: 0, id: "a", function: { name: "ls", arguments: "{}" } }],
      }),
      chunk({}, "tool_calls"),
      "data: [DONE]\n\n",
    ),
  });
  expect(events.slice(3)).toEqual([
    { type: "text_end", index: 0 },
    { type: "thinking_start", index: 1 },
    { type: "thinking_end", index: 1, signature: JSON.stringify([detail]), redacted: true },
    { type: "toolcall_start", index: 2, id: "a", name: "ls" },
    { type: "toolcall_delta", index: 2, delta: "{}" },
    { type: "activity" },
    { type: "toolcall_end", index: 2 },
    { type: "end", stopReason: "toolUse", stopReasonRaw: "tool_calls" },
  ]);
});

it("ends when the server leaves its socket open behind the end mark", async () => {
  const outcome = await askFake({ chunks: good, staysOpen: true });
  expect(outcome).toMatchObject({ text: "ok", stopReason: "stop" });
});

it("ends a moment after the finish reason when neither end mark nor end comes", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const settled = vi.fn();
  const asked = askFake({ chunks: good.slice(0, 2), staysOpen: true });
  asked.then(settled, settled);
  await vi.waitFor(() => expect(settled).toHaveBeenCalled(), { interval: 500, timeout: 20_000 });
  expect(await asked).toMatchObject({ text: "ok", stopReason: "stop" });
});

it("waits for nothing before the finish reason came, and abandons what never ends", async () => {
  const steps: ServerEvent[] = [
    {
      kind: "event",
      name: undefined,
      data: { choices: [{ delta: { content: "ok" }, finish_reason: "stop" }] },
    },
  ];
  async function* events(): AsyncGenerator<ServerEvent> {
    yield* steps;
    await new Promise(() => undefined);
  }
  const abandon = vi.fn();
  const outcome = await collect(
    toDeltas(Object.assign(events(), { abandon }), { provider: "test", graceMs: 1 }),
  );
  expect(outcome).toMatchObject({ text: "ok", stopReason: "stop" });
  expect(abandon).toHaveBeenCalledTimes(1);
});

it.each([
  [{ error: {} }, "the provider gave no reason"],
  [{ error: true, message: "no more" }, "no more"],
  [{ error: { message: "no more" } }, "no more"],
])("does not take the words of the reply for the reason of an error: %j", async (said, reason) => {
  const chunk = {
    id: "c1",
    object: "chat.completion.chunk",
    choices: [{ delta: { content: "ok" } }],
    ...said,
  };
  const { error } = await askFake({ chunks: bytes(`data: ${JSON.stringify(chunk)}\n\n`) });
  expect(error?.message).toBe(`test reported an error: ${reason}`);
});

function replyWith(reply: FakeReply, onReturn?: () => void): ProviderFetch {
  return async (url, init) =>
    toResponse({
      status: 200,
      statusText: "",
      url: String(url),
      headers: new Map(),
      body: toBody(reply, init?.signal ?? undefined, onReturn),
    });
}

it("throws the reason of an abort", async () => {
  const abort = new AbortController();
  const reason = { kind: "signal", signal: "SIGINT" };
  const fetch = replyWith({ chunks: bytes(chunk({ content: "ok" })), staysOpen: true });
  const adapter = createOpenAICompletions({ credentials: {}, fetch });
  const events: ProviderEvent[] = [];
  const run = (async () => {
    for await (const event of adapter.stream(testRequest(), abort.signal)) {
      events.push(event);
      if (event.type === "text_delta") abort.abort(reason);
    }
  })();
  await expect(run).rejects.toBe(reason);
  expect(events.at(-1)).toEqual({ type: "text_delta", index: 0, delta: "ok" });
});

it("throws the reason of an abort that came before, and asks nobody", async () => {
  const signal = AbortSignal.abort("gone");
  const fetch = vi.fn();
  const stream = createOpenAICompletions({ credentials: {}, fetch }).stream(testRequest(), signal);
  await expect(stream.next()).rejects.toBe("gone");
  expect(fetch).not.toHaveBeenCalled();
});

it("lets the connection go when its reader stops early", async () => {
  const onReturn = vi.fn();
  const fetch = replyWith({ chunks: bytes(chunk({ content: "ok" })), staysOpen: true }, onReturn);
  const adapter = createOpenAICompletions({ credentials: {}, fetch });
  for await (const event of adapter.stream(testRequest(), new AbortController().signal))
    if (event.type === "text_delta") break;
  await vi.waitFor(() => expect(onReturn).toHaveBeenCalled());
});

it("passes on what fetch threw", async () => {
  const error = new ProviderError("overloaded", "test answered 504: Gateway timed out");
  const adapter = createOpenAICompletions({
    credentials: {},
    fetch: async () => {
      throw error;
    },
  });
  const { error: thrown } = await collect(adapter.stream(testRequest(), new AbortController().signal));
  expect(thrown).toBe(error);
});

it.each([
  ["nothing at all", "", /without a finish reason/],
  ["comments only", ": ping\n\n: ping\n\n", /without a finish reason/],
  ["the end mark only", "data: [DONE]\n\n", /without a finish reason/],
  ["a whole JSON that is no completion", '{"detail":"not here"}', /not here/],
  ["an array with an error", '[{"error":{"code":503,"message":"high demand"}}]', /high demand/],
  [
    "a call without a name",
    `${chunk({ tool_calls: [{ index: 0, id: "a", function: { arguments: "{}" } }] }, "tool_calls")}data: [DONE]\n\n`,
    /tool call without a name/,
  ],
  ["JSON that is torn", 'data: {"id":"c1","choi\n\ndata: [DONE]\n\n', /not JSON/],
])("takes %s as an error", async (_, body, message) => {
  const outcome = await askFake({ chunks: bytes(body) });
  expect(outcome.stopReason).toBe("error");
  expect(outcome.error?.message).toMatch(message);
});
