import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ToolResultMessage } from "../../src/contract/messages.ts";
import { callsOf, createToolBench, textOf } from "../support/tool-bench.ts";

/** A program that a search must not run, and a configuration of ripgrep that would. */
const trap = `printf '#!/bin/sh\\ntouch "$TRAP"\\ncat "$1"\\n' > p.sh; chmod +x p.sh; printf -- '--pre=%s/p.sh\\n' "$PWD" > rc`;

async function search(
  make: string,
  calls: [tool: "grep" | "find" | "ls", args: object][],
  env: Record<string, string> = {},
): Promise<{ results: readonly ToolResultMessage[]; cwd: string }> {
  const bench = await createToolBench(calls.map(([tool, args]) => callsOf(tool, args)));
  const { cwd } = bench.workspace;
  execFileSync("bash", ["-c", make], { cwd });
  const { results, status, stderr } = await bench.runTools([], { env });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return { results, cwd };
}

test("no value of the model's becomes an option, and ripgrep's configuration is not read", async () => {
  const option = "--pre=./p.sh";
  const make = `${trap}; echo 'text ${option} here' > t.txt; mkdir -- -x; echo inside > ./-x/f`;
  const calls: [tool: "grep" | "find" | "ls", args: object, text: string | RegExp][] = [
    ["grep", { pattern: option, path: "t.txt" }, `t.txt:1: text ${option} here`],
    ["grep", { pattern: "text", glob: option }, "No matches"],
    ["grep", { pattern: "text", path: option }, /^ERROR: --pre=\.\/p\.sh does not exist/],
    ["grep", { pattern: "inside", path: "-x" }, "-x/f:1: inside"],
    ["grep", { pattern: "-e", literal: true, path: "t.txt" }, "No matches"],
    ["grep", { pattern: "text", path: "t.txt" }, `t.txt:1: text ${option} here`],
    ["find", { pattern: "--exec=touch PWNED" }, "No files found"],
    ["find", { pattern: "*", path: "-x" }, "-x/f"],
    ["find", { pattern: "-x" }, "-x/"],
    ["ls", { path: "-x" }, "f"],
    ["ls", { path: "--help" }, /^ERROR: --help does not exist/],
  ];
  const { results, cwd } = await search(
    make,
    calls.map(([tool, args]) => [tool, args]),
    {
      RIPGREP_CONFIG_PATH: "rc",
      TRAP: "PWNED",
    },
  );
  expect(results.map(textOf)).toEqual(
    calls.map(([, , text]) => (typeof text === "string" ? text : expect.stringMatching(text))),
  );
  expect(existsSync(join(cwd, "PWNED"))).toBe(false);
});

describe("git's ignore rules", () => {
  const cases: [string, make: string, calls: [tool: "grep" | "find", args: object, text: string][]][] = [
    [
      "stop at the nearest repository",
      "mkdir -p p/c/.git; printf '*\\n!.gitignore\\n' > p/.gitignore; echo r > p/c/AGENTS.md",
      [
        ["find", { pattern: "AGENTS*", path: "p/c" }, "p/c/AGENTS.md"],
        ["grep", { pattern: "r", path: "p/c" }, "p/c/AGENTS.md:1: r"],
      ],
    ],
    [
      "of a folder apply at any depth below it, but not to a path that is named",
      "mkdir -p .git pkg/t/build; echo build/ > pkg/.gitignore; echo here > pkg/t/build/x; echo here > pkg/y",
      [
        ["grep", { pattern: "here" }, "pkg/y:1: here"],
        ["find", { pattern: "x" }, "No files found"],
        ["grep", { pattern: "here", path: "pkg/t/build" }, "pkg/t/build/x:1: here"],
        ["grep", { pattern: "here", path: "pkg/t/build/x" }, "pkg/t/build/x:1: here"],
        ["grep", { pattern: "here", glob: "x" }, "No matches"],
      ],
    ],
    [
      "of a folder that is in no repository apply to repositories below it, with a glob and without one",
      "mkdir -p c/.git; echo '*.log' > .gitignore; echo here > c/a.log; echo here > c/b.txt",
      [
        ["grep", { pattern: "here" }, "c/b.txt:1: here"],
        ["grep", { pattern: "here", glob: "[ab].*" }, "c/b.txt:1: here"],
        ["find", { pattern: "[ab].*" }, "c/b.txt"],
        ["grep", { pattern: "here", path: "c", glob: "*.log" }, "c/a.log:1: here"],
      ],
    ],
  ];
  test.each(cases)("%s", async (_, make, calls) => {
    const { results } = await search(
      make,
      calls.map(([tool, args]) => [tool, args]),
    );
    expect(results.map(textOf)).toEqual(calls.map(([, , text]) => text));
  });
});

