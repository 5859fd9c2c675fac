import { execFile } from "node:child_process";
import { copyFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const script = fileURLToPath(new URL("run.mjs", import.meta.url));

async function bench(args: readonly string[], env: NodeJS.ProcessEnv = process.env) {
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [script, "--quick", "--runs=1", "--case=short", "--json", ...args],
    { env },
  );
  const [{ name, programs, rows }] = JSON.parse(stdout);
  return { name, programs, rows, stderr };
}

test("the bench runs a case and tells what it measured", async () => {
  const { name, programs, rows } = await bench([]);
  expect(name).toBe("short");
  expect(programs.map((program: { name: string }) => program.name)).toEqual([
    "node -e 0",
    "floor",
    "base-context",
  ]);
  expect(rows.map((row: { result: unknown }) => typeof row.result)).toEqual(rows.map(() => "number"));
});

/** Stands for every peer: asks the provider that its own kind of configuration names, and prints the reply. */
const peer = `#!${process.execPath}
const { basename } = require("node:path");
const { readFileSync } = require("node:fs");
const { env, argv } = process;
const urls = {
  codex: () => /base_url="([^"]+)"/.exec(argv.join(" "))[1] + "/responses",
  claude: () => env.ANTHROPIC_BASE_URL + "/v1/messages",
  pi: () => Object.values(JSON.parse(readFileSync(env.PI_CODING_AGENT_DIR + "/models.json")).providers)[0].baseUrl + "/chat/completions",
};
const body = JSON.stringify({ tools: [{ name: "shell" }] });
fetch(urls[basename(argv[1])](), { method: "POST", body }).then(async (reply) => {
  if (!reply.ok) process.exitCode = 1;
  console.log(await reply.text());
});
`;

test("--peers measures those that are on PATH and work, against the same provider", async () => {
  const folder = mkdtempSync(join(tmpdir(), "bench-peers-"));
  const peers = ["codex", "claude", "pi", "gemini"];
  writeFileSync(join(folder, "peer"), peer, { mode: 0o755 });
  for (const name of peers) copyFileSync(join(folder, "peer"), join(folder, name));
  writeFileSync(join(folder, "gemini"), "#!/bin/sh\necho no key >&2\nexit 41\n");
  const { programs, stderr } = await bench(["--peers"], {
    ...process.env,
    PATH: `${folder}${delimiter}${process.env.PATH}`,
  });
  expect(stderr).toMatch(/^gemini is left out of short: .* status 41: no key$/m);
  const measured = programs.filter(({ name }: { name: string }) => peers.includes(name));
  expect(measured).toEqual(
    peers.slice(0, 3).map((name) => ({
      name,
      runs: 1,
      medians: expect.objectContaining({
        requestMs: expect.any(Number),
        requestBytes: 28,
        wholeMs: expect.any(Number),
      }),
    })),
  );
});
