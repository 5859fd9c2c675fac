import { existsSync, readdirSync, readlinkSync } from "node:fs";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { killAllGroups } from "../../../src/tools/shell/kill-all.ts";
import { type CommandEnd, type CommandOptions, runCommand } from "../../../src/tools/shell/shell.ts";
import { processesWith, uniqueSleep, untilRunning } from "../processes.ts";
import { temporaryFolder } from "./temporary-folder.ts";

type Run = Omit<CommandEnd, "durationMs"> & { stdout: string; stderr: string };

async function run(options: Partial<CommandOptions> & { command: string }): Promise<Run> {
  const output = { stdout: "", stderr: "" };
  const { durationMs, ...end } = await runCommand({
    cwd: "/",
    env: { PATH: process.env.PATH },
    onOutput(chunk, stream) {
      output[stream] += Buffer.from(chunk).toString();
    },
    ...options,
  });
  expect(durationMs).toBeGreaterThanOrEqual(0);
  return { ...end, ...output };
}

function killLater(pids: readonly number[]): void {
  onTestFinished(() => {
    for (const pid of pids) process.kill(pid, "SIGKILL");
  });
}

const quiet = { reason: "exit", survivors: [], stdout: "", stderr: "" };

describe("a command ends", () => {
  const endings: [string, Partial<Run>][] = [
    ["echo hi; echo oops >&2", { exitCode: 0, stdout: "hi\n", stderr: "oops\n" }],
    ["exit 3", { exitCode: 3 }],
    ["kill -SEGV $$", { signal: "SIGSEGV" }],
    ["cat; echo end", { exitCode: 0, stdout: "end\n" }],
    ["echo out > /dev/stdout; echo err > /dev/stderr", { exitCode: 0, stdout: "out\n", stderr: "err\n" }],
    [
      "test -t 1 || test -t 0 || echo none; true < /dev/tty || echo none",
      { stdout: "none\nnone\n", exitCode: 0 },
    ],
    ["printf x; sleep 0.3; printf y", { exitCode: 0, stdout: "xy" }],
  ];
  test.each(endings)("%s", async (command, expected) => {
    const { stderr, ...rest } = await run({ command });
    const { stderr: expectedErrors = "", ...others } = { ...quiet, ...expected };
    expect(rest).toEqual({ ...others });
    if (!command.includes("/dev/tty")) expect(stderr).toBe(expectedErrors);
  });

  test("with all of its output, however much that is", async () => {
    const { stdout } = await run({ command: "seq 1 100000" });
    expect(stdout.length).toBe(588895);
  });

  test("when it is longer than an argument may be", async () => {
    const { stdout } = await run({ command: `echo ${"x".repeat(200_000)} | wc -c; echo "$-" | grep -c i` });
    expect(stdout).toBe("200001\n0\n");
  });

  test("where no temporary folder can be written", async () => {
    vi.stubEnv("TMPDIR", "/nonexistent");
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await run({ command: "echo hi" })).toEqual({ ...quiet, exitCode: 0, stdout: "hi\n" });
  });

  test("at once when it cannot be started", async () => {
    const cases = [
      { command: "true", shell: "/no/such/shell" },
      { command: "true", cwd: "/no/such/folder" },
      { command: "true \0" },
    ];
    const ends = await Promise.all(cases.map((options) => run(options)));
    expect(ends.map(({ reason, errorMessage }) => [reason, errorMessage])).toEqual([
      ["spawn_error", "/no/such/shell was not started: spawn /no/such/shell ENOENT"],
      [
        "spawn_error",
        `${existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh"} was not started: the folder /no/such/folder does not exist`,
      ],
      ["spawn_error", expect.stringContaining("null bytes")],
    ]);
  });
});

