import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { runScript } from "../support/run-script.ts";
import { createBench } from "../support/with-provider.ts";

const answer = chatReply({ text: "done" });
const options = ["--output-last-message", "--summary", "--record"] as const;

const streams: [string, string][] = options.flatMap((option): [string, string][] => [
  [`bc --mode json ${option} out hi >out`, `${option} out is where stdout goes`],
  [`touch log; ln -s log out; bc ${option} out hi >>log`, `${option} out is where stdout goes`],
  [`bc --mode json ${option} /dev/stdout hi | cat`, `${option} /dev/stdout is where stdout goes`],
  [`bc --mode json ${option} /dev/fd/1 hi >out`, `${option} /dev/fd/1 is where stdout goes`],
  [`bc ${option} err hi 2>err; status=$?; cat err >&2; (exit $status)`, `${option} err is where stderr goes`],
]);

test.each(streams)("a file that what is printed goes to refuses the start: %s", async (script, words) => {
  const bench = await createBench([answer]);
  const { stdout, stderr } = await runScript(bench, `set -o pipefail; ${script}; echo "status $?"; cat out`);
  expect(stdout).toBe("status 2\n");
  expect(stderr).toContain(`base-context: ${words}: name another file\n`);
  expect(bench.server.requests).toEqual([]);
});

test("two options do not write one file", async () => {
  const { run, server, workspace } = await createBench([answer]);
  const { status, stderr } = await run(["--summary", "./s", "--output-last-message", "s", "hi"]);
  expect(status).toBe(2);
  expect(stderr).toBe(
    "base-context: --output-last-message and --summary both write ./s: give each a file of its own\n",
  );
  expect(server.requests).toEqual([]);
  // But for what the summary of a refused start says.
  expect(existsSync(join(workspace.cwd, "s"))).toBe(true);
});

test("devices may be named as often as one likes", async () => {
  const bench = await createBench([answer]);
  const { stdout, stderr } = await runScript(
    bench,
    `bc --mode json --summary /dev/null --output-last-message /dev/null hi >/dev/null 2>/dev/null; echo $?
     bc --summary /dev/null hi`,
  );
  expect({ stdout, stderr }).toEqual({ stdout: "0\ndone\n", stderr: "" });
});

test("/export does not write the file that stdout goes to", async () => {
  const bench = await createBench([answer]);
  const { stdout, stderr } = await runScript(
    bench,
    `bc --mode json hi "/export out.md" >out.md; echo $?; tail -n 1 out.md | cut -c 1-31`,
  );
  expect(stdout).toBe('1\n{"type":"session_action_update"\n');
  expect(stderr).toMatch(
    /^base-context: \/export failed: \S+\/out\.md is where this run's own output goes: /,
  );
});
