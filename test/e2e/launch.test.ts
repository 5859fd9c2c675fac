import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cliPath } from "../support/run-cli.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "base-context-launch-"));
  cpSync(dirname(cliPath), join(folder, "dist"), { recursive: true });
});

afterEach(() => rmSync(folder, { recursive: true }));

test("a file of the program that was changed in place runs as it is now, whatever was compiled of it before", () => {
  const path = join(folder, "dist/run.js");
  const before = readFileSync(path, "utf8");
  const after = before.replace('{"type":"agent_end","messages":[', '{"type":"agent_END","messages":[');
  expect(after).not.toBe(before);
  writeFileSync(path, after);
  const replay = ["--replay", join(root, "docs/examples/list-files.cassette.jsonl")];
  const { stdout } = start([
    "--mode",
    "json",
    ...replay,
    "--cwd",
    join(root, "docs/examples/demo"),
    "List files",
  ]);
  expect(stdout).toContain('{"type":"agent_END"');
});

test("the program starts where nothing is compiled and there is no home folder", () => {
  rmSync(join(folder, "dist/code-cache"), { recursive: true, force: true });
  const homeless = join(folder, "homeless.cjs");
  writeFileSync(homeless, 'require("node:os").homedir = () => { throw new Error("no home"); };\n');
  const { status, stderr } = start(["--version"], { NODE_OPTIONS: `--require ${homeless}` });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});

function start(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  return spawnSync(process.execPath, [join(folder, "dist/cli.js"), ...args], {
    env: { PATH: process.env.PATH, HOME: folder, ...env },
    cwd: folder,
    encoding: "utf8",
  });
}
