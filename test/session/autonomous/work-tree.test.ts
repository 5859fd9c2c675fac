import { execFile, execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  changedFiles,
  type RunGit,
  readWorkTree,
  workTreeDigest,
} from "../../../src/session/autonomous/work-tree.ts";
import { parseGitStatus } from "../../../src/session/autonomous/work-tree-git.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "base-context-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const runGit: RunGit = async (args, cwd) => {
  try {
    return (await promisify(execFile)("git", [...args], { cwd })).stdout;
  } catch {
    return undefined;
  }
};

function git(...args: string[]): void {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
  execFileSync("git", [...identity, ...args], { cwd: folder, stdio: "ignore" });
}

function write(path: string, content: string): void {
  writeFileSync(join(folder, path), content);
}

function sources(own: { paths?: string[]; open?: string[] } = {}) {
  return { cwd: folder, runGit, own: { paths: new Set(own.paths), open: new Set(own.open) } };
}

async function digest(own?: Parameters<typeof sources>[0]): Promise<string> {
  const tree = await readWorkTree(sources(own));
  if (tree === undefined) throw new Error("the work tree could not be told");
  return workTreeDigest(tree, sources(own).own);
}

type Change = readonly [name: string, change: () => void];

const changes: readonly Change[] = [
  ["a new file", () => write("new", "")],
  ["another content of the same length", () => write("tracked", "b\n")],
  ["another content of a file that is dirty already", () => write("dirty", "c\n")],
  ["another content of an untracked file", () => write("untracked", "c\n")],
  ["a file that is gone", () => rmSync(join(folder, "tracked"))],
  [
    "a link that leads elsewhere",
    () => {
      rmSync(join(folder, "link"));
      symlinkSync("dirty", join(folder, "link"));
    },
  ],
  ["a folder without files", () => mkdirSync(join(folder, "empty/inner"), { recursive: true })],
  ["other permissions", () => chmodSync(join(folder, "tracked"), 0o600)],
  [
    "a file in a new folder",
    () => {
      mkdirSync(join(folder, "deep/er"), { recursive: true });
      write("deep/er/x", "");
    },
  ],
];

function fill(): void {
  write("tracked", "a\n");
  write("dirty", "a\n");
  symlinkSync("tracked", join(folder, "link"));
}

describe("in a git repository", () => {
  beforeEach(() => {
    git("init", "-q");
    fill();
    write(".gitignore", "ignored*\n");
    for (const name of ["assumed", "skipped", "left out"]) write(name, "a\n");
    git("add", ".");
    git("commit", "-qm", "start");
    git("update-index", "--assume-unchanged", "assumed");
    git("update-index", "--skip-worktree", "skipped", "left out");
    rmSync(join(folder, "left out"));
    write("dirty", "b\n");
    write("untracked", "b\n");
    write("ignored", "b\n");
    mkdirSync(join(folder, "ignored-too"));
    write("ignored-too/file", "b\n");
  });

  const gitChanges: readonly Change[] = [
    ...changes,
    ["a commit", () => git("commit", "-qam", "more")],
    ["a stash", () => git("stash")],
    ["another branch", () => git("checkout", "-qb", "other")],
    ["a file that is staged", () => git("add", "untracked")],
    ["a file that may be executed", () => chmodSync(join(folder, "dirty"), 0o755)],
    ["an ignored file", () => write("ignored", "cc\n")],
    ["a folder without files in an ignored one", () => mkdirSync(join(folder, "ignored-too/inner"))],
    ["a file that git is to assume unchanged", () => write("assumed", "c\n")],
    ["a file that git is to skip", () => write("skipped", "c\n")],
    ["a file that git was to skip and that is gone", () => rmSync(join(folder, "skipped"))],
  ];
  test.each(gitChanges)("%s is a change", async (_, change) => {
    const before = await digest();
    change();
    expect(await digest()).not.toBe(before);
  });

  test("a look and a touch are none", async () => {
    const before = await digest();
    for (const name of ["tracked", "dirty", "untracked"]) utimesSync(join(folder, name), 1, 1);
    execFileSync("git", ["status"], { cwd: folder });
    expect(await digest()).toBe(before);
  });

  test("what is done and undone is none", async () => {
    const before = await digest();
    write("new", "");
    rmSync(join(folder, "new"));
    expect(await digest()).toBe(before);
  });

  test("a change above the working folder is one", async () => {
    mkdirSync(join(folder, "sub"));
    const look = async () => {
      const tree = await readWorkTree({ ...sources(), cwd: join(folder, "sub") });
      return tree && workTreeDigest(tree, sources().own);
    };
    const before = await look();
    write("tracked", "c\n");
    expect(await look()).not.toBe(before);
  });

  test("of a repository within this one its files are named", async () => {
    const before = await readWorkTree(sources());
    git("init", "-q", "inner");
    write("inner/file", "b\n");
    const after = await readWorkTree(sources());
    expect(before && after && (await changedFiles(before, after, sources()))).toEqual(["inner/file"]);
  });

  test("a file that git does not look at is named when it differs", async () => {
    const before = await readWorkTree(sources());
    write("assumed", "c\n");
    const after = await readWorkTree(sources());
    expect(before && after && (await changedFiles(before, after, sources()))).toEqual(["assumed"]);
  });

  test("what differs in content is named, committed or not", async () => {
    const before = await readWorkTree(sources());
    write("tracked", "b\n");
    git("commit", "-qam", "both");
    write("untracked", "c\n");
    write("ü ä", "");
    const after = await readWorkTree(sources());
    if (before === undefined || after === undefined) throw new Error("the work tree could not be told");
    // dirty was committed with the content that it had.
    expect(await changedFiles(before, after, sources())).toEqual(["tracked", "untracked", "ü ä"]);
  });
});

