import type { SessionEntry } from "../contract/entries.ts";
import { isJsonObject, type JsonValue } from "../contract/json.ts";
import { type Usage, zeroUsage } from "../contract/messages.ts";

/** What a branch used, added up entry by entry. */
export type SessionTotals = {
  add(entry: SessionEntry): void;
  /** Of the answers, failed ones included. */
  readonly answers: Usage;
  /** Of the requests for summaries, as far as the session tells. */
  readonly summaries: Usage;
};

/** Starts with nothing used. */
export function createTotals(): SessionTotals {
  const answers = zeroUsage();
  const summaries = zeroUsage();
  return {
    answers,
    summaries,
    add(entry) {
      if (entry.type === "message" && entry.message.role === "assistant")
        addUsage(answers, entry.message.usage);
      if (entry.type === "compaction" || entry.type === "branch_summary")
        addUsage(summaries, summaryUsage(entry.details));
    },
  };
}

function addUsage(sum: Usage, more: Usage): void {
  for (const key of ["input", "output", "cacheRead", "cacheWrite", "totalTokens"] as const)
    sum[key] += more[key];
  for (const key of ["input", "output", "cacheRead", "cacheWrite", "total"] as const)
    sum.cost[key] += more.cost[key];
}

/** What is kept beside a summary; nothing where it is something else. */
function summaryUsage(details: JsonValue | undefined): Usage {
  const usage = isJsonObject(details) && isJsonObject(details.usage) ? details.usage : {};
  const cost = isJsonObject(usage.cost) ? usage.cost : {};
  return {
    input: amount(usage.input),
    output: amount(usage.output),
    cacheRead: amount(usage.cacheRead),
    cacheWrite: amount(usage.cacheWrite),
    totalTokens: amount(usage.totalTokens),
    cost: {
      input: amount(cost.input),
      output: amount(cost.output),
      cacheRead: amount(cost.cacheRead),
      cacheWrite: amount(cost.cacheWrite),
      total: amount(cost.total),
    },
  };
}

function amount(value: JsonValue | undefined): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}
