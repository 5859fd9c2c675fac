import { readdirSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { errorMessage, StartupError } from "../contract/errors.ts";
import { removeEndedRun } from "../runs/registry.ts";
import { acquireLock, type Lock, LockedError } from "../session/store/lock.ts";
import { lockPath } from "../session/store/open.ts";
import { findSavedSession } from "../session/store/session-index.ts";
import { tornPath } from "../session/store/session-repair.ts";

export type RemoveSessionOptions = {
  /** Where sessions are kept. */
  readonly folder: string;
  /** The folder of all runs. */
  readonly runs: string;
  /** The session's id, the unique beginning of one, or its name. */
  readonly id: string;
  /** The process that holds the lock meanwhile. */
  readonly pid: number;
};

/**
 * Removes a session's files and what its last run left; gives the exit status. Throws a StartupError when there is no
 * such session, when it is in use, or when it cannot be removed.
 */
export function removeSession({ folder, runs, id, pid }: RemoveSessionOptions): number {
  const { path, id: whole } = findSavedSession(folder, id, { byName: true });
  const lock = lockToRemove(path, pid);
  try {
    rmSync(path);
    rmSync(tornPath(path), { force: true });
    for (const left of lockLeftovers(path)) rmSync(left, { force: true });
    removeEndedRun(runs, whole);
  } catch (error) {
    throw cannotRemove(path, error);
  } finally {
    lock.release();
  }
  return 0;
}

function lockToRemove(path: string, pid: number): Lock {
  try {
    return acquireLock(lockPath(path), pid);
  } catch (error) {
    if (!(error instanceof LockedError)) throw cannotRemove(path, error);
    const { holder, local } = error;
    const where = local ? "" : ` on the machine ${holder.host}`;
    const stale = local ? "" : `, or remove ${lockPath(path)} if that process is gone`;
    throw new StartupError(
      `the session ${path} is in use by process ${holder.pid}${where}: remove it when that has ended${stale}`,
    );
  }
}

/** What processes left that were killed while they took the lock. */
function lockLeftovers(path: string): string[] {
  const start = `${basename(lockPath(path))}.`;
  const names = readdirSync(dirname(path)).filter((name) => name.startsWith(start));
  return names.map((name) => join(dirname(path), name));
}

function cannotRemove(path: string, error: unknown): StartupError {
  return new StartupError(`cannot remove the session ${path}: ${errorMessage(error)}`);
}
