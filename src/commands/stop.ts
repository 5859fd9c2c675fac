import { rmSync } from "node:fs";
import { hostname } from "node:os";
import { errorMessage, StartupError } from "../contract/errors.ts";
import { descendantsOf } from "../runs/descendants.ts";
import type { RunEntry } from "../runs/registry.ts";
import { isProcessAlive } from "../runs/registry.ts";
import { writeResult } from "../runs/run-folder.ts";
import { findRun, type RunTarget } from "../runs/targets.ts";
import { waitForEnd } from "../runs/wait-for-end.ts";

export type StopOptions = RunTarget & {
  /** Kill it and what it started, instead of asking it to end. */
  readonly force: boolean;
  /** Takes one line. */
  readonly warn: (line: string) => void;
};

/** How long a run may take to end, in milliseconds. */
const graceMs = 30_000;
/** What a shell says of a process that SIGKILL ended. */
const killedStatus = 137;

/**
 * Ends a run as SIGTERM does and waits until it has ended. Gives the exit status: 0, also when it had ended before; 1
 * when it does not end. Throws a StartupError when there is no such run or it cannot be signalled.
 */
export async function stopCommand({ force, warn, ...target }: StopOptions): Promise<number> {
  const run = await findRun(target);
  const { signal } = target;
  if (!isProcessAlive(run.record)) {
    warn(`the run ${run.record.id} has ended already`);
    return 0;
  }
  refuseOtherHost(run);
  if (force) kill(run);
  else send(run.record.process.pid, "SIGTERM");
  const ended = await waitForEnd(run, { signal, timeoutMs: graceMs });
  if (ended === undefined) {
    warn(
      `the run ${run.record.id} has not ended after ${graceMs / 1000} s; base-context stop --force kills it`,
    );
    return 1;
  }
  if (force && ended.result === undefined) leaveResult(run);
  return 0;
}

function refuseOtherHost({ record: { id, process } }: RunEntry): void {
  if (process.host !== hostname())
    throw new StartupError(`the run ${id} is one of the machine ${process.host}: stop it there`);
}

/** What a run has started does not end with a run that is killed. */
function kill({ record: { process } }: RunEntry): void {
  const started = descendantsOf(process.pid);
  send(process.pid, "SIGKILL");
  for (const pid of started) send(pid, "SIGKILL");
}

function send(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ESRCH") return;
    throw new StartupError(`the process ${pid} cannot be stopped: ${errorMessage(error)}`);
  }
}

/** A killed run cannot tell how it ended. */
function leaveResult({ folder, record }: RunEntry): void {
  writeResult(folder, {
    process: record.process,
    status: killedStatus,
    why: "killed by stop --force",
    exitedAt: new Date().toISOString(),
  });
  rmSync(record.socket, { force: true });
}
