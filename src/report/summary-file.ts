import { errorMessage } from "../contract/errors.ts";
import type { JsonObject, JsonValue } from "../contract/json.ts";
import { zeroUsage } from "../contract/messages.ts";
import type { RunOutcome } from "../contract/outcome.ts";
import { redactValue } from "../contract/redact.ts";
import { exitRule } from "../exit-status.ts";
import type { AgentSession } from "../session/agent-session.ts";
import type { WorkTree } from "../session/autonomous/work-tree.ts";
import { collectFiles } from "../session/compaction/files.ts";
import { toAgentMessages } from "../session/context/context.ts";
import type { UsageLedger } from "../session/usage.ts";
import type { AutonomousReport } from "../start/autonomous-setup.ts";
import { writeOutputFile } from "./output-file.ts";

/** What a summary is made from; without `run` the start was refused or ended early. */
export type SummarySources = {
  readonly outcome: RunOutcome;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly run?: {
    readonly session: AgentSession;
    readonly autonomous: AutonomousReport;
    /** The work tree as it was before the first prompt. */
    readonly before: WorkTree | undefined;
  };
};

/** Follows a run to its end, to write what it came to into a file. */
export type SummaryFile = {
  /** Takes the run that has started. */
  follow(run: { readonly session: AgentSession; readonly autonomous: AutonomousReport }): Promise<void>;
  /** Writes the file, whole or not at all. Gives what went wrong, in words, or undefined. */
  write(outcome: RunOutcome, redact: (text: string) => string): Promise<string | undefined>;
};

/** Makes what writes the summary of a run. `startedAt` is in milliseconds since the epoch. */
export function createSummaryFile({
  path,
  cwd,
  startedAt,
}: {
  readonly path: string;
  readonly cwd: string;
  readonly startedAt: number;
}): SummaryFile {
  let run: SummarySources["run"];
  return {
    async follow({ session, autonomous }) {
      const { readWorkTree } = await import("../session/autonomous/work-tree.ts");
      run = { session, autonomous, before: await readWorkTree(autonomous.workTree) };
    },
    async write(outcome, redact) {
      const sources = { outcome, startedAt, endedAt: Date.now(), ...(run === undefined ? {} : { run }) };
      try {
        const summary = redactValue(await toSummary(sources), redact);
        await writeOutputFile(path, `${JSON.stringify(summary, null, 2)}\n`, cwd);
        return undefined;
      } catch (error) {
        return `the summary could not be written to ${path}: ${errorMessage(error)}`;
      }
    },
  };
}

/** What a run came to, in the order in which docs/autonomous.md tells it. */
export async function toSummary(sources: SummarySources): Promise<JsonObject> {
  const { outcome, startedAt, endedAt, run } = sources;
  const { status, name } = exitRule(outcome);
  const { session, autonomous } = run ?? {};
  return {
    sessionId: session?.store.header.id ?? null,
    sessionFile: session?.store.path ?? null,
    status,
    reason: name,
    message: words(outcome),
    stopReason: outcome.terminal?.stopReason ?? null,
    limit: outcome.limit?.name ?? null,
    startedAt: new Date(startedAt).toISOString(),
    durationMs: endedAt - startedAt,
    turns: autonomous?.limits.turns() ?? 0,
    continuations: autonomous?.limits.continuations() ?? 0,
    usage: toUsage(session?.ledger),
    gates: toGates(autonomous),
    limits: toLimits(autonomous),
    goal: toGoal(autonomous),
    filesChanged: run === undefined ? [] : await filesChanged(run),
  };
}

/** What an end other than a good one was for. */
function words({ refused, failures, terminal, gateNotPassed, limit }: RunOutcome): string | null {
  const failed = failures.length > 0 ? failures.map(({ message }) => message).join("; ") : undefined;
  return refused ?? failed ?? terminal?.errorMessage ?? gateNotPassed ?? limit?.message ?? null;
}

function toUsage(ledger: UsageLedger | undefined): JsonObject {
  const rows = (ledger?.rows() ?? []).map(({ usage, ...row }) => ({ ...row, ...usage }));
  return { total: { ...(ledger?.total() ?? zeroUsage()) }, byModelAndPurpose: rows };
}

function toGates(autonomous: AutonomousReport | undefined): JsonValue[] {
  return (autonomous?.gates.results() ?? []).map(({ command, result }) => {
    if (result === undefined) return { command, outcome: "not_run" };
    const { attempt, outcome, end } = result;
    return { command, outcome, attempt, exit: end.exitCode ?? null, durationMs: end.durationMs };
  });
}

function toLimits(autonomous: AutonomousReport | undefined): JsonObject {
  const uses = autonomous?.limits.uses() ?? [];
  return Object.fromEntries(
    uses.map(({ name, limit, used }) => [name, { limit, used: Math.round(used * 1e6) / 1e6 }]),
  );
}

function toGoal(autonomous: AutonomousReport | undefined): JsonValue {
  const goal = autonomous?.goal;
  return goal === undefined ? null : { text: goal.text, reached: goal.isReached() };
}

/** By the work tree; where that could not be looked at, by what the model's calls of edit and write say. */
async function filesChanged({
  session,
  autonomous,
  before,
}: NonNullable<SummarySources["run"]>): Promise<string[]> {
  const { changedFiles, readWorkTree } = await import("../session/autonomous/work-tree.ts");
  const after = before === undefined ? undefined : await readWorkTree(autonomous.workTree);
  if (before !== undefined && after !== undefined) return changedFiles(before, after, autonomous.workTree);
  return [...collectFiles(session.store.branch().flatMap(toAgentMessages)).modifiedFiles].sort();
}
