import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/contract/json.ts";
import { childEnv } from "../../src/tools/shell/child-env.ts";
import { engines, folderOf, search } from "./search-tools.ts";

describe.each(engines)("grep %s", (name, options) => {
  const grep = (cwd: string, args: JsonObject): Promise<string> =>
    search({ tool: "grep", args, context: { cwd }, options });

  const files = {
    "a.txt": "one\ntwo\nthree\r\nfour\n",
    "b/c.ts": "const two = 2;\n",
    "b/.hidden": "two hidden\n",
    "b/two words.md": "see two\n",
    "data.bin": new Uint8Array([116, 119, 111, 10, 0, 116, 119, 111]),
    "latin.txt": Buffer.from("caf\xe9 two\n", "latin1"),
  };
  const everywhere = [
    "a.txt:2: two",
    "b/.hidden:1: two hidden",
    "b/c.ts:1: const two = 2;",
    "b/two words.md:1: see two",
    "latin.txt:1: caf\uFFFD two",
  ].join("\n");

  const topLevel = "a.txt:2: two\nlatin.txt:1: caf\uFFFD two";

  const cases: [string, JsonObject, string][] = [
    ["searches all text files, hidden ones too, in the order of their paths", { pattern: "two" }, everywhere],
    ["knows regular expressions", { pattern: "^t[wh]", path: "a.txt" }, "a.txt:2: two\na.txt:3: three"],
    [
      "takes a pattern literally when told to",
      { pattern: "= 2;", literal: true },
      "b/c.ts:1: const two = 2;",
    ],
    ["finds nothing where a literal pattern is none", { pattern: "t.o", literal: true }, "No matches"],
    ["tells upper from lower case", { pattern: "TWO" }, "No matches"],
    ["ignores case when told to", { pattern: "^TWO$", ignoreCase: true }, "a.txt:2: two"],
    ["sees the end of a line in front of CRLF", { pattern: "ee$", path: "a.txt" }, "a.txt:3: three"],
    ["takes the CR of CRLF for no character", { pattern: "four.|three.", path: "a.txt" }, "No matches"],
    ["searches a folder", { pattern: "two", path: "b", glob: "*.md" }, "b/two words.md:1: see two"],
    ["narrows by a path glob", { pattern: "two", glob: "b/*.ts" }, "b/c.ts:1: const two = 2;"],
    ["leaves out by a glob", { pattern: "two", glob: "!b/**" }, "a.txt:2: two\nlatin.txt:1: caf\uFFFD two"],
    ["takes a glob that starts in the searched folder", { pattern: "two", glob: "./*.txt" }, topLevel],
    ["leaves out by such a glob", { pattern: "^two", glob: "!./b/**" }, "a.txt:2: two"],
    [
      "shows context",
      { pattern: "one|four", context: 1, path: "a.txt" },
      "a.txt:1: one\na.txt-2- two\na.txt-3- three\na.txt:4: four",
    ],
    [
      "parts what is not in a row",
      { pattern: "one|four", context: 0, path: "a.txt" },
      "a.txt:1: one\na.txt:4: four",
    ],
    [
      "stops at the limit and says so",
      { pattern: "two", limit: 1 },
      "a.txt:2: two\n\n[The first 1 matching lines; there are more. Narrow the search or raise `limit`.]",
    ],
    ["does not say so when there are no more", { pattern: "three", limit: 1 }, "a.txt:3: three"],
  ];
  test.each(cases)("%s", async (_case, args, expected) => {
    expect(await grep(await folderOf(files), args)).toBe(expected);
  });

  test.skipIf(name === "without ripgrep")("finds CR where the pattern names it", async () => {
    expect(await grep(await folderOf(files), { pattern: "\\r$" })).toBe("a.txt:3: three");
  });

  test("takes an absolute glob that leads into the searched folder", async () => {
    const folder = await folderOf(files);
    expect(await grep(folder, { pattern: "two", glob: join(folder, "b/*.ts") })).toBe(
      "b/c.ts:1: const two = 2;",
    );
  });

  test("shows absolute paths outside of the working folder", async () => {
    const folder = await folderOf(files);
    expect(await grep("/", { pattern: "^one", path: folder })).toMatch(/a\.txt:1: one$/);
    expect(await grep(join(folder, "b"), { pattern: "^one", path: ".." })).toBe(`${folder}/a.txt:1: one`);
  });

  test("cuts long lines", async () => {
    const text = await grep(await folderOf({ "long.txt": `two${"x".repeat(5000)}` }), { pattern: "two" });
    expect(text).toBe(`long.txt:1: two${"x".repeat(497)} [... omitted end of long line]`);
  });

  test("keeps everything in a file when it is more than the model sees", async () => {
    const cwd = await folderOf({ "many.txt": "x\n".repeat(3000) });
    const text = await grep(cwd, { pattern: "x", limit: 10_000 });
    const [, path = ""] = /shown are the first 2000 of 3000 lines\. Whole output: (.*)\]$/.exec(text) ?? [];
    expect(readFileSync(path, "utf8").split("\n")).toHaveLength(3001);
  });

  test("says what is wrong", async () => {
    const cwd = await folderOf(files);
    const problems = await Promise.all([
      grep(cwd, { pattern: "(" }),
      grep(cwd, { pattern: "x", path: "nowhere" }),
      grep(cwd, { pattern: "x", path: "/dev/null" }),
      grep(cwd, { pattern: "" }),
    ]);
    expect(problems).toEqual([
      expect.stringMatching(
        /^ERROR: The pattern cannot be searched for .*(?:unclosed group|Unterminated group)/s,
      ),
      "ERROR: nowhere does not exist.",
      expect.stringMatching(/^ERROR: \/dev\/null is .*: only files and directories can be searched\.$/),
      expect.stringMatching(/^ERROR: .*pattern/),
    ]);
  });

  test("takes every value for what it is, never for an option", async () => {
    const cwd = await folderOf({
      "p.sh": '#!/bin/sh\ntouch PWNED\ncat "$1"\n',
      "options.txt": "--pre=./p.sh\n-x\n",
      rc: "--pre=./p.sh\n",
    });
    chmodSync(join(cwd, "p.sh"), 0o755);
    const env = childEnv(
      { ...process.env, RIPGREP_CONFIG_PATH: join(cwd, "rc") },
      { credentialNames: [], passEnv: [] },
    );
    const withConfig = (args: JsonObject): Promise<string> =>
      search({ tool: "grep", args, context: { cwd }, options: { ...options, env } });
    expect(await withConfig({ pattern: "--pre=./p.sh" })).toBe(
      "options.txt:1: --pre=./p.sh\nrc:1: --pre=./p.sh",
    );
    expect(await withConfig({ pattern: "-x" })).toBe("options.txt:2: -x");
    expect(await withConfig({ pattern: "touch", glob: "--pre=./p.sh" })).toBe("No matches");
    expect(await withConfig({ pattern: "touch", path: "--pre=./p.sh" })).toMatch(
      /^ERROR: --pre=.\/p.sh does not exist/,
    );
    expect(existsSync(join(cwd, "PWNED"))).toBe(false);
  });

  describe("leaves out what git ignores:", () => {
    test("a pattern without a slash at any depth below its file", async () => {
      const cwd = await folderOf({
        ".git/": "",
        ".git/config": "r",
        "pkg/.gitignore": "build/\n*.log\n!keep.log\n",
        "pkg/t/build/x": "r\n",
        "pkg/a.log": "r\n",
        "pkg/keep.log": "r\n",
        "build/y": "r\n",
      });
      expect(await grep(cwd, { pattern: "^r" })).toBe("build/y:1: r\npkg/keep.log:1: r");
      expect(await grep(cwd, { pattern: "^r", glob: "*.log" })).toBe("pkg/keep.log:1: r");
    });

    test("nothing by the rules of a folder above the repository", async () => {
      const cwd = await folderOf({ ".gitignore": "*\n!.gitignore\n", "c/.git/": "", "c/AGENTS.md": "r\n" });
      expect(await grep(join(cwd, "c"), { pattern: "r" })).toBe("AGENTS.md:1: r");
      expect(await grep(cwd, { pattern: "r", path: "c" })).toBe("c/AGENTS.md:1: r");
    });

    test("by the rules of the repository's root, from a folder in it", async () => {
      const cwd = await folderOf({ ".git/": "", ".gitignore": "/c/*.log\n", "c/a.log": "r\n", "c/b": "r\n" });
      expect(await grep(join(cwd, "c"), { pattern: "r" })).toBe("b:1: r");
    });

    test("also where there is no repository", async () => {
      const cwd = await folderOf({ "pkg/.gitignore": "build/\n", "pkg/t/build/x": "r\n", "pkg/t/y": "r\n" });
      expect(await grep(cwd, { pattern: "r" })).toBe("pkg/t/y:1: r");
    });

    test("but not a path that was named", async () => {
      const cwd = await folderOf({
        ".git/": "",
        ".gitignore": "build\n*.log\nout/**\n",
        "build/x/y": "r\n",
        "a.log": "r\n",
        "out/z": "r\n",
      });
      expect(await grep(cwd, { pattern: "r", path: "build" })).toBe("build/x/y:1: r");
      expect(await grep(cwd, { pattern: "r", path: "build/x" })).toBe("build/x/y:1: r");
      expect(await grep(cwd, { pattern: "r", path: "a.log" })).toBe("a.log:1: r");
      expect(await grep(cwd, { pattern: "r", path: "out" })).toBe("out/z:1: r");
    });
  });

  test("names files by all of their name, ends of lines included", async () => {
    const odd = {
      "new\nline.txt": "two\n",
      "a\nb/f": "two\n",
      "c\nd.bin": new Uint8Array([116, 119, 111, 0]),
    };
    expect(await grep(await folderOf({ ...odd, z: "two\n" }), { pattern: "two" })).toBe(
      "a\\nb/f:1: two\nnew\\nline.txt:1: two\nz:1: two",
    );
  });

  test.each([
    ["#a", "#a:1: two"],
    ["#*", "#a:1: two"],
    ["!#*", "b:1: two\nc :1: two"],
    ["c ", "c :1: two"],
    ["./#a", "#a:1: two"],
  ])("takes the glob %j for what it says", async (glob, found) => {
    const odd = { "#a": "two\n", b: "two\n", "c ": "two\n" };
    expect(await grep(await folderOf(odd), { pattern: "two", glob })).toBe(found);
  });

  test.each([50_000, 200_000])("refuses an endless pattern in a few words", async (length) => {
    const result = await grep(await folderOf(files), { pattern: `(${"x".repeat(length)}` });
    expect(result).toMatch(/^ERROR: The pattern cannot be searched for/);
    expect(result.length).toBeLessThan(2500);
  });

  test("ends when it is aborted", async () => {
    const context = { cwd: await folderOf(files), signal: AbortSignal.abort() };
    expect(await search({ tool: "grep", args: { pattern: "two" }, context, options })).toBe(
      "ERROR: grep was aborted.",
    );
  });
});

test("grep without a ripgrep that runs searches by itself", async () => {
  const cwd = await folderOf({ a: "two\n" });
  const options = { findRipgrep: async () => "/no/such/rg" };
  expect(await search({ tool: "grep", args: { pattern: "two" }, context: { cwd }, options })).toBe(
    "a:1: two",
  );
});
