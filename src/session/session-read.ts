import { closeSync, fstatSync, openSync } from "node:fs";
import type { SessionEntry } from "../contract/entries.ts";
import { errorMessage, StartupError } from "../contract/errors.ts";
import type { SessionHeader } from "../contract/events.ts";
import { BadLineError, loadBranch, readEntry, type SessionSettings } from "./branch.ts";
import { linesForward } from "./lines.ts";
import { readHeader, sessionFilePath } from "./session-header.ts";
import type { Warn } from "./session-repair.ts";
import { type SessionScan, scanSession } from "./session-scan.ts";

/** A session file that is read as it is now, also while its run goes on. */
export type SessionReading = {
  readonly header: SessionHeader;
  readonly path: string;
  readonly descriptor: number;
  readonly size: number;
  readonly scan: SessionScan;
};

/**
 * Opens a session file without a lock for as long as `read` runs, and changes nothing. Damaged lines and an entry that
 * is not written whole yet are passed over, with a warning for the first.
 *
 * @throws StartupError when it is no session file or cannot be read.
 */
export function readSessionFile<T>(path: string, warn: Warn, read: (session: SessionReading) => T): T {
  const real = sessionFilePath(path);
  const descriptor = openForReading(real);
  try {
    const { header } = readHeader(descriptor, real);
    const { size } = fstatSync(descriptor);
    const scan = scanSession(descriptor, size);
    if (scan.badLines.length > 0) warn(`${damage(descriptor, real, scan)}; such lines are left out`);
    return read({ header, path: real, descriptor, size, scan });
  } catch (error) {
    throw toRefusal(real, error, descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** The whole branch of a session, root first, one entry at a time; each has the one before it as its parent. */
export function* branchEntries({
  descriptor,
  scan,
}: SessionReading): Generator<SessionEntry, void, undefined> {
  let parentId: string | null = null;
  for (let index = scan.starts.length - 1; index >= 0; index--) {
    const span = { start: scan.starts[index] ?? 0, length: scan.lengths[index] ?? 0 };
    const entry = readEntry(descriptor, span);
    if (entry === undefined) continue;
    yield { ...entry, parentId };
    parentId = entry.id;
  }
}

/** What is set at the end of the branch. */
export function currentSettings({ descriptor, scan }: SessionReading): SessionSettings {
  return loadBranch(descriptor, scan).settings;
}

/** In words, which line is damaged first. */
export function damage(descriptor: number, path: string, scan: SessionScan): string {
  return `${path} is damaged: line ${lineNumber(descriptor, scan.badLines.at(-1) ?? 0)} is no session entry`;
}

/** What a person is told when a session cannot be opened. */
export function toRefusal(path: string, error: unknown, descriptor: number | undefined): StartupError {
  if (error instanceof StartupError) return error;
  if (error instanceof BadLineError && descriptor !== undefined) {
    const number = lineNumber(descriptor, error.start);
    return new StartupError(
      `${path} is damaged: line ${number} is no session entry; --repair moves such lines out of it`,
    );
  }
  return new StartupError(`cannot open the session ${path}: ${errorMessage(error)}`, { cause: error });
}

function openForReading(path: string): number {
  try {
    return openSync(path, "r");
  } catch (error) {
    throw toRefusal(path, error, undefined);
  }
}

function lineNumber(descriptor: number, start: number): number {
  let number = 1;
  for (const line of linesForward(descriptor, start)) {
    if (line.start < start) number++;
  }
  return number;
}
