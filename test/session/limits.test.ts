import { expect, test } from "vitest";
import { type Usage, zeroUsage } from "../../src/contract/messages.ts";
import { createLimits, type LimitValues } from "../../src/session/limits.ts";
import { createUsageLedger } from "../../src/session/usage.ts";

const model = { provider: "p", id: "m" };

function make(values: LimitValues, earlierGoalTokens = 0) {
  const ledger = createUsageLedger();
  const clock = { ms: 1000 };
  const limits = createLimits({ values, usage: ledger, earlierGoalTokens, now: () => clock.ms });
  const use = (usage: Partial<Usage>, purpose: "turn" | "failed_attempt" | "compaction" = "turn") =>
    ledger.add(model, purpose, { ...zeroUsage(), ...usage });
  return { limits, clock, use };
}

test("without limits nothing is ever reached", () => {
  const { limits, use } = make({});
  use({ input: 1e12, cost: { ...zeroUsage().cost, total: 1e9 } });
  expect([limits.reached(), limits.takeContinuation(), limits.uses()]).toEqual([undefined, undefined, []]);
});

test("turns are the replies that worked", () => {
  const { limits, use } = make({ turns: 2 });
  use({});
  use({}, "failed_attempt");
  use({}, "compaction");
  expect([limits.turns(), limits.reached()]).toEqual([1, undefined]);
  use({});
  expect(limits.reached()).toEqual({
    name: "turns",
    message: "the limit of 2 turns (--autonomous-max-turns)",
  });
});

test("tokens are input, output and what was written to the cache, whatever they were for", () => {
  const { limits, use } = make({ tokens: 100 });
  use({ input: 10, output: 10, cacheRead: 5000, cacheWrite: 10, totalTokens: 5030 });
  use({ input: 20, output: 9 }, "failed_attempt");
  expect([limits.goalTokens(), limits.reached()]).toEqual([59, undefined]);
  use({ input: 41 }, "compaction");
  expect(limits.reached()).toMatchObject({ name: "tokens" });
});

test("time runs from the start on", () => {
  const { limits, clock } = make({ time: 50 });
  clock.ms += 500;
  expect([limits.reached(), limits.uses()]).toEqual([undefined, [{ name: "time", limit: 50, used: 0 }]]);
  limits.start();
  clock.ms += 49.4;
  limits.start();
  expect(limits.reached()).toBeUndefined();
  clock.ms += 0.7;
  expect(limits.reached()).toMatchObject({ name: "time" });
  expect(limits.uses()).toEqual([{ name: "time", limit: 50, used: 50 }]);
});

test("the cost is that of every request", () => {
  const { limits, use } = make({ cost: 0.5 });
  use({ cost: { ...zeroUsage().cost, total: 0.25 } }, "compaction");
  expect(limits.reached()).toBeUndefined();
  use({ cost: { ...zeroUsage().cost, total: 0.25 } }, "failed_attempt");
  expect(limits.reached()).toEqual({
    name: "cost",
    message: "the limit of $0.5 (--max-cost); $0.5 were spent",
  });
});

test("tokens for a goal go on from earlier runs", () => {
  const { limits, use } = make({ goal_tokens: 100 }, 60);
  use({ input: 39 });
  expect(limits.reached()).toBeUndefined();
  use({ output: 1 });
  expect(limits.reached()).toMatchObject({ name: "goal_tokens" });
  expect(limits.uses()).toEqual([{ name: "goal_tokens", limit: 100, used: 100 }]);
});

test("continuations are counted as they are taken, and any other limit is in their way", () => {
  const { limits, use } = make({ continuations: 2, turns: 1 });
  expect([limits.takeContinuation(), limits.takeContinuation()]).toEqual([undefined, undefined]);
  expect(limits.takeContinuation()).toEqual({
    name: "continuations",
    message: "the limit of 2 continuations (--autonomous-max-continuations)",
  });
  expect([limits.continuations(), limits.reached()]).toEqual([2, undefined]);
  use({});
  expect(limits.takeContinuation()).toMatchObject({ name: "turns" });
});
