import { createHash } from "node:crypto";
import { relative, resolve } from "node:path";
import { type FileScan, fingerprint, type OwnFiles, outlineOf, scanFolder } from "./work-tree-files.ts";
import { type GitState, readGitState, submodulePrint } from "./work-tree-git.ts";

/** Runs git and gives what it wrote on stdout; undefined when it is not there or its status is not 0. Never throws. */
export type RunGit = (args: readonly string[], cwd: string) => Promise<string | undefined>;

export type WorkTreeSources = {
  /** Absolute. */
  readonly cwd: string;
  readonly runGit: RunGit;
  /** What the program itself writes is no change of the work tree. */
  readonly own: OwnFiles;
};

/** What the files that work happens on are like at one moment. */
export type WorkTree = {
  readonly root: string;
  readonly git?: GitState;
  /**
   * A fingerprint of the content of each file, by its path from the root: in a git repository of those that differ from
   * the last commit, elsewhere of all.
   */
  readonly files: ReadonlyMap<string, string>;
  /** Stands for the files that git ignores, as far as they were looked at. */
  readonly ignored: string;
};

/** How many files are looked at: outside of git, of those that differ from the commit, and of those that git ignores. */
const maxFiles = 20_000;

/** Looks at the work tree. Undefined when it is too large, or git fails on it. */
export async function readWorkTree(sources: WorkTreeSources): Promise<WorkTree | undefined> {
  const { cwd, runGit, own } = sources;
  const root = (await runGit(["rev-parse", "--show-toplevel"], cwd))?.replace(/\n$/, "");
  if (root === undefined || root === "") {
    const scan = scanFolder(cwd, { maxFiles, own });
    return scan.complete ? { root: cwd, files: scan.files, ignored: "" } : undefined;
  }
  const git = await readGitState(root, runGit);
  if (git === undefined || git.changes.size > maxFiles) return undefined;
  const files = new Map<string, string>();
  for (const path of git.changes.keys()) {
    for (const [name, print] of prints(root, path, own)) files.set(name, print);
    const submodule = submodulePrint(path, git);
    if (submodule !== undefined) files.set(path, submodule);
  }
  return { root, git, files, ignored: ignoredPrint(root, git, own) };
}

/**
 * Two work trees of which this is the same are the same. The tree is looked at once more: git knows neither folders
 * without files nor most permissions.
 */
export function workTreeDigest({ root, git, files, ignored }: WorkTree, own: OwnFiles): string {
  const hash = createHash("sha1");
  hash.update(outlineOf(root, { last: new Set(git?.ignored), maxFiles, own }));
  // Of what the program itself writes there is no fingerprint.
  const changes = [...(git?.changes ?? [])].filter(([path]) => files.has(path));
  hash.update(JSON.stringify([git?.state, changes, [...files], ignored]));
  return hash.digest("base64");
}

/** The files whose content is another than it was, as paths from the working folder, sorted. */
export async function changedFiles(
  before: WorkTree,
  now: WorkTree,
  { cwd, runGit, own }: WorkTreeSources,
): Promise<string[]> {
  const after = asSeenBefore(now, before, own);
  const moved = await committedBetween(before, after, runGit);
  const candidates = new Set([...before.files.keys(), ...after.files.keys(), ...moved]);
  const isChanged = (path: string): boolean => {
    const was = before.files.get(path);
    // A file that git did not name was as committed, and is not any more.
    if (was === undefined) return true;
    const is =
      after.files.get(path) ??
      (after.git === undefined ? undefined : fingerprint(resolve(after.root, path), own));
    return is !== was;
  };
  return [...candidates]
    .filter((path) => !isOfGit.test(path) && isChanged(path))
    .map((path) => relative(cwd, resolve(after.root, path)))
    .sort();
}

/** What git keeps for itself, in a repository that was made meanwhile or that is none of this one's. */
const isOfGit = /(^|\/)\.git(\/|$)/;

/** Where a repository was made meanwhile, files are looked at as they were before: by size and time. */
function asSeenBefore(now: WorkTree, { root, git }: WorkTree, own: OwnFiles): WorkTree {
  if (git !== undefined || now.git === undefined) return now;
  return { root, files: scanFolder(root, { maxFiles, own }).files, ignored: "" };
}

function prints(root: string, path: string, own: OwnFiles): [path: string, print: string][] {
  // An untracked repository within this one.
  if (path.endsWith("/")) {
    const inner = scanFolder(resolve(root, path), { maxFiles, own });
    return [...inner.files].map(([name, print]) => [path + name, print]);
  }
  const print = fingerprint(resolve(root, path), own);
  return print === undefined ? [] : [[path, print]];
}

function ignoredPrint(root: string, { ignored }: GitState, own: OwnFiles): string {
  const hash = createHash("sha1");
  let room = maxFiles;
  for (const path of ignored) {
    if (room <= 0) break;
    const scan: FileScan = scanFolder(resolve(root, path), { maxFiles: room, own });
    room -= scan.files.size;
    if (scan.files.size > 0) hash.update(JSON.stringify([path, ...scan.files]));
  }
  return hash.digest("base64");
}

async function committedBetween(before: WorkTree, after: WorkTree, runGit: RunGit): Promise<string[]> {
  const [from, to] = [before.git?.commit, after.git?.commit];
  if (from === undefined || to === undefined || from === to) return [];
  const names = await runGit(["diff", "--name-only", "--no-renames", "-z", from, to], after.root);
  return names === undefined ? [] : names.split("\0").filter((name) => name !== "");
}
