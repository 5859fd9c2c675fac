import { stat } from "node:fs/promises";
import { resolveLinks } from "./atomic-write.ts";

/** The last piece of work that was handed in for each file; one table, as there is one file system. */
const lastWork = new Map<string, Promise<unknown>>();
let lastArrival: Promise<unknown> = Promise.resolve();

/**
 * Does some work on a file when all work handed in before for the same file is done, whatever path either was handed
 * in with: symbolic links, hard links and the case of letters make no difference. Resolves or rejects as the work does.
 */
export async function inFileOrder<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  // Finding out which file it is takes time: one after the other, so that nobody overtakes.
  const arrival = lastArrival.then(() => enqueue(path, work));
  lastArrival = arrival.catch(() => undefined);
  const { done } = await arrival;
  return done;
}

/** The promise is wrapped, because the next arrival must not wait for the work itself. */
async function enqueue<Result>(
  path: string,
  work: () => Promise<Result>,
): Promise<{ readonly done: Promise<Result> }> {
  const key = await identity(path);
  const before = lastWork.get(key) ?? Promise.resolve();
  const done = before.then(work);
  const settled = done
    .catch(() => undefined)
    .then(() => {
      if (lastWork.get(key) === settled) lastWork.delete(key);
    });
  lastWork.set(key, settled);
  return { done };
}

/**
 * What stays the same for a file while it is written. The path does, except for a file with several hard links, whose
 * inode does. Files that differ only in the case of their names may be one: waiting for each other does no harm.
 */
async function identity(path: string): Promise<string> {
  try {
    const target = await resolveLinks(path);
    const stats = await stat(target).catch(() => undefined);
    if (stats !== undefined && stats.nlink > 1 && stats.isFile()) return `${stats.dev}:${stats.ino}`;
    return target.normalize("NFC").toLowerCase();
  } catch {
    // The work itself will say what is wrong with the path.
    return path;
  }
}
