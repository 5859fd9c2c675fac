import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ToolOutput } from "../../src/contract/events.ts";
import type { JsonObject } from "../../src/contract/json.ts";
import type { ToolContext, ToolResult } from "../../src/contract/tool.ts";
import { type BashOptions, createBashTool } from "../../src/tools/bash.ts";
import { childEnv } from "../../src/tools/shell/child-env.ts";
import { processesWith, uniqueSleep, untilRunning } from "./processes.ts";
import { temporaryFolder } from "./shell/temporary-folder.ts";
import { toolContext } from "./tool-context.ts";

const env = childEnv(process.env, { credentialNames: [], passEnv: [] });

async function bash(
  args: JsonObject,
  context: Partial<ToolContext> = {},
  options: Partial<BashOptions> = {},
): Promise<ToolResult> {
  const spillFolder = join(await temporaryFolder(), "spill");
  const tool = createBashTool({ env, secrets: [], spillFolder, maxSpillBytes: 1e9, ...options });
  return tool.execute(args, toolContext(context));
}

function result(text: string, isError: boolean, facts: JsonObject): ToolResult {
  return {
    content: [{ type: "text", text }],
    isError,
    details: { durationMs: expect.any(Number), ...facts },
  };
}

const results: [command: string, ToolResult][] = [
  ["echo hi", result("hi\n", false, { exitCode: 0 })],
  ["true", result("(no output)", false, { exitCode: 0 })],
  ["echo out; echo err >&2; exit 3", result("out\nerr\n\nCommand exited with code 3", true, { exitCode: 3 })],
  ["exit 1", result("Command exited with code 1", true, { exitCode: 1 })],
  ["kill -KILL $$", result("Command was killed by SIGKILL", true, { signal: "SIGKILL" })],
  ["printf 'a\\0b\\xff'", result("a\uFFFDb\uFFFD", false, { exitCode: 0 })],
];
test.each(results)("%s", async (command, expected) => {
  expect(await bash({ command })).toEqual(expected);
});

describe("a command", () => {
  test("has its output in the order in which it wrote to stdout and stderr", async () => {
    const command = "for i in 1 2 3 4 5 6 7 8 9; do echo out $i; echo err $i >&2; done";
    const lines = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((i) => `out ${i}\nerr ${i}\n`);
    expect(await bash({ command })).toEqual(result(lines.join(""), false, { exitCode: 0 }));
  });

  test("runs in the working folder", async () => {
    const cwd = await temporaryFolder();
    expect((await bash({ command: "pwd -P" }, { cwd })).content).toEqual([
      { type: "text", text: `${cwd}\n` },
    ]);
  });

  test("that exceeds its time is killed, and what it printed is kept", async () => {
    const seconds = uniqueSleep();
    const actual = await bash({ command: `echo before; sleep ${seconds}`, timeout: 0.5 });
    const text = "before\n\nCommand timed out after 0.5 s and was killed";
    expect(actual).toEqual(result(text, true, { signal: "SIGTERM" }));
    expect(processesWith(seconds)).toEqual([]);
  });

  test("that is aborted is killed and says so", async () => {
    const seconds = uniqueSleep();
    const controller = new AbortController();
    const running = bash({ command: `sleep ${seconds}` }, { signal: controller.signal });
    await untilRunning(seconds);
    controller.abort();
    expect(await running).toEqual(result("Command aborted", true, { signal: "SIGTERM" }));
    expect(processesWith(seconds)).toEqual([]);
  });

  test("that leaves a process in the background tells its pid", async () => {
    const seconds = uniqueSleep();
    const actual = await bash({ command: `sleep ${seconds} & echo up` });
    const [pid = 0] = processesWith(seconds);
    process.kill(pid);
    const note = `[Still running in the background: 1 process, pid ${pid}. Further output of theirs is not shown.]`;
    expect(actual).toEqual(result(`up\n\n${note}`, false, { exitCode: 0 }));
  });

  test("that floods is killed at the limit", async () => {
    const { content, isError } = await bash({ command: "yes" }, {}, { maxSpillBytes: 200_000 });
    const [text] = content;
    expect(isError).toBe(true);
    expect(text).toMatchObject({
      text: expect.stringMatching(/Command was killed: its output exceeded the limit of 200000 bytes$/),
    });
  });

  test("that cannot be started is an error that says why", async () => {
    const actual = await bash({ command: "true" }, {}, { shellPath: "/no/shell" });
    const text = "Command could not be started: /no/shell was not started: spawn /no/shell ENOENT";
    expect(actual).toEqual(result(text, true, {}));
  });

  test("comes after the prefix of the settings, in the shell of the settings", async () => {
    const options = { commandPrefix: "greeting=hi # prefix", shellPath: "/bin/sh" };
    expect(await bash({ command: "echo $greeting $0" }, {}, options)).toEqual(
      result("hi /bin/sh\n", false, { exitCode: 0 }),
    );
  });

  test("without a word or with a time limit of nothing is refused", async () => {
    const texts = [{}, { command: "" }, { command: "true", timeout: 0 }, { command: "true", timeout: -1 }];
    const actual = await Promise.all(texts.map((args) => bash(args)));
    expect(actual.map(({ isError }) => isError)).toEqual([true, true, true, true]);
  });
});

test("updates hold the output so far and come at most every 100 ms", async () => {
  const updates: { at: number; output: ToolOutput }[] = [];
  const onUpdate = (output: ToolOutput): number => updates.push({ at: performance.now(), output });
  await bash({ command: "for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.05; done" }, { onUpdate });
  const texts = updates.map(({ output: { content } }) =>
    content[0]?.type === "text" ? content[0].text : "",
  );
  const whole = "1\n2\n3\n4\n5\n6\n7\n8\n";
  expect(texts.length).toBeGreaterThan(1);
  expect(texts.every((text) => text !== "" && whole.startsWith(text))).toBe(true);
  const gaps = updates.slice(1).map(({ at }, index) => at - (updates[index]?.at ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThan(90);
});

describe("what would wait for a person fails", () => {
  test("an editor that git opens", async () => {
    const cwd = await temporaryFolder();
    const git = (...args: string[]): Buffer =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd });
    git("init", "-q");
    git("config", "core.editor", "vi");
    git("commit", "-q", "--allow-empty", "-m", "first");
    const config = "git -c user.name=a -c user.email=a@b";
    const commit = await bash({ command: `${config} commit --allow-empty`, timeout: 20 }, { cwd });
    const rebase = await bash({ command: `${config} rebase -i --root`, timeout: 20 }, { cwd });
    expect([commit.isError, rebase.isError]).toEqual([true, true]);
  });

  test("a question", async () => {
    const { content } = await bash({ command: "read -p 'sure? ' answer || echo no one" });
    expect(content).toEqual([{ type: "text", text: "no one\n" }]);
  });
});

test("a flood takes bounded memory", async () => {
  const folder = await temporaryFolder();
  const script = join(folder, "flood.sh");
  await writeFile(script, "head -c 100000000 /dev/zero | tr '\\0' x\n");
  const before = process.memoryUsage.rss();
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 10);
  const { details } = await bash({ command: `sh ${script}` });
  clearInterval(timer);
  expect(details).toMatchObject({ totalBytes: 100_000_000, totalLines: 1 });
  expect(peak - before).toBeLessThan(60 * 1024 * 1024);
});
