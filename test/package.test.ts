import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cliPath } from "./support/run-cli.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
const maxPackedBytes = 1_500_000;

type Packed = {
  readonly size: number;
  readonly filename: string;
  readonly files: readonly { path: string }[];
};

let folder: string;
let packed: Packed;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "base-context-package-"));
  for (const name of ["package.json", "README.md", "LICENSE", "docs", "src", "test"])
    cpSync(join(root, name), join(folder, name), { recursive: true });
  cpSync(dirname(cliPath), join(folder, "dist"), { recursive: true });
  [packed] = JSON.parse(run("npm", ["pack", "--json", "--ignore-scripts"]));
  run("tar", ["-xzf", packed.filename]);
});

afterAll(() => rmSync(folder, { recursive: true }));

test("the package holds the program, its pages and its licenses, and nothing else", () => {
  const places = new Set(packed.files.map(({ path }) => path.replace(/\/.*/, "/")));
  expect([...places].sort()).toEqual(["LICENSE", "README.md", "dist/", "docs/", "package.json"]);
  expect(packed.size).toBeLessThan(maxPackedBytes);
});

test("the packed program runs by itself", () => {
  expect(run("node", ["package/dist/cli.js", "--version"])).toBe(`${version}\n`);
  const replay = ["--replay", "package/docs/examples/list-files.cassette.jsonl"];
  const answer = run("node", [
    "package/dist/cli.js",
    ...replay,
    "--cwd",
    "package/docs/examples/demo",
    "List files",
  ]);
  expect(answer).toContain("`recipe.md`");
});

test("the notices name what is bundled, each with the text of its license", () => {
  const notices = readFileSync(join(folder, "package/dist/THIRD-PARTY-NOTICES.txt"), "utf8");
  const titles = [...notices.matchAll(/^-{80}\n(\S+) \d+\.\S+, \S+\n\n\S/gm)].map(([, name]) => name);
  expect(titles).toEqual(expect.arrayContaining(["@anthropic-ai/sdk", "eventsource-parser", "zod"]));
});

/** Runs a command in the folder, with an empty home; gives its stdout. */
function run(command: string, args: readonly string[]): string {
  const env = { PATH: process.env.PATH, HOME: folder };
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, env, encoding: "utf8" });
  expect({ status, stderr: status === 0 ? "" : stderr }).toEqual({ status: 0, stderr: "" });
  return stdout;
}
