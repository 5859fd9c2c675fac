import type { Stats } from "node:fs";
import { lstat, opendir, readlink, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, dirname, join, parse, resolve, sep } from "node:path";
import { errorMessage } from "../../contract/errors.ts";
import { dissimilarity, nearest } from "../../contract/spelling.ts";

/** How many names of a folder are looked at when a path is not there. */
const maxNamesCompared = 10_000;
/** Rating is slower than comparing. */
const maxNamesRated = 2_000;
const maxSuggestions = 3;
const maxDissimilarity = 0.34;

/** A path that is there (and how it differs from the one asked for), or a sentence that says why none is. */
export type FoundPath =
  | { readonly found: true; readonly path: string; readonly note?: string }
  | { readonly found: false; readonly problem: string };

/** The absolute path to write to: what the model said, byte for byte, except that `~` is the home folder. */
export function resolveForWriting(cwd: string, path: string): string {
  return resolve(cwd, expandHome(path) ?? path);
}

/**
 * Finds the path to read from. The exact path wins; then `~` as the home folder, then the path without a leading `@`,
 * then the one path that differs only in the kind of its spaces, quotes or accents.
 */
export async function findForReading(cwd: string, path: string): Promise<FoundPath> {
  if (path.includes("\0")) return { found: false, problem: `${showPath(path)} is no path: it holds a NUL.` };
  const home = expandHome(path);
  const exact = resolve(cwd, path);
  if (await exists(exact)) return { found: true, path: exact };
  if (home !== undefined && (await exists(home))) return { found: true, path: home };
  const spellings = [home ?? exact, ...(/^@./.test(path) ? [resolveForWriting(cwd, path.slice(1))] : [])];
  for (const spelling of spellings) {
    const matches = await findVariants(spelling);
    const [match] = matches;
    if (matches.length > 1) return { found: false, problem: ambiguous(path, matches) };
    if (match !== undefined) return { found: true, path: match, note: usedInstead(path, match) };
  }
  return { found: false, problem: await describeMissing(path, home ?? exact) };
}

/** A sentence about a path where nothing is, with the names that come near it or what a link says instead. */
async function describeMissing(asked: string, path: string): Promise<string> {
  const link = await readlink(path).catch(() => undefined);
  if (link !== undefined) {
    return `${showPath(asked)} is a symbolic link to ${showPath(link)}, where nothing is.`;
  }
  const folder = dirname(path);
  if (!(await isDirectory(folder))) {
    if (await exists(folder))
      return `${showPath(asked)} does not exist: ${showPath(folder)} is not a folder.`;
    const existing = await nearestFolder(folder);
    const similar = suggestions(basename(firstMissing(path, existing)), await namesIn(existing));
    return `${showPath(asked)} does not exist: there is no folder ${showPath(folder)}.${didYouMean(existing, similar)}`;
  }
  const similar = suggestions(basename(path), await namesIn(folder));
  return `${showPath(asked)} does not exist.${didYouMean(folder, similar)}`;
}

/** No system has longer ones: what exceeds this is no path, however much of it a model sends. */
const maxShownLength = 4096;

/** A name or path for people and models: control characters are escaped, so that it stays on one line. */
export function showPath(path: string): string {
  const shown = path.length > maxShownLength ? `${path.slice(0, maxShownLength)}…` : path;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are the subject
  return shown.toWellFormed().replace(/[\u0000-\u001F\u007F-\u009F\u2028\u2029]/g, escapeCharacter);
}

/** What a path leads to, when that is not a regular file: `a directory`, `a FIFO`. */
export function specialKind(stats: Stats): string | undefined {
  if (stats.isDirectory()) return "a directory";
  if (stats.isFIFO()) return "a FIFO";
  if (stats.isSocket()) return "a socket";
  if (stats.isCharacterDevice() || stats.isBlockDevice()) return "a device";
  return undefined;
}

const meanings: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "the operation is not permitted",
  ENOENT: "it does not exist",
  ENOTDIR: "a part of the path is not a directory",
  EEXIST: "a part of the path is a file, not a directory",
  EISDIR: "it is a directory",
  ELOOP: "its symbolic links lead in a circle",
  ENAMETOOLONG: "the name is too long",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EFBIG: "the file would be larger than allowed",
  EROFS: "the file system is read-only",
  EMFILE: "too many files are open",
  ETXTBSY: "it is a program that is running",
  EAGAIN: "reading it would wait for data",
  EIO: "the disk reports an error",
  ERR_INVALID_ARG_VALUE: "the path holds a NUL character",
};

