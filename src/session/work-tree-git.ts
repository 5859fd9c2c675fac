import type { RunGit } from "./work-tree.ts";

/** What git knows of a work tree. */
export type GitState = {
  /** The commit that is checked out. */
  readonly commit: string;
  /** Commit, branch and stash. */
  readonly state: string;
  /** What git says of each file that differs from the commit, by its path from the root; that of a folder ends in `/`. */
  readonly changes: ReadonlyMap<string, string>;
  /** Files and folders that are ignored. */
  readonly ignored: readonly string[];
};

/** What stands for the commit of a repository without one. */
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/** Asks git for the state of a repository, given by its root; undefined when git fails. */
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
    ],
    root,
  );
  return status === undefined ? undefined : parseGitStatus(status);
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
  return { commit, state: state.join("\n"), changes, ignored };
}

/** How many words stand in front of the path in each kind of line. */
const fieldsBeforePath: Readonly<Record<string, number>> = { "1": 8, "2": 9, u: 10 };

function split(field: string, words: number): { path: string; facts: string } {
  let at = 0;
  for (let word = 0; word < words; word++) at = field.indexOf(" ", at) + 1;
  return { facts: field.slice(0, at - 1), path: field.slice(at) };
}
