import { execFile } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** The two ends of a pipe, as file descriptors that the caller closes. */
export type Fifo = { readonly readFd: number; readonly writeFd: number };

/**
 * Makes a pipe each for stdout and stderr. What Node calls a pipe is a socket, and a program that opens /dev/stdout
 * or /dev/stderr fails on a socket; named pipes are real ones. Resolves with undefined where there are none (Windows,
 * no writable temporary folder).
 */
export async function makeFifos(): Promise<[Fifo, Fifo] | undefined> {
  if (process.platform === "win32") return undefined;
  let folder: string | undefined;
  try {
    folder = await mkdtemp(join(tmpdir(), "base-context-"));
    const paths = [join(folder, "out"), join(folder, "err")] as const;
    await promisify(execFile)("mkfifo", ["-m", "600", ...paths]);
    return openBoth(paths);
  } catch {
    return undefined;
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}

function openBoth([outPath, errPath]: readonly [string, string]): [Fifo, Fifo] {
  const opened: number[] = [];
  const open = (path: string, flags: number): number => {
    const fd = openSync(path, flags);
    opened.push(fd);
    return fd;
  };
  // The reading end first and without blocking: opening an end waits for the other one otherwise.
  const openEnds = (path: string): Fifo => ({
    readFd: open(path, constants.O_RDONLY | constants.O_NONBLOCK),
    writeFd: open(path, constants.O_WRONLY),
  });
  try {
    return [openEnds(outPath), openEnds(errPath)];
  } catch (error) {
    for (const fd of opened) closeSync(fd);
    throw error;
  }
}
