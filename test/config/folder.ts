import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach } from "vitest";

/** A throw-away folder, and the warnings of what is read in it. */
export type Folder = {
  /** Without links in it. */
  readonly root: string;
  readonly warnings: string[];
  readonly warn: (line: string) => void;
  /** Absolute. */
  path(name: string): string;
  /** Writes a file with its folders; gives its path. */
  file(name: string, content?: string | Uint8Array): string;
  /** Makes a folder; gives its path. */
  folder(name: string): string;
};

const roots: string[] = [];
afterEach(() => {
  for (const root of roots.splice(0)) rmSync(root, { recursive: true });
});

/** Makes a folder that lasts until the end of the test. */
export function createFolder(): Folder {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "config-")));
  roots.push(root);
  const warnings: string[] = [];
  const folder: Folder = {
    root,
    warnings,
    warn: (line) => warnings.push(line),
    path: (name) => join(root, name),
    file(name, content = `text of ${name}\n`) {
      mkdirSync(dirname(folder.path(name)), { recursive: true });
      writeFileSync(folder.path(name), content);
      return folder.path(name);
    },
    folder(name) {
      mkdirSync(folder.path(name), { recursive: true });
      return folder.path(name);
    },
  };
  return folder;
}
