import type { Model, ThinkingLevel } from "../contract/provider.ts";
import { shownMessages } from "./context/context.ts";
import type { SessionStore } from "./store/store.ts";
import type { UsageLedger } from "./usage.ts";

export type SessionFacts = {
  readonly store: SessionStore;
  readonly ledger: UsageLedger;
  readonly model: Model;
  readonly thinkingLevel: ThinkingLevel;
};

/** Facts about a session, one a line, for a person. The usage is that of this run. */
export function describeSession({ store, ledger, model, thinkingLevel }: SessionFacts): string {
  const { input, output, cacheRead, cacheWrite, cost } = ledger.total();
  const { name } = store.settings();
  const messages = shownMessages(store.branch()).length;
  const rows: readonly (readonly [string, string | number | undefined])[] = [
    ["id", store.header.id],
    ["name", name],
    ["file", store.path ?? "not kept"],
    ["directory", store.header.cwd],
    ["model", `${model.provider}/${model.id}`],
    ["thinking", thinkingLevel],
    ["messages in context", messages],
    ["tokens", `${input} in, ${output} out, ${cacheRead} cache read, ${cacheWrite} cache write`],
    ["cost", model.cost === undefined ? "unknown" : `$${cost.total.toFixed(4)}`],
  ];
  return rows.flatMap(([label, value]) => (value === undefined ? [] : [`${label}: ${value}`])).join("\n");
}
