import type { RunEntry } from "../runs/registry.ts";
import { findRun, type RunTarget } from "../runs/targets.ts";
import { waitForEnd } from "../runs/wait-for-end.ts";

export type WaitOptions = RunTarget & {
  /** Takes one line. */
  readonly warn: (line: string) => void;
};

/** Waits until a run has ended; gives the run's own exit status. Throws a StartupError when there is no such run. */
export async function waitCommand({ warn, ...target }: WaitOptions): Promise<number> {
  const run = await findRun(target);
  const { signal } = target;
  return statusOf((await waitForEnd(run, { signal })) ?? run, warn);
}

/** The exit status of a run that has ended, with a line on how it ended when that was not well. */
export function statusOf({ record: { id }, result }: RunEntry, warn: (line: string) => void): number {
  if (result === undefined) {
    warn(`the run ${id} was killed, or died, before it could leave its exit status`);
    return 1;
  }
  if (result.status !== 0) {
    const why = result.why === undefined ? "" : `: ${result.why}`;
    warn(`the run ${id} ended with status ${result.status}${why}`);
  }
  return result.status;
}
