import { constants, type Stats } from "node:fs";
import { access, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, relative, sep } from "node:path";
import { describeLookupError, findForReading, showPath, specialKind } from "../files/path.ts";

/** What grep and find look through. */
export type SearchRoot = {
  /** Absolute; the folder itself, or the one that the file is in. */
  readonly folder: string;
  /** The file's name when a file is searched. */
  readonly file?: string;
  /** Turns a path relative to the folder into one that the other tools take: relative to the working folder. */
  readonly show: (path: string) => string;
  /** Which other path was used than the one asked for. */
  readonly note?: string;
};

export type SearchRootResult =
  | { readonly ok: true; readonly root: SearchRoot }
  | { readonly ok: false; readonly problem: string };

/** Finds what a search's `path` means, relative to the working folder. */
export async function findSearchRoot(cwd: string, asked: string): Promise<SearchRootResult> {
  const found = await findForReading(cwd, asked);
  if (!found.found) return { ok: false, problem: found.problem };
  let stats: Stats;
  try {
    stats = await stat(found.path);
    // A search passes over what it may not read; here it would find nothing in what is the only thing asked for.
    await access(found.path, stats.isDirectory() ? constants.R_OK | constants.X_OK : constants.R_OK);
  } catch (error) {
    return {
      ok: false,
      problem: await describeLookupError("search", { asked, path: found.path }, error),
    };
  }
  const isFolder = stats.isDirectory();
  const kind = isFolder ? undefined : specialKind(stats);
  if (kind !== undefined) {
    return {
      ok: false,
      problem: `${showPath(asked)} is ${kind}: only files and directories can be searched.`,
    };
  }
  const folder = isFolder ? found.path : dirname(found.path);
  const prefix = displayPrefix(cwd, folder);
  return {
    ok: true,
    root: {
      folder,
      ...(isFolder ? {} : { file: basename(found.path) }),
      show: (path) => showPath(`${prefix}${path}`),
      ...(found.note === undefined ? {} : { note: found.note }),
    },
  };
}

function displayPrefix(cwd: string, folder: string): string {
  const inside = relative(cwd, folder);
  if (inside === "") return "";
  const isOutside = inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside);
  const prefix = (isOutside ? folder : inside).split(sep).join("/");
  return prefix.endsWith("/") ? prefix : `${prefix}/`;
}
