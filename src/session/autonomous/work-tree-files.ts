import { createHash } from "node:crypto";
import { type BigIntStats, lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { basename, join, sep } from "node:path";

/** Files that the program itself writes while it works. */
export type OwnFiles = {
  /** Absolute paths of files and folders. */
  readonly paths: ReadonlySet<string>;
  /** Files that are open, as `device:inode`: what stdout and stderr go to. */
  readonly open: ReadonlySet<string>;
};

/** What was found in a folder: a fingerprint of each file by its path from there, in the order of their names. */
export type FileScan = {
  readonly files: ReadonlyMap<string, string>;
  /** Whether it is all that there is. */
  readonly complete: boolean;
};

/** Content is read up to this size; of a larger file size and time have to do. */
const maxContentBytes = 1n << 20n;

/**
 * A text that changes with a file's content; undefined for a folder and for what the program itself writes. Never
 * throws.
 */
export function fingerprint(path: string, own: OwnFiles): string | undefined {
  const stats = statsOf(path);
  if (isOwn(path, stats, own) || stats?.isDirectory()) return undefined;
  if (stats === undefined) return "missing";
  try {
    if (stats.isSymbolicLink()) return `link ${readlinkSync(path)}`;
    if (!stats.isFile()) return "special";
    const mode = stats.mode & 0o111n ? "x" : "";
    if (stats.size > maxContentBytes) return `${mode}${stats.size} ${stats.mtimeNs}`;
    return mode + createHash("sha1").update(readFileSync(path)).digest("base64");
  } catch {
    return "unreadable";
  }
}

/**
 * Looks at the files of a folder, or at the one file that the path names, by size and time. Links are not followed. What
 * cannot be read counts as not there.
 */
export function scanFolder(
  folder: string,
  { maxFiles, own }: { readonly maxFiles: number; readonly own: OwnFiles },
): FileScan {
  const files = new Map<string, string>();
  const complete = scan("");
  return { files, complete };

  /** Gives whether there was room for all. */
  function scan(path: string): boolean {
    const full = join(folder, path);
    const stats = statsOf(full);
    if (stats === undefined || isOwn(full, stats, own)) return true;
    if (stats.isDirectory())
      return namesIn(full).every((name) => scan(path === "" ? name : `${path}/${name}`));
    if (files.size >= maxFiles) return false;
    files.set(path, `${stats.size} ${stats.mtimeNs} ${stats.ctimeNs} ${stats.ino}`);
    return true;
  }
}

/**
 * A fingerprint of which files and folders there are below a folder, and of their permissions, up to `maxFiles` of them.
 * What is in the folders of `last` is looked at when all else was.
 */
export function outlineOf(
  root: string,
  {
    last,
    maxFiles,
    own,
  }: { readonly last: ReadonlySet<string>; readonly maxFiles: number; readonly own: OwnFiles },
): string {
  const hash = createHash("sha1");
  const later: string[] = [];
  let room = maxFiles;
  visit([""]);
  visit(later);
  return hash.digest("base64");

  function visit(folders: string[]): void {
    // What is found on the way is visited behind what is known.
    for (const folder of folders)
      for (const name of namesIn(join(root, folder))) look(folder + name, folders);
  }

  function look(path: string, folders: string[]): void {
    const full = join(root, path);
    const stats = statsOf(full);
    if (room <= 0 || stats === undefined || basename(path) === ".git" || isOwn(full, stats, own)) return;
    room--;
    hash.update(`${path}\0${stats.mode}\0`);
    const inside = `${path}/`;
    if (stats.isDirectory()) (last.has(inside) ? later : folders).push(inside);
  }
}

function isOwn(path: string, stats: BigIntStats | undefined, own: OwnFiles): boolean {
  if (stats !== undefined && own.open.has(`${stats.dev}:${stats.ino}`)) return true;
  return [...own.paths].some((each) => path === each || path.startsWith(each + sep));
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort();
  } catch {
    return [];
  }
}

function statsOf(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}
