import { StartupError } from "../contract/errors.ts";
import { connectRun } from "../runs/client.ts";
import { logEnd } from "../runs/event-log.ts";
import { followLines } from "../runs/follow-log.ts";
import type { RunEntry } from "../runs/registry.ts";
import { runPaths } from "../runs/run-folder.ts";
import { findRun, type RunTarget } from "../runs/targets.ts";
import { isOver, waitForEnd } from "../runs/wait-for-end.ts";
import { statusOf } from "./wait.ts";

export type AttachOptions = RunTarget & {
  /** Leave out what a resident run has told before. */
  readonly fromNow: boolean;
  /** Takes one line. */
  readonly warn: (line: string) => void;
};

/** Shows lines of a delta stream as they come, each when there is room for it. */
export type View = (lines: AsyncIterable<string>) => Promise<void>;

/**
 * Shows the events of a run until it ends: those of a resident run from the beginning, of others from now on. Gives the
 * run's own exit status. When it is aborted the run goes on. Throws a StartupError when there is no such run, or nothing
 * to show of it.
 */
export async function attachCommand(options: AttachOptions, view: View): Promise<number> {
  const { signal, warn } = options;
  const run = await findRun(options);
  if (!run.isLive && !run.record.resident) throw nothingKept(run);
  if (run.record.resident && !options.fromNow) await view(keptLines(run, options));
  else if (run.isLive) await view(liveLines(run, options));
  return statusOf((await waitForEnd(run, { signal })) ?? run, warn);
}

async function* keptLines(run: RunEntry, { signal, warn }: AttachOptions): AsyncGenerator<string> {
  const end = JSON.stringify(logEnd);
  for await (const line of followLines(runPaths(run.folder).events, { isOver: () => isOver(run), signal })) {
    if (line === end) warn("the run has kept no more events than these; show has the whole session");
    else yield line;
  }
}

async function* liveLines(run: RunEntry, { signal }: AttachOptions): AsyncGenerator<string> {
  const connection = await connectRun(run, { signal });
  const leave = () => connection.close();
  signal.addEventListener("abort", leave, { once: true });
  try {
    await connection.request({ type: "attach" });
    yield* connection.lines();
  } finally {
    signal.removeEventListener("abort", leave);
    connection.close();
  }
  signal.throwIfAborted();
  if (await isReachable(run, signal))
    throw new StartupError(
      `the run ${run.record.id} goes on, but its events were read too slowly; attach again to see what comes`,
    );
}

/** A run that ends takes no more clients; one that dropped a client who did not read takes the next. */
async function isReachable(run: RunEntry, signal: AbortSignal): Promise<boolean> {
  try {
    (await connectRun(run, { signal, timeoutMs: 0 })).close();
    return true;
  } catch {
    return false;
  }
}

function nothingKept({ record: { id } }: RunEntry): StartupError {
  return new StartupError(
    `the run ${id} has ended and was not resident, so that it kept no events; base-context show ${id} shows its session`,
  );
}
