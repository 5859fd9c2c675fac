import { execFile } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** The two ends of a pipe, as file descriptors that the caller closes. */
export type Fifo = { readonly readFd: number; readonly writeFd: number };

/** A pipe each for stdout and stderr. */
export type FifoPair = {
  readonly stdout: Fifo;
  readonly stderr: Fifo;
  /** Says that every end of both pipes is closed, whoever held it: the next call may have them. */
  giveBack(): void;
};

/**
 * Makes a pipe each for stdout and stderr. What Node calls a pipe is a socket, and a program that opens /dev/stdout
 * or /dev/stderr fails on a socket; named pipes are real ones. Resolves with undefined where there are none (Windows,
 * no writable temporary folder).
 */
export async function makeFifos(): Promise<FifoPair | undefined> {
  const kept = free.pop();
  if (kept !== undefined) return openPair(kept);
  if (process.platform === "win32") return undefined;
  let folder: string | undefined;
  try {
    folder = await mkdtemp(join(tmpdir(), "base-context-"));
    const paths = [join(folder, "out"), join(folder, "err")] as const;
    await promisify(execFile)("mkfifo", ["-m", "600", ...paths]);
    return openPair(process.platform === "linux" ? [keep(paths[0]), keep(paths[1])] : paths);
  } catch {
    return undefined;
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true }).catch(() => undefined);
  }
}

type Paths = readonly [stdout: string, stderr: string];

/** Pairs that nobody uses: to make one a program has to be run, which takes as long as a short command. */
const free: Paths[] = [];
/** A descriptor that stands for the file and is no end of the pipe (Linux). Node does not name it. */
const O_PATH = 0o10000000;

/** A path to a FIFO that lasts when its name is removed. */
function keep(path: string): string {
  return `/proc/self/fd/${openSync(path, O_PATH)}`;
}

function openPair(paths: Paths): FifoPair | undefined {
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
    return {
      stdout: openEnds(paths[0]),
      stderr: openEnds(paths[1]),
      giveBack: () => {
        if (process.platform === "linux") free.push(paths);
      },
    };
  } catch {
    for (const fd of opened) closeSync(fd);
    return undefined;
  }
}
