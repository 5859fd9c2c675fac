import { statSync } from "node:fs";
import { resolve } from "node:path";
import { StartupError } from "../contract/errors.ts";
import type { Flags } from "../flags/options.ts";
import { goBack, type LeftBranch } from "../session/compaction/branch-summary.ts";
import type { SessionStore } from "../session/store/store.ts";

export type OpenStoreOptions = {
  /** Where sessions are kept. */
  readonly folder: string;
  /** Whose latest session `--continue` means. */
  readonly cwd: string;
  readonly pid: number;
  readonly warn: (line: string) => void;
};

/** Opens the session that `--continue`, `--resume` or `--fork` names; undefined when the run starts a new one. */
export async function openStore(
  flags: Flags,
  { folder, cwd, pid, warn }: OpenStoreOptions,
): Promise<SessionStore | undefined> {
  const { fork, resume, repair } = flags;
  const persist = !flags.noSession;
  if (fork !== undefined) {
    const { forkSession } = await import("../session/store/fork.ts");
    const source = (await sessionIndex()).findSession(folder, fork);
    return forkSession({ source, folder, pid, persist, warn, ...(flags.cwd === undefined ? {} : { cwd }) });
  }
  if (resume === undefined && !flags.continue) return undefined;
  const { openSession } = await import("../session/store/open.ts");
  const path =
    resume === undefined ? await continued(folder, cwd) : (await sessionIndex()).findSession(folder, resume);
  return openSession({ path, pid, persist, repair, warn });
}

/** A run that starts a new session needs nothing that reads others. */
function sessionIndex() {
  return import("../session/store/session-index.ts");
}

async function continued(folder: string, cwd: string): Promise<string> {
  const { latestSession } = await sessionIndex();
  const path = latestSession(folder, cwd);
  if (path === undefined)
    throw new StartupError(
      `there is no session of ${cwd} to continue; leave out --continue, or name one with --resume`,
    );
  return path;
}

/** Goes back to the entry that `--branch` names; gives what is left behind when that is to be summed up. */
export function leftBranch(store: SessionStore, flags: Flags): LeftBranch | undefined {
  if (flags.branch === undefined) return undefined;
  const left = goBack(store, flags.branch);
  return flags.branchSummary ? left : undefined;
}

/** The absolute folder that a run works in: the chosen one, else where the program was started. */
export function workingFolder(chosen: string | undefined, start: string): string {
  const folder = resolve(start, chosen ?? ".");
  if (!isFolder(folder))
    throw new StartupError(
      `the working directory ${chosen ?? folder} is not there or is no directory; pass another with --cwd`,
    );
  return folder;
}

/** The folder that a session was held in, which is where its tools go on. */
export function recordedFolder({ header }: SessionStore): string {
  if (!isFolder(header.cwd))
    throw new StartupError(`the session's working directory ${header.cwd} is gone; pass another with --cwd`);
  return header.cwd;
}

/** Whether the model may rely on a Python process of an earlier run. */
export function hasRunPython(store: SessionStore): boolean {
  return store
    .branch()
    .some(
      (entry) =>
        entry.type === "message" &&
        entry.message.role === "toolResult" &&
        entry.message.toolName === "ipython",
    );
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
