import { type Usage, zeroUsage } from "../contract/messages.ts";
import type { Model } from "../contract/provider.ts";

/** What a provider call was for. */
export type UsagePurpose = "turn" | "failed_attempt" | "compaction" | "branch_summary";

/** What was used of one model for one purpose. */
export type UsageRow = {
  readonly provider: string;
  readonly model: string;
  readonly purpose: UsagePurpose;
  readonly requests: number;
  readonly usage: Usage;
};

/** Adds up every provider call of a run, the failed ones and those for summaries included. */
export type UsageLedger = {
  add(model: Pick<Model, "provider" | "id">, purpose: UsagePurpose, usage: Usage): void;
  total(): Usage;
  rows(): readonly UsageRow[];
};

/** Starts with nothing used. */
export function createUsageLedger(): UsageLedger {
  const rows = new Map<string, UsageRow>();

  function add({ provider, id }: Pick<Model, "provider" | "id">, purpose: UsagePurpose, usage: Usage): void {
    const key = JSON.stringify([provider, id, purpose]);
    const before = rows.get(key);
    rows.set(key, {
      provider,
      model: id,
      purpose,
      requests: (before?.requests ?? 0) + 1,
      usage: sum([before?.usage ?? zeroUsage(), usage]),
    });
  }

  return {
    add,
    total: () => sum([...rows.values()].map(({ usage }) => usage)),
    rows: () => [...rows.values()],
  };
}

function sum(usages: readonly Usage[]): Usage {
  const total = zeroUsage();
  for (const usage of usages) {
    for (const key of ["input", "output", "cacheRead", "cacheWrite", "totalTokens"] as const)
      total[key] += usage[key];
    for (const key of ["input", "output", "cacheRead", "cacheWrite", "total"] as const)
      total.cost[key] += usage.cost[key];
  }
  return total;
}
