import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/*
 * Operations that wait for the disk: to load those that do not takes longer than all of these together, and is felt by
 * a run's first command.
 */

/** Makes a folder of one's own. Throws the system's error. */
export function makeTemporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), "base-context-"));
}

/** Removes a folder and what is in it, as far as that is possible. */
export function removeFolder(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // It stays behind in the folder for temporary files.
  }
}
