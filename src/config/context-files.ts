import { existsSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { readTextFile, showPath, type TextFile } from "./text-file.ts";

export type ContextFilesOptions = {
  /** The program's home folder. */
  readonly home: string;
  /** Absolute; where the tools work. */
  readonly cwd: string;
  /** Takes one line about a file that is left out or cut. */
  readonly warn: (line: string) => void;
};

/** The standing instructions of the user and the project, the most general first. */
export type ContextFiles = {
  readonly files: readonly TextFile[];
  /** Paths of those that there was no room for. */
  readonly leftOut: readonly string[];
};

/** Of each folder the first one that is there. */
const names = ["AGENTS.md", "CLAUDE.md"];
const maxFileBytes = 32 * 1024;
const maxTotalBytes = 64 * 1024;

/**
 * Reads AGENTS.md, or CLAUDE.md where there is none, from the home folder and from each folder between the root of the
 * repository and the working directory; outside a repository, from the working directory alone. Where they are too
 * long together, the user's own and those nearest to the working directory are kept.
 */
export function readContextFiles({ home, cwd, warn }: ContextFilesOptions): ContextFiles {
  const own = readFrom(home, warn);
  const project = projectFolders(cwd).flatMap((folder) => readFrom(folder, warn));
  const { kept, leftOut } = keepNearest(distinct([...own, ...project]), own.length);
  for (const { path, isCut, sizeBytes } of kept)
    if (isCut) warn(`${showPath(path)} is cut: of its ${sizeBytes} bytes the model gets ${maxFileBytes}`);
  for (const path of leftOut)
    warn(`${showPath(path)} is left out: the context files are longer than ${maxTotalBytes} bytes together`);
  return { files: kept, leftOut };
}

/** From the repository's root down to the working directory. */
function projectFolders(cwd: string): string[] {
  const folders: string[] = [];
  for (let folder = realPath(cwd); ; folder = dirname(folder)) {
    folders.unshift(folder);
    if (existsSync(join(folder, ".git"))) return folders;
    if (dirname(folder) === folder) return folders.slice(-1);
  }
}

/** Parents are those of the folder itself, not of a link to it. */
function realPath(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}

function readFrom(folder: string, warn: (line: string) => void): TextFile[] {
  for (const name of names) {
    const file = readTextFile(join(folder, name), { maxBytes: maxFileBytes, warn });
    if (file !== undefined) return file.text.trim() === "" ? [] : [file];
  }
  return [];
}

/** Says nothing twice where links lead to one file, or the home folder is a part of the project. */
function distinct(files: readonly TextFile[]): TextFile[] {
  const seen = new Set<string>();
  return files.filter(({ identity }) => !seen.has(identity) && seen.add(identity));
}

function keepNearest(files: readonly TextFile[], ownCount: number): { kept: TextFile[]; leftOut: string[] } {
  const byWeight = [...files.slice(0, ownCount), ...files.slice(ownCount).reverse()];
  const kept = new Set<TextFile>();
  let room = maxTotalBytes;
  for (const file of byWeight) {
    const size = Buffer.byteLength(file.text);
    if (size > room) break;
    room -= size;
    kept.add(file);
  }
  return {
    kept: files.filter((file) => kept.has(file)),
    leftOut: files.filter((file) => !kept.has(file)).map(({ path }) => path),
  };
}
