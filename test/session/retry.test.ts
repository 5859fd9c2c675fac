import { expect, test } from "vitest";
import { ProviderError } from "../../src/contract/errors.ts";
import type { AgentSessionEvent } from "../../src/contract/events.ts";
import { createRetrySeries, retryDelayMs } from "../../src/session/retry.ts";

const settings = { enabled: true, maxRetries: 3, baseDelayMs: 2000, maxDelayMs: 60_000 };
const overloaded = new ProviderError("overloaded", "busy");

function setUp(overrides: Partial<typeof settings> = {}) {
  const events: AgentSessionEvent[] = [];
  const deps = {
    settings: { ...settings, ...overrides },
    emit: (event: AgentSessionEvent) => events.push(event),
    redact: (text: string) => text,
    random: () => 0,
  };
  return { events, deps, series: createRetrySeries(deps) };
}

test("waits double from 2 s and end after the third", () => {
  const { deps } = setUp();
  expect([1, 2, 3, 4].map((attempt) => retryDelayMs(overloaded, attempt, deps))).toEqual([
    2000,
    4000,
    8000,
    undefined,
  ]);
});

test("jitter makes a wait at most a quarter longer", () => {
  const { deps } = setUp();
  expect(retryDelayMs(overloaded, 1, { ...deps, random: () => 0.999 })).toBe(2500);
});

test.each([
  ["what the provider asks for is obeyed", 1500, 1500],
  ["to the last millisecond of the longest wait", 60_000, 60_000],
  ["and beyond it there is no attempt", 60_001, undefined],
])("%s", (_, retryAfterMs, delayMs) => {
  const { deps } = setUp();
  const error = new ProviderError("rate_limit", "slow down", { retryAfterMs });
  expect(retryDelayMs(error, 1, deps)).toBe(delayMs);
});

test("no wait is longer than a timer can be, whatever the settings say", () => {
  const { deps } = setUp({ baseDelayMs: Number.MAX_SAFE_INTEGER, maxDelayMs: Number.MAX_SAFE_INTEGER });
  expect(retryDelayMs(overloaded, 1, deps)).toBe(2 ** 31 - 1);
  const inMonths = new ProviderError("rate_limit", "later", { retryAfterMs: 2 ** 31 });
  expect(retryDelayMs(inMonths, 1, deps)).toBeUndefined();
});

test("a failure that stays is not tried again, and tells nothing", async () => {
  const { events, series } = setUp();
  expect(await series.next(new ProviderError("auth", "bad key"), new AbortController().signal)).toBe(false);
  expect(events).toEqual([]);
});

test("a series that works is told with its attempts", async () => {
  const { events, series } = setUp({ baseDelayMs: 1 });
  const { signal } = new AbortController();
  expect([await series.next(overloaded, signal), await series.next(overloaded, signal)]).toEqual([
    true,
    true,
  ]);
  series.succeed();
  series.succeed();
  expect(events).toEqual([
    { type: "auto_retry_start", attempt: 1, maxAttempts: 3, delayMs: 1, errorMessage: "busy" },
    { type: "auto_retry_start", attempt: 2, maxAttempts: 3, delayMs: 2, errorMessage: "busy" },
    { type: "auto_retry_end", success: true, attempt: 2 },
  ]);
});

test("a series that is used up says the last error", async () => {
  const { events, series } = setUp({ baseDelayMs: 1, maxRetries: 1 });
  const { signal } = new AbortController();
  expect([await series.next(overloaded, signal), await series.next(overloaded, signal)]).toEqual([
    true,
    false,
  ]);
  expect(events.at(-1)).toEqual({ type: "auto_retry_end", success: false, attempt: 1, finalError: "busy" });
});

test("an abort ends the wait at once", async () => {
  const { events, series } = setUp();
  const controller = new AbortController();
  const waiting = series.next(overloaded, controller.signal);
  controller.abort();
  expect(await waiting).toBe(false);
  expect(events.at(-1)).toEqual({
    type: "auto_retry_end",
    success: false,
    attempt: 1,
    finalError: "aborted while waiting to try again after: busy",
  });
});