describe("a process in the background", () => {
  test.each([
    ["of the same group", ""],
    ["with a session of its own", "setsid "],
  ])("%s holds the pipe and does not hold the call", async (_name, prefix) => {
    const seconds = uniqueSleep();
    const startedAt = performance.now();
    const end = await run({ command: `${prefix}sleep ${seconds} & echo up` });
    // What it must not wait for takes minutes.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    const pids = processesWith(seconds);
    killLater(pids);
    expect(pids).toHaveLength(1);
    expect(end).toEqual({ ...quiet, exitCode: 0, stdout: "up\n", survivors: pids });
  });

  test("that goes on writing is not killed by a closed pipe", async () => {
    const folder = await temporaryFolder();
    const command = `(sleep 0.4; echo late; echo alive > ${folder}/alive) & echo up`;
    expect((await run({ command })).stdout).toBe("up\n");
    await vi.waitFor(() => expect(existsSync(`${folder}/alive`)).toBe(true), { timeout: 5000 });
  });

  test("is killed with all others when the program ends by a signal", async () => {
    const seconds = uniqueSleep();
    await run({ command: `sleep ${seconds} & setsid sleep ${seconds} > /dev/null 2>&1 & echo up` });
    await untilRunning(seconds);
    killAllGroups();
    await vi.waitFor(() => expect(processesWith(seconds)).toEqual([]));
  });
});

describe("what a command started is gone", () => {
  test("after a time limit, in spite of traps and sessions", async () => {
    const seconds = uniqueSleep();
    const startedAt = performance.now();
    const end = await run({
      command: `(trap '' TERM; exec sleep ${seconds}) & setsid sleep ${seconds} & sleep ${seconds}`,
      timeoutMs: 1000,
    });
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    expect(processesWith(seconds)).toEqual([]);
    expect(end).toEqual({ ...quiet, reason: "timeout", signal: "SIGTERM" });
  });

  test("after an abort", async () => {
    const seconds = uniqueSleep();
    const controller = new AbortController();
    const running = run({
      command: `setsid sh -c 'setsid sleep ${seconds} & wait' & sleep ${seconds}`,
      signal: controller.signal,
    });
    await untilRunning(seconds);
    controller.abort();
    expect(await running).toEqual({ ...quiet, reason: "abort", signal: "SIGTERM" });
    expect(processesWith(seconds)).toEqual([]);
  });

  test("after an abort that came before the start", async () => {
    const folder = await temporaryFolder();
    const end = await run({ command: `touch ${folder}/started`, signal: AbortSignal.abort() });
    expect(end).toEqual({ ...quiet, reason: "abort" });
    expect(existsSync(`${folder}/started`)).toBe(false);
  });

  test("when its output exceeds the limit", async () => {
    const { reason, stdout } = await run({ command: "yes", maxOutputBytes: 100_000 });
    expect([reason, stdout.length]).toEqual(["ceiling", 100_000]);
  });
});

test("one that ended in time has not run out of it, however late that is heard", async () => {
  const end = await run({
    command: "echo up; sleep 0.2; exit 3",
    timeoutMs: 2000,
    onOutput() {
      // By then the command has ended and its time is over, and neither has been heard of.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2500);
    },
  });
  expect(end).toEqual({ ...quiet, exitCode: 3 });
});

test("a program gets time to end in order", async () => {
  const end = await run({ command: "trap 'echo bye; exit 0' TERM; sleep 60 & wait", timeoutMs: 500 });
  expect(end).toEqual({ ...quiet, reason: "timeout", exitCode: 0, stdout: "bye\n" });
});

test.runIf(process.platform === "linux")(
  "no pipe stays open for what cannot be started or goes on in the background",
  async () => {
    await run({ command: "true" });
    const before = openPipes();
    for (let count = 0; count < 3; count++)
      expect(await run({ command: "true", cwd: "/does/not/exist" })).toMatchObject({ reason: "spawn_error" });
    expect(openPipes()).toBe(before);
    const command = "sleep 0.2 & true";
    const { survivors } = await run({ command, drainMs: 20 });
    expect(survivors).toHaveLength(1);
    await expect.poll(openPipes).toBeLessThanOrEqual(before);
  },
);

/** How many descriptors of this process are pipes that have, or had, a name. */
function openPipes(): number {
  const links = readdirSync("/proc/self/fd").map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return "";
    }
  });
  return links.filter((link) => link.includes("/base-context-")).length;
}
