import { randomUUID } from "node:crypto";
import { chmodSync, closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { readdir, stat, unlink } from "node:fs/promises";
import { join } from "node:path";
import { errorMessage } from "../contract/errors.ts";

/** A file that takes the whole of an output of which the model sees a part. */
export type SpillFile = {
  readonly path: string;
  /** Appends at once: the writer is as fast as the disk, and nothing waits in memory. Never throws. */
  write(text: string): void;
  /** Why the file does not hold everything. */
  incomplete(): string | undefined;
  close(): void;
};

const maxAgeMs = 7 * 24 * 60 * 60 * 1000;
const spillName = /^(?:bash|ipython)-[0-9a-f-]{36}\.log$/;
const scratchBytes = 64 * 1024;
const cleanedFolders = new Set<string>();

/**
 * Opens a new spill file that only its owner can read; the first one in a folder also removes those older than a
 * week. Throws when the folder cannot be written.
 *
 * @param maxBytes what comes beyond this is dropped
 */
export function openSpillFile(folder: string, toolName: "bash" | "ipython", maxBytes: number): SpillFile {
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
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((candidate) => spillName.test(candidate))) {
    const path = join(folder, name);
    const info = await stat(path).catch(() => undefined);
    if (info && Date.now() - info.mtimeMs > maxAgeMs) await unlink(path).catch(() => undefined);
  }
}
