import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ProviderError } from "../../src/contract/errors.ts";
import type { Provider, ProviderEvent, ProviderRequest } from "../../src/contract/provider.ts";
import { withTimeLimits } from "../../src/providers/time-limits.ts";

const request: ProviderRequest = {
  model: {
    id: "m",
    name: "m",
    provider: "acme",
    api: "openai-completions",
    baseUrl: "http://127.0.0.1:9/v1",
    reasoning: false,
    input: ["text"],
    contextWindow: 1000,
    maxTokens: 100,
    headers: {},
    compat: {},
  },
  systemPrompt: "",
  messages: [],
  tools: [],
  thinkingLevel: "off",
  sessionId: "s",
};

const timeouts = { firstEventMs: 300, idleMs: 120 };
const activity: ProviderEvent = { type: "activity" };
const end: ProviderEvent = { type: "end", stopReason: "stop" };

/** Gives each event after its delay; a delay without an event never ends. */
function scripted(steps: readonly { afterMs: number; event: ProviderEvent | "silence" }[]) {
  const seen: { signal?: AbortSignal } = {};
  const provider: Provider = {
    async *stream(_, signal) {
      seen.signal = signal;
      for (const { afterMs, event } of steps) {
        if (afterMs > 0) await new Promise((resolve) => setTimeout(resolve, afterMs));
        if (event === "silence") await new Promise(() => undefined);
        else yield event;
      }
    },
  };
  return { provider, seen };
}

async function read(provider: Provider, signal: AbortSignal, events: ProviderEvent[]): Promise<unknown> {
  try {
    for await (const event of withTimeLimits(provider, timeouts).stream(request, signal)) events.push(event);
    return undefined;
  } catch (thrown) {
    return thrown;
  }
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

it("lets a reply through that is within its limits", async () => {
  const { provider } = scripted([
    { afterMs: 299, event: activity },
    { afterMs: 119, event: activity },
    { afterMs: 119, event: end },
  ]);
  const events: ProviderEvent[] = [];
  const result = read(provider, new AbortController().signal, events);
  await vi.runAllTimersAsync();
  expect([await result, events]).toEqual([undefined, [activity, activity, end]]);
});

it.each([
  [
    "before the first event",
    [{ afterMs: 0, event: "silence" as const }],
    300,
    [],
    "acme did not start to answer within 0.3 s; timeouts.firstEventMs in settings.json sets the limit",
  ],
  [
    "between two events",
    [
      { afterMs: 10, event: activity },
      { afterMs: 0, event: "silence" as const },
    ],
    130,
    [activity],
    "acme sent nothing for 0.12 s; timeouts.idleMs in settings.json sets the limit",
  ],
])("ends a silence %s and the request with it", async (_, steps, atMs, expected, message) => {
  const { provider, seen } = scripted(steps);
  const events: ProviderEvent[] = [];
  const result = read(provider, new AbortController().signal, events);
  await vi.advanceTimersByTimeAsync(atMs - 1);
  expect(seen.signal?.aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(seen.signal?.aborted).toBe(true);
  expect(events).toEqual(expected);
  const error = await result;
  expect(error).toBeInstanceOf(ProviderError);
  expect(error).toMatchObject({ kind: "timeout", transient: true, message });
});

it("does not count the time that the consumer takes", async () => {
  const { provider } = scripted([
    { afterMs: 0, event: activity },
    { afterMs: 0, event: end },
  ]);
  const events = withTimeLimits(provider, timeouts).stream(request, new AbortController().signal);
  expect(await events.next()).toEqual({ done: false, value: activity });
  await vi.advanceTimersByTimeAsync(1_000_000);
  expect(await events.next()).toEqual({ done: false, value: end });
  expect(await events.next()).toEqual({ done: true, value: undefined });
});

it.each(["before the first event", "between two events"])(
  "rejects with the reason of an abort at once: %s",
  async (when) => {
    const first = when === "between two events" ? [{ afterMs: 0, event: activity }] : [];
    const { provider, seen } = scripted([...first, { afterMs: 0, event: "silence" }]);
    const controller = new AbortController();
    const events: ProviderEvent[] = [];
    const result = read(provider, controller.signal, events);
    await vi.advanceTimersByTimeAsync(0);
    const reason = { kind: "signal", signal: "SIGINT" };
    controller.abort(reason);
    expect(await result).toBe(reason);
    expect(seen.signal?.reason).toBe(reason);
    expect(events).toHaveLength(first.length);
  },
);

it("asks nothing of the provider when it is aborted already", async () => {
  const { provider, seen } = scripted([{ afterMs: 0, event: end }]);
  expect(await read(provider, AbortSignal.abort("stop"), [])).toBe("stop");
  expect(seen.signal).toBeUndefined();
});

it("passes on what the provider throws", async () => {
  const error = new ProviderError("quota", "used up");
  const provider: Provider = {
    // biome-ignore lint/correctness/useYield: it fails before its first event
    async *stream() {
      throw error;
    },
  };
  expect(await read(provider, new AbortController().signal, [])).toBe(error);
});

it("ends the provider's reply when the consumer stops", async () => {
  let ended = false;
  const provider: Provider = {
    async *stream() {
      try {
        yield activity;
        yield end;
      } finally {
        ended = true;
      }
    },
  };
  for await (const _ of withTimeLimits(provider, timeouts).stream(request, new AbortController().signal))
    break;
  expect(ended).toBe(true);
});

it("takes limits that no timer can hold", async () => {
  const { provider } = scripted([{ afterMs: 5, event: end }]);
  const limited = withTimeLimits(provider, { firstEventMs: Number.MAX_SAFE_INTEGER, idleMs: 2 ** 40 });
  const first = limited.stream(request, new AbortController().signal);
  const next = first.next();
  await vi.advanceTimersByTimeAsync(5);
  expect(await next).toEqual({ done: false, value: end });
  await first.next();
});