test("what is asked for is found, and what is wrong is said", async () => {
  const make = `mkdir d 'sp ace'; printf 'one\\nTwo (2)\\nthree\\n' > d/a.txt; echo two > d/b.md; echo two > 'sp ace/c d.txt'; printf 'caf\\xe9 two\\n' > latin; printf 'bin\\0two\\n' > bin; echo two > .hidden`;
  const calls: [tool: "grep" | "find" | "ls", args: object, text: string | RegExp][] = [
    [
      "grep",
      { pattern: "two" },
      ".hidden:1: two\nd/b.md:1: two\nlatin:1: caf\ufffd two\nsp ace/c d.txt:1: two",
    ],
    ["grep", { pattern: "two", ignoreCase: true, path: "d" }, "d/a.txt:2: Two (2)\nd/b.md:1: two"],
    ["grep", { pattern: "(2)", literal: "true" }, "d/a.txt:2: Two (2)"],
    ["grep", { pattern: "Two", context: 1 }, "d/a.txt-1- one\nd/a.txt:2: Two (2)\nd/a.txt-3- three"],
    ["grep", { pattern: "two", glob: "*.txt" }, "sp ace/c d.txt:1: two"],
    [
      "grep",
      { pattern: "two", limit: 1 },
      /^\.hidden:1: two\n\n\[The first 1 matching lines; there are more\./,
    ],
    ["grep", { pattern: "nowhere" }, "No matches"],
    ["grep", { pattern: "(" }, /^ERROR: The pattern cannot be searched for/],
    ["grep", { pattern: "two", glob: "{a" }, /^ERROR: The glob cannot be understood\. .*'\{a'/],
    ["grep", { pattern: "x", path: "/dev/zero" }, /^ERROR: \/dev\/zero is a device/],
    ["find", { pattern: "*.txt" }, "d/a.txt\nsp ace/c d.txt"],
    ["find", { pattern: "sp*/**" }, "sp ace/c d.txt"],
    ["find", { pattern: "*.{md,txt}", limit: 1 }, /^d\/a\.txt\n\n\[The first 1 paths; there are more\./],
    ["ls", {}, ".hidden\nbin\nd/\nlatin\nsp ace/"],
    ["ls", { limit: 2 }, /^\.hidden\nbin\n\n\[2 of 5 entries\./],
    ["ls", { path: "latin" }, "ERROR: latin is a file, not a folder. Use read to see it."],
  ];
  const { results } = await search(
    make,
    calls.map(([tool, args]) => [tool, args]),
  );
  expect(results.map(textOf)).toEqual(
    calls.map(([, , text]) => (typeof text === "string" ? text : expect.stringMatching(text))),
  );
});

test("results that are more than the model sees are whole in a file that they name", async () => {
  const { results } = await search("for i in $(seq 2500); do : > f$i; echo line $i >> all; done", [
    ["grep", { pattern: "line", limit: 5000 }],
    ["find", { pattern: "f*", limit: 5000 }],
    ["ls", { limit: 5000 }],
  ]);
  const counts = results.map((result) => {
    const [, lines, path = ""] =
      /first 2000 of (\d+) lines\. Whole output: (.*)\]/.exec(textOf(result)) ?? [];
    return [lines, readFileSync(path, "utf8").trimEnd().split("\n").length];
  });
  expect(counts).toEqual([
    ["2500", 2500],
    ["2500", 2500],
    ["2501", 2501],
  ]);
});
