import { symlinkSync } from "node:fs";
import { relative } from "node:path";
import { expect, test } from "vitest";
import { readContextFiles } from "../../src/config/context-files.ts";
import { createFolder, type Folder } from "./folder.ts";

/** The context files of a working directory: their paths, relative to the folder. */
function read({ root, folder, path, warn }: Folder, cwd: string): string[] {
  folder("home");
  const { files } = readContextFiles({ home: path("home"), cwd: folder(cwd), warn });
  return files.map((file) => relative(root, file.path));
}

test.each<{ name: string; there: string[]; cwd: string; expected: string[] }>([
  { name: "no file", there: ["repo/.git/HEAD"], cwd: "repo", expected: [] },
  {
    name: "from home, then from the repository's root down",
    there: ["repo/.git/HEAD", "home/AGENTS.md", "repo/AGENTS.md", "repo/a/AGENTS.md", "repo/a/b/AGENTS.md"],
    cwd: "repo/a/b",
    expected: ["home/AGENTS.md", "repo/AGENTS.md", "repo/a/AGENTS.md", "repo/a/b/AGENTS.md"],
  },
  {
    name: "a folder without one is passed over",
    there: ["repo/.git/HEAD", "repo/AGENTS.md", "repo/a/b/AGENTS.md"],
    cwd: "repo/a/b",
    expected: ["repo/AGENTS.md", "repo/a/b/AGENTS.md"],
  },
  {
    name: "AGENTS.md before CLAUDE.md, folder by folder",
    there: ["repo/.git/HEAD", "home/CLAUDE.md", "repo/AGENTS.md", "repo/CLAUDE.md", "repo/a/CLAUDE.md"],
    cwd: "repo/a",
    expected: ["home/CLAUDE.md", "repo/AGENTS.md", "repo/a/CLAUDE.md"],
  },
  {
    name: "nothing from above the repository, beside or below the working directory",
    there: ["AGENTS.md", "repo/.git/HEAD", "repo/a/AGENTS.md", "repo/b/AGENTS.md", "repo/a/b/AGENTS.md"],
    cwd: "repo/a",
    expected: ["repo/a/AGENTS.md"],
  },
  {
    name: "the nearest repository is the one, as in a submodule, where .git is a file",
    there: ["repo/.git/HEAD", "repo/AGENTS.md", "repo/sub/.git", "repo/sub/AGENTS.md"],
    cwd: "repo/sub/src",
    expected: ["repo/sub/AGENTS.md"],
  },
  {
    name: "outside a repository the working directory alone",
    there: ["AGENTS.md", "work/AGENTS.md", "work/a/AGENTS.md"],
    cwd: "work/a",
    expected: ["work/a/AGENTS.md"],
  },
])("context files: $name", ({ there, cwd, expected }) => {
  const folder = createFolder();
  for (const name of there) folder.file(name);
  expect(read(folder, cwd)).toEqual(expected);
  expect(folder.warnings).toEqual([]);
});

test("parents are those of the folder that a link leads to", () => {
  const folder = createFolder();
  folder.file("repo/.git/HEAD");
  folder.file("repo/AGENTS.md");
  folder.folder("repo/a");
  symlinkSync("repo/a", folder.path("link"));
  const { files } = readContextFiles({
    home: folder.path("home"),
    cwd: folder.path("link"),
    warn: folder.warn,
  });
  expect(files.map(({ path }) => path)).toEqual([folder.path("repo/AGENTS.md")]);
});

test("one file under several names is given once", () => {
  const folder = createFolder();
  folder.file("repo/.git/HEAD");
  folder.file("repo/AGENTS.md");
  folder.folder("repo/a");
  symlinkSync("../AGENTS.md", folder.path("repo/a/AGENTS.md"));
  expect(read(folder, "repo/a")).toEqual(["repo/AGENTS.md"]);
});

test("a home folder inside the project is not read twice", () => {
  const { file, path, warn } = createFolder();
  file("repo/.git/HEAD");
  file("repo/home/AGENTS.md");
  const { files } = readContextFiles({ home: path("repo/home"), cwd: path("repo/home"), warn });
  expect(files).toHaveLength(1);
});

test("a file that cannot be used is warned of once, and CLAUDE.md stands in for it", () => {
  const folder = createFolder();
  folder.file("work/AGENTS.md", "a\0b");
  expect(read(folder, "work")).toEqual([]);
  expect(folder.warnings).toEqual([`${folder.path("work/AGENTS.md")} is left out: it is binary`]);
  folder.file("work/CLAUDE.md");
  expect(read(folder, "work")).toEqual(["work/CLAUDE.md"]);
});

test("a blank file says nothing", () => {
  const folder = createFolder();
  folder.file("work/AGENTS.md", " \n");
  expect(read(folder, "work")).toEqual([]);
  expect(folder.warnings).toEqual([]);
});

test("a file of more than 32 KB is cut with a warning", () => {
  const { file, path, folder, warn, warnings } = createFolder();
  const long = file("work/AGENTS.md", "x".repeat(40_000));
  const { files } = readContextFiles({ home: folder("home"), cwd: path("work"), warn });
  expect(files).toMatchObject([{ path: long, text: "x".repeat(32_768), isCut: true, sizeBytes: 40_000 }]);
  expect(warnings).toEqual([`${long} is cut: of its 40000 bytes the model gets 32768`]);
});

test("of more than 64 KB together, the user's own and the nearest files are kept", () => {
  const { file, path, warn, warnings } = createFolder();
  file("repo/.git/HEAD");
  const contents = "x".repeat(20_000);
  const folders = ["home", "repo", "repo/a", "repo/a/b", "repo/a/b/c"];
  for (const name of folders) file(`${name}/AGENTS.md`, contents);
  const { files, leftOut } = readContextFiles({ home: path("home"), cwd: path("repo/a/b/c"), warn });
  const kept = ["home", "repo/a/b", "repo/a/b/c"].map((name) => path(`${name}/AGENTS.md`));
  const missing = ["repo", "repo/a"].map((name) => path(`${name}/AGENTS.md`));
  expect(files.map((each) => each.path)).toEqual(kept);
  expect(leftOut).toEqual(missing);
  expect(warnings).toEqual(
    missing.map((each) => `${each} is left out: the context files are longer than 65536 bytes together`),
  );
});
