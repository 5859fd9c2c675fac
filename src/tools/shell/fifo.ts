import { execFile } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { makeTemporaryFolder, removeFolder } from "./temporary-folder.ts";

/** A pipe: its two ends, as file descriptors that the caller closes. */
export type Fifo = {
  readonly readFd: number;
  readonly writeFd: number;
  /** Memory to read into, for as long as the pipe is in use. */
  readonly buffer: Buffer;
  /** Says that every end of the pipe is closed, whoever held it: the next call may have it. */
  giveBack(): void;
  /** Says, instead, that others may go on holding an end: nobody gets it any more. */
  abandon(): void;
};

/**
 * Makes pipes. What Node calls a pipe is a socket, and a program that opens /dev/stdout or /dev/stderr fails on a
 * socket; named pipes are real ones. Resolves with none where they cannot be made (Windows, no writable temporary
 * folder).
 */
export async function makeFifos(count: number): Promise<readonly Fifo[]> {
  const kept = free.splice(-count);
  if (kept.length === count) return openAll(kept);
  if (process.platform === "win32") return [];
  let folder: string | undefined;
  try {
    folder = makeTemporaryFolder();
    const paths: string[] = [];
    while (kept.length + paths.length < count) paths.push(join(folder, String(paths.length)));
    await promisify(execFile)("mkfifo", ["-m", "600", ...paths]);
    return openAll([...kept, ...paths.map(toFile)]);
  } catch {
    free.push(...kept);
    return [];
  } finally {
    if (folder !== undefined) removeFolder(folder);
  }
}

type FifoFile = Pick<Fifo, "buffer"> & {
  readonly path: string;
  /** The descriptor that the path names, on Linux. */
  readonly heldFd?: number;
};

/** Those that nobody uses: to make one a program has to be run, which takes as long as a short command. */
const free: FifoFile[] = [];
const bufferBytes = 64 * 1024;
/** A descriptor that stands for the file and is no end of the pipe (Linux). Node does not name it. */
const O_PATH = 0o10000000;

/** On Linux the FIFO gets a path that lasts when its name is removed. */
function toFile(path: string): FifoFile {
  const buffer = Buffer.allocUnsafeSlow(bufferBytes);
  if (process.platform !== "linux") return { path, buffer };
  const heldFd = openSync(path, O_PATH);
  return { path: `/proc/self/fd/${heldFd}`, heldFd, buffer };
}

function drop({ heldFd }: FifoFile): void {
  if (heldFd !== undefined) closeSync(heldFd);
}

function openAll(files: readonly FifoFile[]): readonly Fifo[] {
  const opened: number[] = [];
  const open = (path: string, flags: number): number => {
    const fd = openSync(path, flags);
    opened.push(fd);
    return fd;
  };
  try {
    return files.map((file) => ({
      // The reading end first and without blocking: opening an end waits for the other one otherwise.
      readFd: open(file.path, constants.O_RDONLY | constants.O_NONBLOCK),
      writeFd: open(file.path, constants.O_WRONLY),
      buffer: file.buffer,
      giveBack() {
        if (file.heldFd !== undefined) free.push(file);
      },
      abandon: () => drop(file),
    }));
  } catch {
    for (const fd of opened) closeSync(fd);
    files.forEach(drop);
    return [];
  }
}
