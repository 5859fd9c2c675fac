import { closeSync, fstatSync, openSync } from "node:fs";
import type { SessionEntry } from "../../contract/entries.ts";
import { errorMessage, StartupError } from "../../contract/errors.ts";
import type { SessionHeader } from "../../contract/events.ts";
import { applyEntry, BadLineError, readEntry, type SessionSettings } from "./branch.ts";
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
  const session = openForReading(path, warn);
  try {
    return read(session);
  } catch (error) {
    throw toRefusal(session.path, error, session.descriptor);
  } finally {
    closeSync(session.descriptor);
  }
}

/** As `readSessionFile`, for reading that waits in between; what `read` throws stays as it is. */
export async function streamSessionFile<T>(
  path: string,
  warn: Warn,
  read: (session: SessionReading) => Promise<T>,
): Promise<T> {
  const session = openForReading(path, warn);
  try {
    return await read(session);
  } finally {
    closeSync(session.descriptor);
  }
}

/**
 * The whole branch of a session, root first, one entry at a time; each has the one before it as its parent.
 *
 * @throws StartupError when the file cannot be read on, or a line of it turns out to be damaged.
 */
export function* branchEntries({
  path,
  descriptor,
  scan,
}: SessionReading): Generator<SessionEntry, void, undefined> {
  let parentId: string | null = null;
  for (let index = scan.starts.length - 1; index >= 0; index--) {
    const entry = entryAt({ path, descriptor, scan }, index);
    if (entry === undefined) continue;
    yield { ...entry, parentId };
    parentId = entry.id;
  }
}

/** What is set at the end of the branch. Throws a StartupError as `branchEntries`. */
export function currentSettings(session: SessionReading): SessionSettings {
  const { path, descriptor, scan } = session;
  let settings: SessionSettings = {};
  try {
    for (const span of scan.settings.values()) {
      const entry = readEntry(descriptor, span);
      if (entry !== undefined) settings = applyEntry(settings, entry);
    }
  } catch (error) {
    throw toRefusal(path, error, descriptor);
  }
  const model = lastModel(session);
  return model === undefined ? settings : { ...settings, model };
}

/** An answer says more of the model than the change before it. */
function lastModel(session: SessionReading): SessionSettings["model"] {
  for (const index of session.scan.starts.keys()) {
    const entry = entryAt(session, index);
    const { model } = entry === undefined ? {} : applyEntry({}, entry);
    if (model !== undefined) return model;
  }
  return undefined;
}

function entryAt(
  { path, descriptor, scan }: Pick<SessionReading, "path" | "descriptor" | "scan">,
  index: number,
): SessionEntry | undefined {
  try {
    return readEntry(descriptor, { start: scan.starts[index] ?? 0, length: scan.lengths[index] ?? 0 });
  } catch (error) {
    throw toRefusal(path, error, descriptor);
  }
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

function openForReading(path: string, warn: Warn): SessionReading {
  const real = sessionFilePath(path);
  let descriptor: number | undefined;
  try {
    descriptor = openSync(real, "r");
    const { header } = readHeader(descriptor, real);
    const { size } = fstatSync(descriptor);
    const scan = scanSession(descriptor, size);
    if (scan.badLines.length > 0) warn(`${damage(descriptor, real, scan)}; such lines are left out`);
    return { header, path: real, descriptor, size, scan };
  } catch (error) {
    const refusal = toRefusal(real, error, descriptor);
    if (descriptor !== undefined) closeSync(descriptor);
    throw refusal;
  }
}

function lineNumber(descriptor: number, start: number): number {
  let number = 1;
  for (const line of linesForward(descriptor, start)) {
    if (line.start < start) number++;
  }
  return number;
}
