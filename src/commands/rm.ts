import { rmSync } from "node:fs";
import { errorMessage, StartupError } from "../contract/errors.ts";
import { findSavedSession } from "../session/session-index.ts";
import { tornPath } from "../session/session-repair.ts";
import { lockSession } from "../session/store-open.ts";

export type RemoveSessionOptions = {
  /** Where sessions are kept. */
  readonly folder: string;
  /** The session's id, the unique beginning of one, or its name. */
  readonly id: string;
  /** The process that holds the lock meanwhile. */
  readonly pid: number;
};

/**
 * Removes a session's files; gives the exit status. Throws a StartupError when there is no such session, when it is in
 * use, or when it cannot be removed.
 */
export function removeSession({ folder, id, pid }: RemoveSessionOptions): number {
  const { path } = findSavedSession(folder, id, { byName: true });
  const lock = lockSession(path, pid);
  try {
    rmSync(path);
    rmSync(tornPath(path), { force: true });
  } catch (error) {
    throw new StartupError(`cannot remove the session ${path}: ${errorMessage(error)}`);
  } finally {
    lock.release();
  }
  return 0;
}
