import { chmodSync, fchmodSync, fstatSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/**
 * Makes a folder and its missing parents, mode 0700 whatever the umask; folders that exist stay as they are.
 * Throws the system's error for the first one that cannot be made.
 *
 * One level at a time: Node's recursive mkdir never returns where a parent appears to exist but takes no children
 * (`/proc/x/y`).
 */
export function makePrivateFolder(folder: string): void {
  for (const missing of missingFolders(resolve(folder))) {
    makeOne(missing);
  }
}

/** Opens a file that must not exist yet, for reading and appending, mode 0600 whatever the umask. */
export function createPrivateFile(path: string): number {
  return withPrivateMode(openSync(path, "ax+", 0o600));
}

/** Opens a file for appending, making it with mode 0600 when it is missing. */
export function openPrivateFile(path: string): number {
  return withPrivateMode(openSync(path, "a", 0o600));
}

/** The system's code of an error (`ENOENT`), if it has one. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** The folders that have to be made, outermost first. */
function missingFolders(folder: string): string[] {
  const missing: string[] = [];
  for (let path = folder; statSync(path, { throwIfNoEntry: false }) === undefined; path = dirname(path)) {
    missing.unshift(path);
    if (dirname(path) === path) break;
  }
  return missing;
}

function makeOne(folder: string): void {
  try {
    mkdirSync(folder, 0o700);
  } catch (error) {
    // Another process may have made it just now.
    if (errorCode(error) !== "EEXIST") throw error;
    return;
  }
  if ((statSync(folder).mode & 0o777) !== 0o700) chmodSync(folder, 0o700);
}

function withPrivateMode(descriptor: number): number {
  const stats = fstatSync(descriptor);
  if (!stats.isFile() || (stats.mode & 0o777) === 0o600) return descriptor;
  try {
    fchmodSync(descriptor, 0o600);
  } catch {
    // Not our file, or a file system without modes: nothing that could be done here.
  }
  return descriptor;
}
