import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import ignore, { type Ignore } from "ignore";

/** Which files a search leaves out. */
export type IgnoreRules = {
  /** Whether a path below the top is ignored, by itself or with a folder that it is in. */
  ignores(path: string, isFolder: boolean): boolean;
};

/** Where the rules of a search come from. */
export type IgnoreScope = {
  readonly rules: IgnoreRules;
  /** Rules of folders above the search's own apply: they belong to the same repository. */
  readonly usesParents: boolean;
};

/**
 * Finds the rules for a search of a folder: those of the repository that it is in, up to the repository's root and
 * no further; those of the folder itself where there is no repository, or where the repository ignores the folder
 * that was asked for.
 */
export function ignoreScope(folder: string): IgnoreScope {
  const repository = repositoryOf(folder);
  if (repository !== undefined) {
    const rules = createIgnoreRules(repository, isRepository);
    if (folder === repository || !ignoresAllOf(folder, rules)) return { rules, usesParents: true };
  }
  // Without a repository around it, a search takes each rule file for all that is below it, repositories too.
  return { rules: createIgnoreRules(folder, () => false), usesParents: false };
}

/** Whether nothing new in a folder could be seen: it is ignored, or everything in it is (`out/*`). */
function ignoresAllOf(folder: string, rules: IgnoreRules): boolean {
  const anything = join(folder, "0");
  return rules.ignores(folder, true) || (rules.ignores(anything, false) && rules.ignores(anything, true));
}

/** Rules from above a boundary do not apply below it. */
function createIgnoreRules(top: string, isBoundary: (folder: string) => boolean): IgnoreRules {
  const filesByFolder = new Map<string, Ignore | undefined>();
  const ignoredFolders = new Map<string, boolean>([[top, false]]);

  function rulesOf(folder: string): Ignore | undefined {
    if (!filesByFolder.has(folder)) filesByFolder.set(folder, readRules(folder));
    return filesByFolder.get(folder);
  }

  /** The verdict of the nearest rule file that has one. */
  function isNamed(path: string, isFolder: boolean): boolean {
    for (let folder = dirname(path); ; folder = dirname(folder)) {
      const name = relative(folder, path).split(sep).join("/");
      const verdict = rulesOf(folder)?.test(isFolder ? `${name}/` : name);
      if (verdict?.ignored) return true;
      if (verdict?.unignored || folder === top || isBoundary(folder)) return false;
    }
  }

  function ignoresFolder(folder: string): boolean {
    const known = ignoredFolders.get(folder);
    if (known !== undefined) return known;
    const result = ignoresFolder(dirname(folder)) || isNamed(folder, true);
    ignoredFolders.set(folder, result);
    return result;
  }

  return {
    ignores: (path, isFolder) =>
      isFolder ? ignoresFolder(path) : ignoresFolder(dirname(path)) || isNamed(path, false),
  };
}

function readRules(folder: string): Ignore | undefined {
  const texts = [join(folder, ".git", "info", "exclude"), join(folder, ".gitignore")].map(readIfThere);
  if (texts.every((text) => text === undefined)) return undefined;
  const rules = ignore({ ignorecase: process.platform !== "linux" });
  for (const text of texts) if (text !== undefined) rules.add(text);
  return rules;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

function repositoryOf(folder: string): string | undefined {
  for (let at = folder; ; at = dirname(at)) {
    if (isRepository(at)) return at;
    if (at === dirname(at)) return undefined;
  }
}

function isRepository(folder: string): boolean {
  return existsSync(join(folder, ".git"));
}
