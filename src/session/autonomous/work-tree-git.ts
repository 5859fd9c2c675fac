import { existsSync } from "node:fs";
import { join } from "node:path";
import type { RunGit } from "./work-tree.ts";

/** What git knows of a work tree. */
export type GitState = {
  /** The commit that is checked out. */
  readonly commit: string;
  /** Commit, branch and stash, those of changed submodules too. */
  readonly state: string;
  /**
   * What git says of each file that differs from the commit or that git does not look at, in submodules of theirs, by its
   * path from the root; that of a folder ends in `/`.
   */
  readonly changes: ReadonlyMap<string, string>;
  /** Files and folders that are ignored. */
  readonly ignored: readonly string[];
  /** The commits that changed submodules are at, by their paths from the root. */
  readonly submodules: ReadonlyMap<string, string>;
};

/** What stands for the commit of a repository without one. */
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/** Asks git for the state of a repository with its submodules, given by its root; undefined when git fails. */
export async function readGitState(root: string, runGit: RunGit): Promise<GitState | undefined> {
  const status = await runGit(
    [
      "status",
      "--porcelain=v2",
      "--branch",
      "--show-stash",
      "-z",
      "--untracked-files=all",
      "--ignored=matching",
      "--ignore-submodules=none",
    ],
    root,
  );
  if (status === undefined) return undefined;
  const state = parseGitStatus(status);
  const listed = await runGit(["ls-files", "-v", "-z"], root);
  const unwatched = listed === undefined ? [] : unwatchedFiles(listed, root);
  const changes = new Map([...unwatched, ...state.changes]);
  return withSubmodules({ ...state, changes }, root, runGit);
}

/** The files that git was told not to look at (`--assume-unchanged`, `--skip-worktree`), so that its status is silent on them. */
function unwatchedFiles(listed: string, root: string): [path: string, facts: string][] {
  return listed
    .split("\0")
    .filter((line) => /^[a-zS] /.test(line) && existsSync(join(root, line.slice(2))))
    .map((line) => [line.slice(2), line[0] ?? ""]);
}

/** Of a submodule git says only that something in it differs, so that it is asked for each by itself. */
async function withSubmodules(
  { commit, ...outer }: GitState,
  root: string,
  runGit: RunGit,
): Promise<GitState | undefined> {
  const state = [outer.state];
  const changes = new Map(outer.changes);
  const ignored = [...outer.ignored];
  const submodules = new Map<string, string>();
  for (const [path, facts] of outer.changes) {
    // Without a repository of its own, git would tell the state of this one again.
    if (!isSubmodule.test(facts) || !existsSync(join(root, path, ".git"))) continue;
    const inner = await readGitState(join(root, path), runGit);
    if (inner === undefined) return undefined;
    state.push(path, inner.state);
    submodules.set(path, inner.commit);
    for (const [name, oid] of inner.submodules) submodules.set(`${path}/${name}`, oid);
    for (const [name, each] of inner.changes) changes.set(`${path}/${name}`, each);
    ignored.push(...inner.ignored.map((name) => `${path}/${name}`));
  }
  return { commit, state: state.join("\n"), changes, ignored, submodules };
}

const isSubmodule = /^(1|2|u) \S+ S/;
const onlyFilesDiffer = /^1 \.M S\./;

/** What stands for a submodule itself, where it is at another commit than the repository has. */
export function submodulePrint(path: string, { changes, submodules }: GitState): string | undefined {
  const [facts, oid] = [changes.get(path), submodules.get(path)];
  return facts === undefined || oid === undefined || onlyFilesDiffer.test(facts) ? undefined : `at ${oid}`;
}

/** Reads what `git status --porcelain=v2 -z` wrote. */
export function parseGitStatus(status: string): GitState {
  const changes = new Map<string, string>();
  const ignored: string[] = [];
  const state: string[] = [];
  let commit = emptyTree;
  const fields = status.split("\0");
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at] ?? "";
    const [kind = ""] = field;
    if (kind === "#") {
      state.push(field);
      const [, oid] = /^# branch\.oid ([0-9a-f]+)$/.exec(field) ?? [];
      commit = oid ?? commit;
    } else if (kind === "?") changes.set(field.slice(2), "?");
    else if (kind === "!") ignored.push(field.slice(2));
    else if (kind in fieldsBeforePath) {
      const { path, facts } = split(field, fieldsBeforePath[kind] ?? 0);
      changes.set(path, facts);
      // The path that it was renamed from follows.
      if (kind === "2") changes.set(fields[++at] ?? "", `from of ${facts}`);
    }
  }
  return { commit, state: state.join("\n"), changes, ignored, submodules: new Map() };
}

/** How many words stand in front of the path in each kind of line. */
const fieldsBeforePath: Readonly<Record<string, number>> = { "1": 8, "2": 9, u: 10 };

function split(field: string, words: number): { path: string; facts: string } {
  let at = 0;
  for (let word = 0; word < words; word++) at = field.indexOf(" ", at) + 1;
  return { facts: field.slice(0, at - 1), path: field.slice(at) };
}
