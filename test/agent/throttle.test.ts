import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { throttle } from "../../src/agent/throttle.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function setUp() {
  const passed: [ms: number, value: string][] = [];
  const startMs = Date.now();
  const options = { intervalMs: 100, first: "nothing yet", silenceMs: 1000, maxSilenceMs: 3000 };
  const { push, stop } = throttle(options, (value: string) => passed.push([Date.now() - startMs, value]));
  return { passed, push, stop };
}

test("passes the first value at once and then the newest of each interval", () => {
  const { passed, push } = setUp();
  for (const value of ["a", "b", "c"]) push(value);
  vi.advanceTimersByTime(150);
  push("d");
  vi.advanceTimersByTime(100);
  expect(passed).toEqual([
    [0, "a"],
    [100, "c"],
    [200, "d"],
  ]);
});

test("repeats the last value in a silence, ever more seldom, until there is a new one", () => {
  const { passed, push } = setUp();
  vi.advanceTimersByTime(10_000);
  push("a");
  vi.advanceTimersByTime(1000);
  expect(passed).toEqual([
    [1000, "nothing yet"],
    [3000, "nothing yet"],
    [6000, "nothing yet"],
    [9000, "nothing yet"],
    [10_000, "a"],
    [11_000, "a"],
  ]);
});

test("passes nothing on when it was stopped", () => {
  const { passed, push, stop } = setUp();
  push("a");
  push("b");
  stop();
  push("c");
  vi.advanceTimersByTime(60_000);
  expect(passed).toEqual([[0, "a"]]);
});
