import { randomUUID } from "node:crypto";
import { accessSync, constants, statSync } from "node:fs";
import { realpath, rename, rm, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { errorMessage, StartupError } from "../contract/errors.ts";

/** Refuses a file that an option names and that could not be written when the time comes. */
export function checkOutputFile(option: string, file: string, cwd: string): void {
  const path = resolve(cwd, file);
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true)
      throw new Error("it is a directory");
    accessSync(dirname(path), constants.W_OK);
  } catch (error) {
    throw new StartupError(
      `${option} ${file} cannot be written: ${errorMessage(error)}; name a file in a folder that is there`,
    );
  }
}

/**
 * Writes a text to a file, as it is and whole or not at all. The file is the user's, so its mode follows the umask.
 * Rejects when it cannot be written.
 */
export async function writeOutputFile(file: string, text: string, cwd: string): Promise<void> {
  const path = resolve(cwd, file);
  const target = await realpath(path).catch(() => path);
  // What is no regular file (/dev/null, a FIFO) is written to; a rename would put a file in its place.
  if (statSync(target, { throwIfNoEntry: false })?.isFile() === false) return writeFile(target, text);
  const temporary = `${target}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, text, { flag: "wx" });
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
