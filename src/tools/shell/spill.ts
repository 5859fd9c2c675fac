import { randomUUID } from "node:crypto";
import { chmodSync, closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { errorMessage } from "../../contract/errors.ts";
import type { JsonObject } from "../../contract/json.ts";

export type SpillOptions = {
  /** The start of the file's name. */
  readonly toolName: "bash" | "ipython" | "grep" | "find" | "ls" | "gate";
  readonly spillFolder: string;
  /** What comes beyond this is dropped. */
  readonly maxSpillBytes: number;
};

/** Where the whole of an output goes of which the model sees a part. */
export type Spill = {
  /**
   * Appends at once: the writer is as fast as the disk, and nothing waits in memory. Never throws.
   *
   * @param before gives all of the text up to now; it is written when the file is new
   */
  write(before: () => string, text: string): void;
  close(): void;
  /** A sentence on where the whole is, or why not. */
  note(): string;
  details(): JsonObject;
};

/** Makes a spill, whose file is made when it is first needed. That it cannot be made is a note and never a failure. */
export function createSpill({ spillFolder, toolName, maxSpillBytes }: SpillOptions): Spill {
  let file: SpillFile | undefined;
  let problem: string | undefined;

  function open(before: string): void {
    try {
      file = openSpillFile(spillFolder, toolName, maxSpillBytes);
      file.write(before);
    } catch (error) {
      problem = errorMessage(error);
    }
  }

  return {
    write(before, text) {
      if (!file && problem === undefined) open(before());
      file?.write(text);
    },
    close: () => file?.close(),
    note() {
      if (!file) return `The whole output could not be kept: ${problem}`;
      const why = file.incomplete();
      return `Whole output: ${file.path}${why === undefined ? "" : ` (not complete: ${why})`}`;
    },
    details: () => (file ? { fullOutputPath: file.path } : {}),
  };
}

type SpillFile = {
  readonly path: string;
  write(text: string): void;
  /** Why the file does not hold everything. */
  incomplete(): string | undefined;
  close(): void;
};

const maxAgeMs = 7 * 24 * 60 * 60 * 1000;
const spillName = /^(?:bash|ipython|grep|find|ls|gate)-[0-9a-f-]{36}\.log$/;
const scratchBytes = 64 * 1024;
const cleanedFolders = new Set<string>();

/**
 * Opens a new file that only its owner can read; the first one in a folder also removes those older than a week.
 * Throws when the folder cannot be written.
 */
function openSpillFile(folder: string, toolName: string, maxBytes: number): SpillFile {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  chmodSync(folder, 0o700);
  const path = join(folder, `${toolName}-${randomUUID()}.log`);
  const fd = openSync(path, "wx", 0o600);
  if (!cleanedFolders.has(folder)) {
    cleanedFolders.add(folder);
    void removeOldFiles(folder);
  }
  const encoder = new TextEncoder();
  /** One for all writes: a flood must not fill the memory with what was written. */
  const scratch = new Uint8Array(scratchBytes);
  let room = maxBytes;
  let problem: string | undefined;
  return {
    path,
    write(text) {
      if (problem !== undefined) return;
      try {
        for (let rest = text; rest !== ""; ) {
          const { read, written } = encoder.encodeInto(rest, scratch);
          if (written > room) problem = `it stops at ${maxBytes} bytes`;
          writeFully(fd, scratch.subarray(0, Math.min(written, room)));
          room -= Math.min(written, room);
          rest = rest.slice(read);
        }
      } catch (error) {
        problem = errorMessage(error);
      }
    },
    incomplete: () => problem,
    close: () => closeSync(fd),
  };
}

function writeFully(fd: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written);
}

async function removeOldFiles(folder: string): Promise<void> {
  const { readdir, stat, unlink } = await import("node:fs/promises");
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((candidate) => spillName.test(candidate))) {
    const path = join(folder, name);
    const info = await stat(path).catch(() => undefined);
    if (info && Date.now() - info.mtimeMs > maxAgeMs) await unlink(path).catch(() => undefined);
  }
}
