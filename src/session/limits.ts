import type { RunLimit } from "../contract/outcome.ts";
import type { UsageLedger } from "./usage.ts";

/** What may be used at most; what is absent has no limit. */
export type LimitValues = {
  /** Prompts of the program's own. */
  readonly continuations?: number;
  /** Replies of the model that worked. */
  readonly turns?: number;
  /** Input, output and what was written to the provider's cache, of every request. */
  readonly tokens?: number;
  /** Milliseconds. */
  readonly time?: number;
  /** US dollars, of every request. */
  readonly cost?: number;
  /** As `tokens`, with what was used for the goal in earlier runs. */
  readonly goal_tokens?: number;
};

export type LimitName = keyof LimitValues;

/** A limit and how much of it is used. */
export type LimitUse = { readonly name: LimitName; readonly limit: number; readonly used: number };

export type LimitsOptions = {
  readonly values: LimitValues;
  readonly usage: Pick<UsageLedger, "total" | "rows">;
  /** What was used for the goal in earlier runs. */
  readonly earlierGoalTokens: number;
  /** Milliseconds; only differences count. */
  readonly now: () => number;
};

/** Counts what a run uses against its limits. */
export type RunLimits = {
  /** Starts the clock, unless it runs already. */
  start(): void;
  /** The limit that another request would pass, if there is one. */
  reached(): RunLimit | undefined;
  /** Counts a prompt of the program's own. Gives the limit instead when there may be no other. */
  takeContinuation(): RunLimit | undefined;
  uses(): readonly LimitUse[];
  /** What counts against the goal's limit since these were made. */
  goalTokens(): number;
  turns(): number;
  continuations(): number;
};

/** Makes the limits of a run's session; what earlier sessions of the run used counts, but not against the goal. */
export function createLimits({ values, usage, earlierGoalTokens, now }: LimitsOptions): RunLimits {
  let startedAt: number | undefined;
  let continuations = 0;
  const tokensBefore = tokens();

  const used: Readonly<Record<LimitName, () => number>> = {
    continuations: () => continuations,
    turns,
    tokens,
    time: () => (startedAt === undefined ? 0 : Math.round(now() - startedAt)),
    cost: () => usage.total().cost.total,
    goal_tokens: () => earlierGoalTokens + goalTokens(),
  };

  function turns(): number {
    return usage.rows().reduce((sum, { purpose, requests }) => sum + (purpose === "turn" ? requests : 0), 0);
  }

  function tokens(): number {
    const { input, output, cacheWrite } = usage.total();
    return input + output + cacheWrite;
  }

  function goalTokens(): number {
    return tokens() - tokensBefore;
  }

  function uses(): LimitUse[] {
    return names.flatMap((name) => {
      const limit = values[name];
      return limit === undefined ? [] : [{ name, limit, used: used[name]() }];
    });
  }

  const firstReached = (wanted: (name: LimitName) => boolean): RunLimit | undefined => {
    const use = uses().find((each) => wanted(each.name) && each.used >= each.limit);
    return use === undefined ? undefined : { name: use.name, message: words[use.name](use) };
  };

  return {
    start() {
      startedAt ??= now();
    },
    reached: () => firstReached((name) => name !== "continuations"),
    takeContinuation() {
      const limit = firstReached(() => true);
      if (limit === undefined) continuations++;
      return limit;
    },
    uses,
    goalTokens,
    turns,
    continuations: () => continuations,
  };
}

const words: Readonly<Record<LimitName, (use: LimitUse) => string>> = {
  turns: ({ limit }) => `the limit of ${count(limit, "turn")} (--autonomous-max-turns)`,
  tokens: ({ limit, used }) =>
    `the limit of ${count(limit, "token")} (--autonomous-max-tokens); ${used} were used`,
  time: ({ limit }) => `the limit of ${limit} ms (--autonomous-timeout-ms)`,
  cost: ({ limit, used }) => `the limit of $${limit} (--max-cost); $${toDollars(used)} were spent`,
  goal_tokens: ({ limit, used }) =>
    `the goal's limit of ${count(limit, "token")} (--goal-token-budget); ${used} were used`,
  continuations: ({ limit }) =>
    `the limit of ${count(limit, "continuation")} (--autonomous-max-continuations)`,
};

const names: readonly LimitName[] = ["turns", "tokens", "time", "cost", "goal_tokens", "continuations"];

function count(value: number, noun: string): string {
  return `${value} ${noun}${value === 1 ? "" : "s"}`;
}

/** Enough digits to tell the smallest price. */
function toDollars(amount: number): string {
  return String(Number(amount.toPrecision(6)));
}
