import { existsSync } from "node:fs";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/contract/json.ts";
import { engines, folderOf, search } from "./search-tools.ts";

describe.each(engines)("find %s", (_name, options) => {
  const find = (cwd: string, args: JsonObject): Promise<string> =>
    search({ tool: "find", args, context: { cwd }, options });

  const files = {
    ".git/config": "",
    ".gitignore": "*.log\n",
    "README.md": "",
    "src/a.ts": "",
    "src/a.test.ts": "",
    "src/deep/b.ts": "",
    "src/deep/b.log": "",
    "docs/Über uns.md": "",
    "empty/": "",
  };

  const cases: [string, JsonObject, string][] = [
    ["names in every folder", { pattern: "*.ts" }, "src/a.test.ts\nsrc/a.ts\nsrc/deep/b.ts"],
    ["paths from the searched folder on", { pattern: "src/*.ts" }, "src/a.test.ts\nsrc/a.ts"],
    ["paths at any depth", { pattern: "src/**/*.ts" }, "src/a.test.ts\nsrc/a.ts\nsrc/deep/b.ts"],
    ["one of several", { pattern: "*.{md,test.ts}" }, "README.md\ndocs/Über uns.md\nsrc/a.test.ts"],
    ["hidden files", { pattern: ".git*" }, ".gitignore"],
    ["folders", { pattern: "d*" }, "docs/\nsrc/deep/"],
    ["only folders", { pattern: "**/*/" }, "docs/\nsrc/\nsrc/deep/"],
    ["below another folder", { pattern: "*.ts", path: "src/deep" }, "src/deep/b.ts"],
    ["only in the searched folder itself", { pattern: "./*.md" }, "README.md"],
    ["nothing", { pattern: "*.rs" }, "No files found"],
    ["nothing that is ignored", { pattern: "*.log" }, "No files found"],
    [
      "up to the limit",
      { pattern: "*.ts", limit: 2 },
      "src/a.test.ts\nsrc/a.ts\n\n[The first 2 paths; there are more. Narrow the pattern or raise `limit`.]",
    ],
    [
      "up to a limit that is not met",
      { pattern: "*.ts", limit: 3 },
      "src/a.test.ts\nsrc/a.ts\nsrc/deep/b.ts",
    ],
    ["no options", { pattern: "--exec=touch PWNED" }, "No files found"],
  ];
  test.each(cases)("%s", async (_case, args, expected) => {
    const cwd = await folderOf(files);
    expect(await find(cwd, args)).toBe(expected);
    expect(existsSync(join(cwd, "PWNED"))).toBe(false);
  });

  test("takes an absolute pattern that leads into the folder", async () => {
    const cwd = await folderOf(files);
    expect(await find(cwd, { pattern: `${cwd}/src/*.ts` })).toBe("src/a.test.ts\nsrc/a.ts");
  });

  test("stops at the nearest repository's root, and searches a named folder in any case", async () => {
    const cwd = await folderOf({ ".gitignore": "*\n!.gitignore\n", "c/.git/": "", "c/AGENTS.md": "r\n" });
    expect(await find(join(cwd, "c"), { pattern: "AGENTS*" })).toBe("AGENTS.md");
    const ignored = await folderOf({ ".git/": "", ".gitignore": "build/\n", "build/x": "" });
    expect(await find(ignored, { pattern: "x" })).toBe("No files found");
    expect(await find(ignored, { pattern: "x", path: "build" })).toBe("build/x");
  });

  test("says what is wrong", async () => {
    const cwd = await folderOf(files);
    await symlink("no", join(cwd, "link"));
    const wrong = [{ pattern: "x", path: "-x" }, { pattern: "x", path: "link" }, { pattern: "" }];
    expect(await Promise.all(wrong.map((args) => find(cwd, args)))).toEqual([
      "ERROR: -x does not exist.",
      "ERROR: link is a symbolic link to no, where nothing is.",
      expect.stringMatching(/^ERROR: .*pattern/),
    ]);
  });

  test("keeps everything in a file when it is more than the model sees", async () => {
    const names = Array.from({ length: 2500 }, (_, index) => [`f${index}`, ""] as const);
    const text = await find(await folderOf(Object.fromEntries(names)), { pattern: "f*", limit: 5000 });
    expect(text).toMatch(/\[Output cut: shown are the first 2000 of 2500 lines\. Whole output: .*\]$/);
  });
});
