import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StartupError } from "../contract/errors.ts";
import { monotonicMs } from "../contract/monotonic.ts";
import { findSavedSession } from "../session/store/session-index.ts";
import { listRuns, type RunEntry, readRun } from "./registry.ts";
import { isRunId } from "./run-folder.ts";

/** A run tells its id a moment before it can be found: how long to look for it, in milliseconds. */
const graceMs = 300;
const pollMs = 15;

export type RunTarget = {
  /** The folder of all runs. */
  readonly runs: string;
  /** Where sessions are kept; asked for when no run is meant, to tell of a session whose run is no longer on record. */
  readonly sessions?: () => string;
  /** An id, the unique beginning of one (4 characters or more), or a name. */
  readonly id: string;
  readonly signal: AbortSignal;
};

/**
 * The run that is meant. Of several runs of one name it is the one that is going on. Rejects with a StartupError that
 * lists what there is when there is none, or more than one, and when it is aborted.
 */
export async function findRun({ runs, sessions, id: target, signal }: RunTarget): Promise<RunEntry> {
  const deadline = monotonicMs() + (isRunId(target) ? graceMs : 0);
  for (;;) {
    const found = matching(runs, target);
    const [only, ...others] = found;
    if (others.length > 0) throw ambiguous(target, found);
    if (only !== undefined) return only;
    if (monotonicMs() >= deadline) throw noRecord(sessions, target) ?? unknown(target, listRuns(runs));
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

/** Of a session whose run has ended and is forgotten, or is an editor's; undefined when there is no such session. */
function noRecord(sessions: RunTarget["sessions"], target: string): StartupError | undefined {
  if (sessions === undefined) return undefined;
  try {
    const { id } = findSavedSession(sessions(), target, { byName: true });
    return new StartupError(
      `no run of the session ${id} is on record; base-context show ${id} shows the session, --resume ${id} goes on with it`,
    );
  } catch (error) {
    if (error instanceof StartupError) return undefined;
    throw error;
  }
}

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
