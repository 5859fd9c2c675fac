import { randomBytes } from "node:crypto";
import {
  closeSync,
  fchmodSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { errorMessage, StartupError } from "../contract/errors.ts";
import { openToWrite } from "../contract/named-pipe.ts";

/** Takes text a piece at a time. */
export type TextOutput = {
  write(text: string): void;
  /** Resolves when there is room for more. */
  ready(): Promise<void>;
};

/** A file that appears whole under its name, or not at all. */
export type ExportFile = TextOutput & {
  /** Gives the file its name. Throws when it cannot be written. */
  keep(): void;
  /** Leaves the name as it was. Does nothing after `keep`. */
  discard(): void;
};

/**
 * Opens a file for an export. What is not a plain file (a pipe, a device) is written as it is. Throws a StartupError
 * when it cannot be written, or is the session file itself.
 */
export function openExportFile(path: string, sessionPath: string | undefined): ExportFile {
  try {
    const before = statSync(path, { throwIfNoEntry: false });
    if (before !== undefined && sessionPath !== undefined && isSame(before, statSync(sessionPath)))
      throw new StartupError(`${path} is the session's own file: choose another name for the export`);
    if (before !== undefined && !before.isFile()) return toFile(openToWrite(path), {});
    const target = before === undefined ? path : realpathSync(path);
    const draft = join(dirname(target), `.${basename(target)}.${randomBytes(4).toString("hex")}.part`);
    const descriptor = openSync(draft, "wx");
    if (before !== undefined) fchmodSync(descriptor, before.mode & 0o777);
    return toFile(descriptor, { draft, target });
  } catch (error) {
    if (error instanceof StartupError) throw error;
    throw new StartupError(`cannot write ${path}: ${errorMessage(error)}`);
  }
}

const bufferedLength = 1 << 16;

function toFile(descriptor: number, { draft, target }: { draft?: string; target?: string }): ExportFile {
  let waiting = "";
  let isOpen = true;
  let isKept = false;
  function flush(): void {
    const bytes = Buffer.from(waiting);
    waiting = "";
    for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done);
  }
  function close(): void {
    isOpen = false;
    closeSync(descriptor);
  }

  return {
    write(text) {
      waiting += text;
      if (waiting.length > bufferedLength) flush();
    },
    // Signals get their turn.
    ready: () => new Promise((resolve) => setImmediate(resolve)),
    keep() {
      flush();
      close();
      if (draft !== undefined && target !== undefined) renameSync(draft, target);
      isKept = true;
    },
    discard() {
      if (isKept) return;
      if (isOpen) close();
      if (draft !== undefined) rmSync(draft, { force: true });
    },
  };
}

function isSame(one: Stats, other: Stats): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}
