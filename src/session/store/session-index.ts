import { closeSync, openSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, isAbsolute, join, resolve } from "node:path";
import { errorMessage, StartupError } from "../../contract/errors.ts";
import { errorCode } from "./private-files.ts";
import { readHeader, sessionFilePath } from "./session-header.ts";
import { readSummary, type SessionSummary } from "./session-summary.ts";

/** The sessions of a folder, the latest used first. Reads the two ends of each file; files that are no sessions are left out. */
export function listSessions(folder: string): SessionSummary[] {
  return sessionFiles(folder).flatMap((file) => summaryOf(file) ?? []);
}

/** The file of the latest used session that runs in `cwd`; undefined when there is none. */
export function latestSession(folder: string, cwd: string): string | undefined {
  const realPath = createRealPath();
  return sessionFiles(folder).find((file) => {
    const header = withFile(file, (descriptor) => readHeader(descriptor, file.path).header);
    return header !== undefined && (header.cwd === cwd || realPath(header.cwd) === realPath(cwd));
  })?.path;
}

export type FindSessionOptions = {
  /** Whether the session's name finds it too. */
  readonly byName?: boolean;
};

/**
 * The file of a session, given its id, the unique beginning of one (4 characters or more), or a path: what has a `/`
 * or ends in `.jsonl`.
 *
 * @throws StartupError when there is none, or more than one.
 */
export function findSession(folder: string, idOrPath: string, options: FindSessionOptions = {}): string {
  if (isPath(idOrPath)) return sessionFilePath(idOrPath);
  return findSavedSession(folder, idOrPath, options).path;
}

/** As `findSession`, for where a path is not meant. */
export function findSavedSession(
  folder: string,
  id: string,
  { byName = false }: FindSessionOptions = {},
): SessionSummary {
  const isId = idPattern.test(id);
  if (!isId && !byName) throw notAnId(id);
  const files = sessionFiles(folder);
  const candidates = isId && !byName ? files.filter((file) => mayHaveId(file, id)) : files;
  const sessions = candidates.flatMap((file) => summaryOf(file) ?? []);
  const matching = sessions.filter(
    (session) => (isId && session.id.startsWith(id)) || (byName && session.name === id),
  );
  const exact = matching.filter((session) => session.id === id);
  const [found, ...others] = withoutCopies(exact.length > 0 ? exact : matching);
  if (found === undefined) throw unreadable(candidates, id) ?? notFound(folder, id, isId, byName);
  if (others.length > 0) throw ambiguous(id, [found, ...others]);
  return found;
}

type SessionFileInfo = { readonly name: string; readonly path: string; readonly modifiedMs: number };

const suffix = ".jsonl";
const idPattern = /^[0-9a-f-]{4,36}$/;
/** What this program names its files; others' may hold any session. */
const ownName = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.jsonl$/;
const maxListed = 10;

/** Latest used first. */
function sessionFiles(folder: string): SessionFileInfo[] {
  return sessionNames(folder)
    .flatMap((name) => {
      const path = join(folder, name);
      const stats = statSync(path, { throwIfNoEntry: false });
      return stats?.isFile() === true ? [{ name, path: resolve(path), modifiedMs: stats.mtimeMs }] : [];
    })
    .sort((a, b) => b.modifiedMs - a.modifiedMs);
}

function sessionNames(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(suffix));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw new StartupError(
      `cannot read the session folder ${folder}: ${errorMessage(error)}; name another with --session-dir`,
    );
  }
}

function summaryOf(file: SessionFileInfo): SessionSummary | undefined {
  return withFile(file, (descriptor) => readSummary(descriptor, file.path));
}

/** Undefined when the file vanished or cannot be read: whoever asks for it by its path is told. */
function withFile<T>({ path }: SessionFileInfo, read: (descriptor: number) => T): T | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, "r");
    return read(descriptor);
  } catch {
    return undefined;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Of files with the same session the one that is named by its id, else the latest used. */
function withoutCopies(sessions: readonly SessionSummary[]): SessionSummary[] {
  const byId = new Map<string, SessionSummary>();
  for (const session of sessions) {
    if (!byId.has(session.id) || basename(session.path) === `${session.id}${suffix}`)
      byId.set(session.id, session);
  }
  return [...byId.values()];
}

function mayHaveId({ name }: SessionFileInfo, id: string): boolean {
  return name.startsWith(id) || !ownName.test(name);
}

/** Why the file that an id names cannot be read; undefined when there is no such file. */
function unreadable(files: readonly SessionFileInfo[], id: string): StartupError | undefined {
  const file = files.find(({ name }) => ownName.test(name) && name.startsWith(id));
  if (file === undefined) return undefined;
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file.path, "r");
    readHeader(descriptor, file.path);
    return undefined;
  } catch (error) {
    if (error instanceof StartupError) return error;
    return new StartupError(`cannot open the session file ${file.path}: ${errorMessage(error)}`);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function isPath(value: string): boolean {
  return value.includes("/") || isAbsolute(value) || value.endsWith(suffix);
}

function createRealPath(): (path: string) => string {
  const known = new Map<string, string>();
  return (path) => {
    const real = known.get(path) ?? realPathOrSame(path);
    known.set(path, real);
    return real;
  };
}

function realPathOrSame(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function notAnId(id: string): StartupError {
  return new StartupError(
    `${JSON.stringify(id)} is no session id: give 4 to 36 of the characters 0-9, a-f and -, or the path of a session file; "base-context list --all" shows the ids`,
  );
}

function notFound(folder: string, id: string, isId: boolean, byName: boolean): StartupError {
  const kind = byName ? (isId ? "id or name" : "name") : "id";
  return new StartupError(
    `no session in ${folder} has the ${kind} ${JSON.stringify(id)}: "base-context list --all" shows those that there are`,
  );
}

function ambiguous(id: string, sessions: readonly SessionSummary[]): StartupError {
  const shown = sessions.slice(0, maxListed).map((session) => session.id);
  const more = sessions.length > maxListed ? ` and ${sessions.length - maxListed} more` : "";
  return new StartupError(
    `${JSON.stringify(id)} means more than one session: ${shown.join(", ")}${more}; give more of the id`,
  );
}