/** One sentence about a failed file operation: `Cannot write x: the disk is full.` */
export function describeFileError(action: string, path: string, error: unknown): string {
  const meaning = meanings[errorCode(error) ?? ""] ?? errorMessage(error);
  return `Cannot ${action} ${showPath(path)}: ${meaning}.`;
}

/** The same for a path that was asked for and looked up; one that leads to nothing is told as missing. */
export async function describeLookupError(
  action: string,
  { asked, path }: { readonly asked: string; readonly path: string },
  error: unknown,
): Promise<string> {
  if (errorCode(error) === "ENOENT") return describeMissing(asked, path);
  return describeFileError(action, asked, error);
}

/** The system's code of an error, for instance `ENOENT`. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

function expandHome(path: string): string | undefined {
  if (path === "~") return homedir();
  return path.startsWith("~/") || path.startsWith(`~${sep}`) ? join(homedir(), path.slice(2)) : undefined;
}

/** Whether something has that name, a symbolic link that leads nowhere and a file in a closed folder included. */
async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    const code = errorCode(error);
    return code !== "ENOENT" && code !== "ENOTDIR" && code !== "ENAMETOOLONG";
  }
}

/** All paths that are there and look like the given one, in every part of the path. */
async function findVariants(path: string): Promise<string[]> {
  const { root } = parse(path);
  let matches = [root];
  for (const part of path.slice(root.length).split(sep)) {
    const next: string[] = [];
    for (const folder of matches) {
      const exact = join(folder, part);
      if (await exists(exact)) next.push(exact);
      else next.push(...(await namesLike(folder, part)).map((name) => join(folder, name)));
    }
    matches = next;
  }
  return matches;
}

async function namesLike(folder: string, name: string): Promise<string[]> {
  const look = plainLook(name);
  return (await namesIn(folder)).filter((other) => plainLook(other) === look);
}

/** What is left of a name when spaces, quotes and accents are spelt in the plainest way. */
function plainLook(name: string): string {
  return name
    .normalize("NFC")
    .replace(/[\u00A0\u2000-\u200A\u202F\u205F\u3000]/g, " ")
    .replace(/[\u2018\u2019\u201A\u201B]/g, "'")
    .replace(/[\u201C\u201D\u201E\u201F]/g, '"');
}

/** Names in a folder; none when it cannot be listed. */
async function namesIn(folder: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const entry of await opendir(folder)) {
      if (names.push(entry.name) >= maxNamesCompared) break;
    }
  } catch {
    // Looking for other names is a favour; the answer about the path itself stands without it.
  }
  return names;
}

function usedInstead(asked: string, used: string): string {
  return `${showPath(asked)} does not exist; this is ${showPath(used)}.`;
}

function ambiguous(path: string, matches: readonly string[]): string {
  const names = matches.slice(0, maxSuggestions).map((match) => JSON.stringify(match));
  return `${showPath(path)} does not exist, and several paths look like it: ${names.join(", ")}.`;
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

async function nearestFolder(folder: string): Promise<string> {
  let path = folder;
  while (!(await isDirectory(path)) && dirname(path) !== path) path = dirname(path);
  return path;
}

/** The part of a path right below an existing folder. */
function firstMissing(path: string, existing: string): string {
  let part = path;
  while (dirname(part) !== existing && dirname(part) !== part) part = dirname(part);
  return part;
}

function didYouMean(folder: string, names: readonly string[]): string {
  if (names.length === 0) return "";
  const paths = names.map((name) => showPath(join(folder, name)));
  return ` Did you mean ${paths.join(" or ")}?`;
}

/** The names nearest to a misspelt one, the nearest first. */
function suggestions(name: string, names: readonly string[]): string[] {
  return nearest(name, names.slice(0, maxNamesRated), maxSuggestions).filter(
    (other) => dissimilarity(name, other) <= maxDissimilarity,
  );
}

function escapeCharacter(character: string): string {
  const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }[character];
  return short ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
