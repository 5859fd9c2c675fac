import { readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { errorMessage, StartupError } from "../contract/errors.ts";
import { errorCode } from "../session/store/private-files.ts";
import { mayBeAlive } from "../session/store/process-identity.ts";
import { psStart } from "./process-start.ts";
import { isRunId, type RunRecord, type RunResult, readRecord, readResult } from "./run-folder.ts";

/** A run as its folder tells of it. */
export type RunEntry = {
  readonly folder: string;
  readonly record: RunRecord;
  /** Whether its process is there and has not yet left a result. */
  readonly isLive: boolean;
  readonly result?: RunResult;
};

/**
 * The runs of a folder, the latest started first; none when there is no such folder. What a dead run left on the disk
 * for its clients is removed. Throws a StartupError for a folder that cannot be read.
 */
export function listRuns(runs: string): RunEntry[] {
  return runIds(runs)
    .flatMap((id) => readRun(join(runs, id)) ?? [])
    .sort((a, b) => b.record.startedAt.localeCompare(a.record.startedAt));
}

/** The run of a folder; undefined when there is none. */
export function readRun(folder: string): RunEntry | undefined {
  const record = readRecord(folder);
  if (record === undefined) return undefined;
  const result = readResult(folder, record);
  if (result !== undefined) return { folder, record, isLive: false, result };
  if (isProcessAlive(record)) return { folder, record, isLive: true };
  // Its last words may have been written since.
  const last = readResult(folder, record);
  if (last !== undefined) return { folder, record, isLive: false, result: last };
  rmSync(record.socket, { force: true });
  return { folder, record, isLive: false };
}

/** Whether a run's process is there; a later process with the same number is another one. */
export function isProcessAlive({ process, psStart: start }: RunRecord): boolean {
  if (!mayBeAlive(process)) return false;
  if (process.startTime !== undefined || start === undefined || process.host !== hostname()) return true;
  return psStart(process.pid) === start;
}

/** The ids of the runs of a folder that may hold other things too. */
function runIds(runs: string): string[] {
  try {
    return readdirSync(runs).filter(isRunId);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw new StartupError(`the folder of runs ${runs} cannot be read: ${errorMessage(error)}`);
  }
}

/** How long what a run left is kept. */
const maxAgeMs = 24 * 60 * 60 * 1000;
/** How many runs are kept. */
const maxKept = 200;
/** So many more may gather, so that not every run has to tidy up. */
const slack = 32;
/** How long a start may take that has a folder of its own meanwhile. */
const maxStartMs = 60 * 60 * 1000;

/** Removes old runs when there are many; looks no further than at their number when there are not. Never throws. */
export function pruneWhenMany(runs: string, nowMs: number): void {
  try {
    if (readdirSync(runs).length > maxKept + slack) pruneRuns(runs, nowMs);
  } catch {
    // The next one will try again.
  }
}

/** Removes the runs that ended a day ago, and the oldest that ended where there are too many. */
export function pruneRuns(runs: string, nowMs: number): void {
  let kept = 0;
  for (const { name, modifiedMs } of latestFirst(runs)) {
    const folder = join(runs, name);
    const ageMs = nowMs - modifiedMs;
    if (!isRunId(name)) {
      if (ageMs > maxStartMs) rmSync(folder, { recursive: true, force: true });
    } else if (kept < maxKept && ageMs <= maxAgeMs) kept++;
    else removeEndedRun(runs, name);
  }
}

function latestFirst(runs: string): { name: string; modifiedMs: number }[] {
  return readdirSync(runs)
    .flatMap((name) => {
      const stats = statSync(join(runs, name), { throwIfNoEntry: false });
      return stats === undefined ? [] : [{ name, modifiedMs: stats.mtimeMs }];
    })
    .sort((a, b) => b.modifiedMs - a.modifiedMs);
}

/** Removes what a run left, if there was one and it has ended: in one step, so that nobody sees half a run. */
export function removeEndedRun(runs: string, id: string): void {
  if (readRun(join(runs, id))?.isLive === true) return;
  const gone = join(runs, `.gone-${id}`);
  try {
    renameSync(join(runs, id), gone);
  } catch {
    // There is none, or another process removes it.
    return;
  }
  rmSync(gone, { recursive: true, force: true });
}
