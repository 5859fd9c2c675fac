import type { RunOutcome } from "./contract/outcome.ts";

/** A row of the exit-status table. */
export type ExitRule = {
  readonly name: string;
  readonly status: number;
  readonly when: (outcome: RunOutcome) => boolean;
};

const done: ExitRule = { name: "done", status: 0, when: () => true };

/** The one place where a run's status is decided: the first rule that applies wins, in every mode. */
export const exitRules: readonly ExitRule[] = [
  { name: "SIGHUP", status: 129, when: ({ signal }) => signal === "SIGHUP" },
  { name: "SIGINT", status: 130, when: ({ signal }) => signal === "SIGINT" },
  { name: "SIGTERM", status: 143, when: ({ signal }) => signal === "SIGTERM" },
  { name: "reader gone", status: 141, when: ({ readerGone }) => readerGone === true },
  { name: "start refused", status: 2, when: ({ refused }) => refused !== undefined },
  { name: "failure", status: 1, when: ({ failures }) => failures.length > 0 },
  {
    name: "terminal error",
    status: 1,
    when: ({ terminal }) => terminal?.stopReason === "error" || terminal?.stopReason === "aborted",
  },
  { name: "gate not passed", status: 3, when: ({ gateNotPassed }) => gateNotPassed !== undefined },
  { name: "limit reached", status: 4, when: ({ limit }) => limit !== undefined },
  done,
];

/** The exit status of a run. */
export function exitStatus(outcome: RunOutcome): number {
  return exitRule(outcome).status;
}

/** The rule that decides a run's status. */
export function exitRule(outcome: RunOutcome): ExitRule {
  return exitRules.find((rule) => rule.when(outcome)) ?? done;
}
