import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { IgnoreRules } from "./ignore-rules.ts";

/**
 * Goes through the files below a folder in the order of their paths, without those that are ignored, `.git` and what
 * links lead to. Yields paths relative to the folder, with `/`. Folders that cannot be read are left out.
 */
export async function* walkFiles(
  root: string,
  rules: IgnoreRules,
  signal: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const waiting = [{ path: "", isFolder: true }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    signal.throwIfAborted();
    if (!next.isFolder) {
      yield next.path;
      continue;
    }
    const { path: folder } = next;
    const entries = await readdir(join(root, folder), { withFileTypes: true }).catch(() => []);
    const found = entries
      .filter((entry) => entry.name !== ".git" && (entry.isDirectory() || entry.isFile()))
      .map((entry) => ({
        path: folder ? `${folder}/${entry.name}` : entry.name,
        isFolder: entry.isDirectory(),
      }))
      .filter(({ path, isFolder }) => !rules.ignores(join(root, path), isFolder))
      .sort((a, b) => (a.path < b.path ? 1 : -1));
    waiting.push(...found);
  }
}
