import { rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { NewEntry, SessionEntry } from "../../contract/entries.ts";
import { errorMessage, PersistenceError, StartupError } from "../../contract/errors.ts";
import type { SessionHeader } from "../../contract/events.ts";
import { applyEntry, type LoadedBranch, readBranch, type SessionSettings, unknownEntry } from "./branch.ts";
import { sessionVersion } from "./entry-schema.ts";
import { entriesInMemory, entriesOfFile, findEntryId } from "./find-entry.ts";
import { acquireLock, type Lock } from "./lock.ts";
import { makePrivateFolder } from "./private-files.ts";
import { randomBytes, randomUuid } from "./random.ts";
import { createSessionFile, type SessionFile } from "./session-file.ts";
import { serializeLine } from "./session-line.ts";
import { readSummary } from "./session-summary.ts";

/** A session that is being carried on: its entries in memory and, unless it is not kept, in its file. */
export type SessionStore = {
  readonly header: SessionHeader;
  /** The session's file; undefined with `--no-session`. */
  readonly path: string | undefined;
  /**
   * The part of the branch that the model's context needs, from its oldest entry to the leaf: of a session that was
   * opened, from the first entry that the latest compaction kept. Changes with `append` and `moveTo`.
   */
  branch(): readonly SessionEntry[];
  /** The entry that the next one gets as its parent; null at the root. */
  leafId(): string | null;
  settings(): SessionSettings;
  /**
   * Gives an entry its id, parent and time and makes it the leaf. When this returns the entry is in the file.
   *
   * @throws PersistenceError once, when the file cannot be written. The entry is then in memory, as are all later ones,
   * and nothing more is written: the run can go on and give its answer.
   */
  append(entry: NewEntry): SessionEntry;
  /**
   * Makes an earlier entry the leaf: what is appended next is another branch. The entry is named by its id, the unique
   * beginning of one, or its label.
   *
   * @throws StartupError when the session has no such entry.
   */
  moveTo(entry: string): void;
  /** Closes the file and gives the lock back. Does nothing the second time. Throws a PersistenceError as `append`. */
  close(): void;
};

export type CreateSessionOptions = {
  /** Where sessions are kept; made when it is missing. */
  readonly folder: string;
  /** Absolute; where the tools run. */
  readonly cwd: string;
  /** The process that holds the lock. */
  readonly pid: number;
  /** False keeps the session in memory only. */
  readonly persist: boolean;
  readonly parentSession?: string;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
};

/**
 * Starts a session. Its header is on disk when this returns.
 *
 * @throws StartupError when the folder or the file cannot be made.
 */
export function createSession(options: CreateSessionOptions): SessionStore {
  const now = options.now ?? Date.now;
  const header = newHeader(options);
  if (!options.persist) return toStore({ header, now });
  return toStore({ header, now, disk: createOnDisk(options.folder, header, options.pid) });
}

/** The header of a session that begins now. */
export function newHeader({ cwd, parentSession, now = Date.now }: CreateSessionOptions): SessionHeader {
  return {
    type: "session",
    version: sessionVersion,
    id: randomUuid(),
    timestamp: new Date(now()).toISOString(),
    cwd,
    ...(parentSession === undefined ? {} : { parentSession }),
  };
}

/** A session's file and the lock on it. */
export type SessionDisk = {
  readonly file: SessionFile;
  readonly lock: Lock;
};

export type StoreParts = {
  readonly header: SessionHeader;
  readonly now: () => number;
  readonly disk?: SessionDisk;
  readonly loaded?: LoadedBranch;
};

/**
 * Makes the file of a new session, with its header and what `fill` appends, and locks it.
 *
 * @throws StartupError, leaving no file behind.
 */
export function createOnDisk(
  folder: string,
  header: SessionHeader,
  pid: number,
  fill: (file: SessionFile) => void = () => {},
): SessionDisk {
  const path = join(resolve(folder), `${header.id}.jsonl`);
  let lock: Lock | undefined;
  let file: SessionFile | undefined;
  try {
    makePrivateFolder(dirname(path));
    lock = acquireLock(`${path}.lock`, pid);
    file = createSessionFile(path);
    file.append(JSON.stringify(header));
    fill(file);
    return { file, lock };
  } catch (error) {
    if (file !== undefined) rmSync(path, { force: true });
    file?.abandon();
    lock?.release();
    const why = errorMessage(error instanceof PersistenceError ? error.cause : error);
    throw new StartupError(
      `cannot keep a session in ${folder}: ${why}; name another folder with --session-dir, or keep none with --no-session`,
      { cause: error },
    );
  }
}

/** Makes a store of its parts. */
export function toStore({ header, now, disk, loaded }: StoreParts): SessionStore {
  const atStart = loaded ?? { entries: [], leafId: null, settings: {}, cut: false };
  let branch = [...atStart.entries];
  let { leafId, settings } = atStart;
  /** Every entry that this store has seen, for a session that cannot be read back. */
  const known = new Map(branch.map((entry) => [entry.id, entry]));
  let writing = disk !== undefined;
  let closed = false;

  function write(entry: SessionEntry): void {
    if (disk === undefined || !writing || closed) return;
    try {
      disk.file.append(serializeLine(entry));
    } catch (error) {
      writing = false;
      throw error;
    }
  }

  /** Lists read only the two ends of a file. */
  function restateName({ file }: SessionDisk): void {
    const { name } = settings;
    if (name === undefined || !writing) return;
    if (readSummary(file.descriptor(), file.path)?.name !== name) append({ type: "session_info", name });
  }

  function append(entry: NewEntry): SessionEntry {
    const { type, ...content } = entry;
    const place = { id: newId(), parentId: leafId, timestamp: new Date(now()).toISOString() };
    const placed = { type, ...place, ...content } as SessionEntry;
    known.set(placed.id, placed);
    branch.push(placed);
    leafId = placed.id;
    settings = applyEntry(settings, placed);
    write(placed);
    return placed;
  }

  function newId(): string {
    const id = randomBytes(6).toString("hex");
    return known.has(id) ? newId() : id;
  }

  return {
    header,
    path: disk?.file.path,
    branch: () => branch,
    leafId: () => leafId,
    settings: () => settings,
    append,
    moveTo(entry) {
      const target =
        disk !== undefined && writing ? onDisk(disk.file, entry) : inMemory(known, entry, settings);
      branch = [...target.entries];
      ({ leafId, settings } = target);
    },
    close() {
      if (closed || disk === undefined) return;
      try {
        restateName(disk);
      } finally {
        closed = true;
        closeDisk(disk, writing);
      }
    },
  };
}

/** A file that could not be written was told of before. */
function closeDisk({ file, lock }: SessionDisk, mayFail: boolean): void {
  try {
    file.close();
  } catch (error) {
    if (mayFail) throw error;
  } finally {
    lock.release();
  }
}

function onDisk(file: SessionFile, entry: string): LoadedBranch {
  const descriptor = file.descriptor();
  const entryId = findEntryId(entriesOfFile(descriptor, file.size()), entry);
  return readBranch(descriptor, file.size(), entryId);
}

function inMemory(
  known: ReadonlyMap<string, SessionEntry>,
  wanted: string,
  settings: SessionSettings,
): LoadedBranch {
  const entryId = findEntryId(entriesInMemory(known.values()), wanted);
  const entries: SessionEntry[] = [];
  for (let entry = known.get(entryId); entry !== undefined; entry = known.get(entry.parentId ?? "")) {
    entries.push(entry);
  }
  if (entries.length === 0) throw unknownEntry(wanted);
  entries.reverse();
  const { name } = settings;
  const ownSettings = entries.reduce(applyEntry, name === undefined ? {} : { name });
  return { entries, leafId: entryId, settings: ownSettings, cut: false };
}
