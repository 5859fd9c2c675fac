import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { streamLineSchema } from "../../src/contract/schema.ts";
import { autonomousGroup } from "../../src/flags/autonomous.ts";
import { anthropicReply } from "../support/anthropic-wire.ts";
import type { Script } from "../support/provider-server.ts";
import { cliPath } from "../support/run-cli.ts";
import { createBench } from "../support/with-provider.ts";

const page = readFileSync(fileURLToPath(new URL("../../docs/autonomous.md", import.meta.url)), "utf8");

test("the page names every option", () => {
  for (const { name } of autonomousGroup.options) expect(page).toContain(name);
});

test("its example of a line is one of the stream", () => {
  const [, example = ""] = /```json\n(.*)\n```/.exec(page) ?? [];
  expect(streamLineSchema.safeParse(JSON.parse(example)).error).toBeUndefined();
});

/** The lines of the recipe's step that works. */
function recipe(): string {
  const [, script = ""] = /- name: Fix and check\n[\s\S]*?run: \|\n((?: {10}.*\n)+)/.exec(page) ?? [];
  return script.replace(/^ {10}/gm, "");
}

/** Runs the recipe as the runner does, in a repository whose test looks for a file. */
async function mend(script: readonly Script[], key: string | undefined) {
  const bench = await createBench(script);
  const { workspace, server } = bench;
  workspace.homeFile("models.json", { providers: { anthropic: { baseUrl: server.url } } });
  workspace.file("package.json", JSON.stringify({ scripts: { test: "test -f mended" } }));
  const bin = join(workspace.home, "bin");
  const temp = join(workspace.home, "temp");
  mkdirSync(bin);
  mkdirSync(temp);
  writeFileSync(join(bin, "base-context"), `#!/bin/sh\nexec "${process.execPath}" "${cliPath}" "$@"\n`);
  chmodSync(join(bin, "base-context"), 0o755);
  const env = {
    PATH: [bin, process.env.PATH].join(delimiter),
    HOME: workspace.home,
    BASE_CONTEXT_HOME: workspace.home,
    RUNNER_TEMP: temp,
    GITHUB_STEP_SUMMARY: join(temp, "step-summary.md"),
    ...(key === undefined ? {} : { ANTHROPIC_API_KEY: key }),
  };
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
  for (const args of [
    ["init", "-q"],
    ["add", "."],
    ["commit", "-qm", "start"],
  ])
    spawnSync("git", [...identity, ...args], { cwd: workspace.cwd, env });
  const shell = spawn("bash", ["--noprofile", "--norc", "-eo", "pipefail", "-c", recipe()], {
    cwd: workspace.cwd,
    env,
    stdio: "ignore",
  });
  const [status] = await once(shell, "exit");
  const read = (name: string) => (existsSync(join(temp, name)) ? readFileSync(join(temp, name), "utf8") : "");
  return { status, patch: read("fix.patch"), said: read("step-summary.md"), summary: read("summary.json") };
}

describe("the recipe for CI", () => {
  const writes = (path: string) =>
    anthropicReply({ calls: [{ name: "write", args: { path, content: "x\n" } }] });

  test("succeeds when the gate passes, and hands out the change", async () => {
    const script = [writes("mended"), anthropicReply({ text: "A file was missing." })];
    const { status, patch, said, summary } = await mend(script, "sk-ant-test-1234567890");
    expect(status).toBe(0);
    expect(patch).toContain("+++ b/mended");
    expect(said).toMatch(/^A file was missing\.done: 2 turns, [0-9.e-]+ US dollars\n$/);
    expect(JSON.parse(summary)).toMatchObject({
      status: 0,
      gates: [{ command: "npm test", outcome: "passed" }],
    });
  });

  test("fails when the gate does not pass", async () => {
    const { status, said } = await mend([anthropicReply({ text: "I cannot." })], "sk-ant-test-1234567890");
    expect(status).toBe(3);
    expect(said).toContain("gate not passed: ");
  });

  test("fails without a key, and says so", async () => {
    const { status, summary, said } = await mend([anthropicReply({ text: "hi" })], undefined);
    expect(status).toBe(2);
    expect(said).toContain("start refused: 0 turns, 0 US dollars");
    expect(JSON.parse(summary).message).toContain("ANTHROPIC_API_KEY");
  });

  test("keeps no key in what it hands out", async () => {
    const key = "sk-ant-test-1234567890";
    const { patch, said, summary } = await mend([anthropicReply({ text: `the key is ${key}` })], key);
    expect([patch, said, summary].join()).not.toContain(key);
  });
});
