import { StartupError } from "../../contract/errors.ts";
import { loadBranch } from "./branch.ts";
import { acquireLock, type Lock, LockedError } from "./lock.ts";
import { openSessionFile, type SessionFile } from "./session-file.ts";
import { readHeader, sessionFilePath } from "./session-header.ts";
import { damage, readSessionFile, toRefusal } from "./session-read.ts";
import { moveTornTail, rewriteWithoutBadLines, tornPath, type Warn } from "./session-repair.ts";
import { type SessionScan, scanSession } from "./session-scan.ts";
import { type SessionStore, toStore } from "./store.ts";

export type OpenSessionOptions = {
  /** The session's file. */
  readonly path: string;
  /** The process that holds the lock. */
  readonly pid: number;
  /** False reads the session without a lock and keeps what follows in memory only. */
  readonly persist: boolean;
  /** Moves damaged lines out of the file instead of refusing it. */
  readonly repair?: boolean;
  readonly warn: Warn;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
};

/**
 * Opens a session to carry it on, in memory bounded by what the model's context needs. An entry that was cut off at
 * the file's end is moved to `<file>.torn`.
 *
 * @throws StartupError when it is no session file, is damaged (with the line's number), is in use, or cannot be written.
 */
export function openSession(options: OpenSessionOptions): SessionStore {
  return options.persist ? openLocked(options) : openInMemory(options);
}

function openLocked(options: OpenSessionOptions): SessionStore {
  const path = sessionFilePath(options.path);
  const lock = lockSession(path, options.pid);
  let file: SessionFile | undefined;
  try {
    file = openSessionFile(path);
    const { header, length } = readHeader(file.descriptor(), path);
    let scan = scanFile(file, options);
    if (scan.badLines.length > 0) {
      file = rewriteWithoutBadLines(file, new Set(scan.badLines), options.warn);
      scan = scanFile(file, options);
    }
    moveTornTail(file, scan, options.warn);
    // The newline alone may be what was cut off.
    if (scan.unterminated || file.size() === length) file.appendBytes(Buffer.from("\n"));
    const loaded = loadBranch(file.descriptor(), scan);
    warnOfGaps(path, scan, loaded.cut, options.warn);
    return toStore({ header, now: options.now ?? Date.now, disk: { file, lock }, loaded });
  } catch (error) {
    const refusal = toRefusal(path, error, file?.descriptor());
    file?.abandon();
    lock.release();
    throw refusal;
  }
}

function openInMemory(options: OpenSessionOptions): SessionStore {
  return readSessionFile(options.path, options.warn, ({ header, path, descriptor, scan }) => {
    const loaded = loadBranch(descriptor, scan);
    warnOfGaps(path, scan, loaded.cut, options.warn);
    return toStore({ header, now: options.now ?? Date.now, loaded });
  });
}

/** Locks a session for a process. Throws a StartupError when it is in use or its folder cannot be written. */
function lockSession(path: string, pid: number): Lock {
  try {
    return acquireLock(lockPath(path), pid);
  } catch (error) {
    if (error instanceof LockedError) throw inUse(path, error);
    throw toRefusal(path, error, undefined);
  }
}

/** The lock of a session file. */
export function lockPath(path: string): string {
  return `${path}.lock`;
}

function inUse(path: string, { holder, local }: LockedError): StartupError {
  const where = local ? "" : ` on the machine ${holder.host}`;
  const stale = local ? "" : `, or remove ${lockPath(path)} if that process is gone`;
  return new StartupError(
    `the session ${path} is in use by process ${holder.pid}${where}: wait for it to end, go on in a copy with --fork${stale}`,
  );
}

function scanFile(file: SessionFile, options: OpenSessionOptions): SessionScan {
  const repair = options.repair === true;
  const scan = scanSession(file.descriptor(), file.size(), { strict: repair });
  if (scan.badLines.length === 0 || repair) return scan;
  throw new StartupError(
    `${damage(file.descriptor(), file.path, scan)}; --repair moves such lines to ${tornPath(file.path)} and goes on without them`,
  );
}

function warnOfGaps(path: string, scan: SessionScan, cut: boolean, warn: Warn): void {
  if (scan.brokenLinks > 0) {
    warn(
      `${path}: ${scan.brokenLinks} entries name a parent that is not there; the entry before each was taken`,
    );
  }
  if (cut) warn(`${path} is larger than any model's context: its oldest entries are left out`);
}
