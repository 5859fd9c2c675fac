import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StartupError } from "../contract/errors.ts";
import { monotonicMs } from "../contract/monotonic.ts";
import { listRuns, type RunEntry, readRun } from "./registry.ts";
import { isRunId } from "./run-folder.ts";

/** A run tells its id a moment before it can be found: how long to look for it, in milliseconds. */
const graceMs = 300;
const pollMs = 15;

/**
 * The run that an id, the unique beginning of one (4 characters or more), or a name means. Of several runs of one name
 * the one that is going on is meant. Rejects with a StartupError that lists what there is when there is none, or more
 * than one, and when it is aborted.
 */
export async function findRun(runs: string, target: string, signal: AbortSignal): Promise<RunEntry> {
  const deadline = monotonicMs() + (isRunId(target) ? graceMs : 0);
  for (;;) {
    const found = matching(runs, target);
    const [only, ...others] = found;
    if (others.length > 0) throw ambiguous(target, found);
    if (only !== undefined) return only;
    if (monotonicMs() >= deadline) throw unknown(target, listRuns(runs));
    await sleep(pollMs, undefined, { signal });
  }
}

function matching(runs: string, target: string): RunEntry[] {
  const exact = isRunId(target) ? readRun(join(runs, target)) : undefined;
  if (exact !== undefined) return [exact];
  const all = listRuns(runs);
  const byName = all.filter(({ record }) => record.name === target);
  const live = byName.filter(({ isLive }) => isLive);
  const named = new Set(live.length > 0 ? live : byName);
  return all.filter((run) => named.has(run) || (isRunId(target) && run.record.id.startsWith(target)));
}

const maxListed = 10;

function unknown(target: string, all: readonly RunEntry[]): StartupError {
  const live = all.filter(({ isLive }) => isLive);
  const known =
    live.length > 0
      ? `running: ${candidates(live)}`
      : all.length > 0
        ? `none is running, ended: ${candidates(all)}`
        : "there is none";
  return new StartupError(
    `no run has the id or name ${JSON.stringify(target)} (${known}); base-context list --all shows them`,
  );
}

function ambiguous(target: string, found: readonly RunEntry[]): StartupError {
  return new StartupError(
    `${JSON.stringify(target)} means more than one run: ${candidates(found)}; give more of the id`,
  );
}

function candidates(runs: readonly RunEntry[]): string {
  const shown = runs
    .slice(0, maxListed)
    .map(({ record: { id, name } }) => (name === undefined ? id : `${id} (${name})`));
  const more = runs.length > maxListed ? ` and ${runs.length - maxListed} more` : "";
  return shown.join(", ") + more;
}
