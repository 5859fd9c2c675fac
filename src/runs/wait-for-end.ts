import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { monotonicMs } from "../contract/monotonic.ts";
import { isProcessAlive, type RunEntry, readRun } from "./registry.ts";
import { isSame } from "./run-folder.ts";

export type WaitOptions = {
  readonly signal: AbortSignal;
  /** How long to wait; absent: as long as it takes. */
  readonly timeoutMs?: number;
};

const firstPollMs = 10;
const maxPollMs = 100;

/**
 * Waits until a run's process is gone, and gives what it left; undefined when it is still there after the time. Rejects
 * when it is aborted.
 */
export async function waitForEnd(
  run: RunEntry,
  { signal, timeoutMs = Number.POSITIVE_INFINITY }: WaitOptions,
): Promise<RunEntry | undefined> {
  const deadline = monotonicMs() + timeoutMs;
  for (let pollMs = firstPollMs; ; pollMs = Math.min(maxPollMs, pollMs * 1.5)) {
    if (isOver(run) && !isThere(run)) return latest(run);
    if (monotonicMs() > deadline) return undefined;
    await sleep(pollMs, undefined, { signal });
  }
}

/** Whether a run has left its result, or died without one. */
export function isOver(run: RunEntry): boolean {
  return !latest(run).isLive;
}

/** The run as its folder tells of it now; a later run of the same session may have taken its place. */
function latest(run: RunEntry): RunEntry {
  const now = readRun(run.folder);
  const isOurs = now !== undefined && isSame(now.record.process, run.record.process);
  return isOurs ? now : { ...run, isLive: isProcessAlive(run.record) };
}

/** Whether the process still ends; of one of another machine nobody here can tell. */
function isThere({ record }: RunEntry): boolean {
  return record.process.host === hostname() && isProcessAlive(record);
}
