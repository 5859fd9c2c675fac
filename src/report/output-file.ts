import { randomUUID } from "node:crypto";
import {
  accessSync,
  closeSync,
  constants,
  lstatSync,
  readlinkSync,
  type Stats,
  statSync,
  writeFile as writeToDescriptor,
} from "node:fs";
import { chmod, rename, rm, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { errorMessage, StartupError } from "../contract/errors.ts";

/** Refuses a file that an option names and that could not be written when the time comes. */
export function checkOutputFile(option: string, file: string, cwd: string): void {
  const path = resolve(cwd, file);
  try {
    const { target, stats } = follow(path);
    if (stats?.isDirectory() === true) throw new Error("it is a directory");
    if (stats !== undefined) accessSync(target, constants.W_OK);
    // A file is replaced, and anything else (/dev/null, a pipe) is written to.
    if (stats === undefined || stats.isFile()) accessSync(dirname(target), constants.W_OK);
  } catch (error) {
    throw new StartupError(
      `${option} ${file} cannot be written: ${errorMessage(error)}; name a file in a folder that is there`,
    );
  }
}

/**
 * Writes a text to a file, as it is and whole or not at all. A new file is the user's, so its mode follows the umask;
 * one that is there keeps its mode. Rejects when it cannot be written.
 */
export async function writeOutputFile(file: string, text: string, cwd: string): Promise<void> {
  const { target, stats } = follow(resolve(cwd, file));
  // A rename would put a file in its place.
  if (stats?.isFile() === false) return writeThrough(target, text);
  const temporary = `${target}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, text, { flag: "wx" });
    if (stats !== undefined) await chmod(temporary, stats.mode & 0o7777);
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function writeThrough(target: string, text: string): Promise<void> {
  const { openToWrite } = await import("../contract/named-pipe.ts");
  const fd = openToWrite(target);
  try {
    await new Promise<void>((done, fail) =>
      writeToDescriptor(fd, text, (error) => (error === null ? done() : fail(error))),
    );
  } finally {
    closeSync(fd);
  }
}

/** Where a file is that an option names, and what is there. Throws when that cannot be told. */
export function locate(file: string, cwd: string): { target: string; stats: Stats | undefined } {
  return follow(resolve(cwd, file));
}

/** What a path comes to behind its symbolic links, the last of which may point to nothing yet. */
function follow(path: string): { target: string; stats: Stats | undefined } {
  const stats = statSync(path, { throwIfNoEntry: false });
  // Links of /dev/fd and /proc name no place; what they lead to is written through them.
  const isPlace = stats === undefined || stats.isFile();
  if (!isPlace || lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true)
    return { target: path, stats };
  return follow(resolve(dirname(path), readlinkSync(path)));
}
