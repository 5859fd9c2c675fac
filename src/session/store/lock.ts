import { closeSync, linkSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { hostname } from "node:os";
import { createPrivateFile, errorCode } from "./private-files.ts";
import { identifyProcess, mayBeAlive, type ProcessIdentity, toProcessIdentity } from "./process-identity.ts";
import { randomBytes } from "./random.ts";

export type Lock = {
  /** Removes the lock. Does nothing the second time. */
  release(): void;
};

const maxTries = 100;

/** Somebody else holds the lock. */
export class LockedError extends Error {
  override readonly name = "LockedError";
  readonly holder: ProcessIdentity;
  /** Whether the holder runs on this machine, so that it is known to be alive. */
  readonly local: boolean;

  constructor(path: string, holder: ProcessIdentity) {
    super(`${path} is held by process ${holder.pid} on ${holder.host}`);
    this.holder = holder;
    this.local = holder.host === hostname();
  }
}

/**
 * Takes the lock file `path` for process `pid`. A lock whose process is dead is taken over; of several processes that
 * try it at once exactly one succeeds.
 *
 * @throws LockedError when a living process (or one of another machine, whose life cannot be judged) holds it, and the
 * system's error when the file cannot be written.
 */
export function acquireLock(path: string, pid: number): Lock {
  const content = `${JSON.stringify(identifyProcess(pid))}\n`;
  const own = `${path}.${pid}.${randomBytes(4).toString("hex")}`;
  try {
    writeWhole(own, content);
    claim(path, own);
  } finally {
    rmSync(own, { force: true });
    rmSync(nextOf(own), { force: true });
  }
  let held = true;
  return {
    release() {
      if (!held) return;
      held = false;
      if (readText(path) === content) rmSync(path, { force: true });
    },
  };
}

/**
 * Makes `path` a name of the file `own`. A dead holder's lock may only be replaced by who holds the lock on its
 * replacement, so that what was judged dead cannot meanwhile have become somebody's living lock.
 */
function claim(path: string, own: string): void {
  for (let tries = 0; !linkIfMissing(own, path); tries++) {
    if (refuseIfAlive(path) === "gone") {
      // Released just now; only something that is no lock (a dangling link) stays both there and not readable.
      if (tries > maxTries) throw new Error(`${path} can neither be read nor made`);
      continue;
    }
    const guard = `${path}.takeover`;
    claim(guard, own);
    try {
      if (refuseIfAlive(path) === "gone") continue;
      linkSync(own, nextOf(own));
      renameSync(nextOf(own), path);
      return;
    } finally {
      rmSync(guard, { force: true });
    }
  }
}

/** The name that is moved over a dead lock; `own` itself may be moved over a dead guard before. */
function nextOf(own: string): string {
  return `${own}.next`;
}

function linkIfMissing(own: string, path: string): boolean {
  try {
    linkSync(own, path);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  }
}

/** A lock whose holder cannot be read was cut by a crash of the machine: locks appear whole. */
function refuseIfAlive(path: string): "gone" | "dead" {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (errorCode(error) === "ENOENT") return "gone";
    throw error;
  }
  const holder = toHolder(text);
  if (holder !== undefined && mayBeAlive(holder)) throw new LockedError(path, holder);
  return "dead";
}

function toHolder(text: string | undefined): ProcessIdentity | undefined {
  if (text === undefined) return undefined;
  try {
    return toProcessIdentity(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function writeWhole(path: string, content: string): void {
  const descriptor = createPrivateFile(path);
  try {
    writeSync(descriptor, content);
  } finally {
    closeSync(descriptor);
  }
}