describe("in a repository with a submodule", () => {
  function gitIn(path: string, ...args: string[]): void {
    git("-C", path, ...args);
  }

  beforeEach(() => {
    for (const path of [".", "part"]) {
      git("init", "-q", path);
      write(`${path}/file`, "a\n");
      gitIn(path, "add", "file");
      gitIn(path, "commit", "-qm", "start");
    }
    git("-c", "protocol.file.allow=always", "submodule", "add", "-q", "./part", "part");
    git("commit", "-qm", "part");
  });

  test.each<Change>([
    ["a file", () => write("part/file", "b\n")],
    ["another content of the same length of what differs", () => write("part/dirty", "c\n")],
    ["a new file", () => write("part/new", "")],
    [
      "a commit",
      () => {
        gitIn("part", "add", ".");
        gitIn("part", "commit", "-qm", "more");
      },
    ],
  ])("%s of the submodule is a change", async (_, change) => {
    write("part/dirty", "b\n");
    const before = await digest();
    change();
    expect(await digest()).not.toBe(before);
  });

  test("its files are named, and itself when it is at another commit", async () => {
    const before = await readWorkTree(sources());
    write("part/file", "b\n");
    write("part/new", "");
    const changed = await readWorkTree(sources());
    gitIn("part", "commit", "-qam", "more");
    const committed = await readWorkTree(sources());
    if (!(before && changed && committed)) throw new Error("the work tree could not be told");
    expect(await changedFiles(before, changed, sources())).toEqual(["part/file", "part/new"]);
    expect(await changedFiles(before, committed, sources())).toEqual(["part", "part/new"]);
  });

  test("one without its repository leads no look astray", async () => {
    rmSync(join(folder, "part"), { recursive: true });
    mkdirSync(join(folder, "part"));
    write("part/file", "b\n");
    expect(await digest()).toBe(await digest());
  });
});

describe("in a plain folder", () => {
  beforeEach(() => {
    fill();
    write("untracked", "a\n");
  });

  test.each(changes)("%s is a change", async (_, change) => {
    const before = await digest();
    change();
    expect(await digest()).not.toBe(before);
  });

  test("what differs is named, in a repository that is made meanwhile too, without what git keeps", async () => {
    const before = await readWorkTree(sources());
    git("init", "-q");
    write("untracked", "b\n");
    const after = await readWorkTree(sources());
    expect(before && after && (await changedFiles(before, after, sources()))).toEqual(["untracked"]);
  });

  test("nothing done is none", async () => {
    expect(await digest()).toBe(await digest());
  });

  test("too many files cannot be told", async () => {
    mkdirSync(join(folder, "many"));
    for (let index = 0; index < 20_001; index++) write(`many/${index}`, "");
    expect(await readWorkTree(sources())).toBeUndefined();
  });
});

test.each([true, false])(
  "what the program itself writes is no change (in a repository: %s)",
  async (isRepository) => {
    if (isRepository) git("init", "-q");
    mkdirSync(join(folder, "home"));
    write("out.jsonl", "");
    const { dev, ino } = statSync(join(folder, "out.jsonl"), { bigint: true });
    const own = { paths: [join(folder, "home"), join(folder, "record")], open: [`${dev}:${ino}`] };
    const before = await digest(own);
    write("home/session", "x");
    write("record", "x");
    write("out.jsonl", "x");
    expect(await digest(own)).toBe(before);
    write("other", "x");
    expect(await digest(own)).not.toBe(before);
  },
);

test("a status of git is read whole", () => {
  const status = [
    "# branch.oid 1234567890abcdef",
    "# branch.head main",
    "1 .M N... 100644 100644 100644 aaa bbb with space",
    "2 R. N... 100644 100644 100644 aaa bbb R100 to",
    "from",
    "u UU N... 100644 100644 100644 100644 aaa bbb ccc both",
    "? new file",
    "! node_modules/",
    "",
  ].join("\0");
  expect(parseGitStatus(status)).toEqual({
    commit: "1234567890abcdef",
    state: "# branch.oid 1234567890abcdef\n# branch.head main",
    changes: new Map([
      ["with space", "1 .M N... 100644 100644 100644 aaa bbb"],
      ["to", "2 R. N... 100644 100644 100644 aaa bbb R100"],
      ["from", "from of 2 R. N... 100644 100644 100644 aaa bbb R100"],
      ["both", "u UU N... 100644 100644 100644 100644 aaa bbb ccc"],
      ["new file", "?"],
    ]),
    ignored: ["node_modules/"],
    submodules: new Map(),
  });
});
