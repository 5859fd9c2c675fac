import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { checkStream } from "../support/grammar.ts";
import { cliPath } from "../support/run-cli.ts";
import { runScript } from "../support/run-script.ts";
import { handlesSignals } from "../support/signals.ts";
import { createBench } from "../support/with-provider.ts";
import { processesWith, uniqueSleep, untilRunning } from "../tools/processes.ts";

const done = chatReply({ text: "done" });
const hanging = {
  body: 'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n',
  end: "hang",
} as const;

describe.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const)("%s", (signal, status) => {
  test(`in mid-stream is status ${status}, with every event closed`, async () => {
    const { run } = await createBench([hanging]);
    const result = await run(["--mode", "json", "hi"], {
      onStdout: once((soFar, child) => soFar.includes('"delta":"Hel"') && child.kill(signal)),
    });
    expect(result.status).toBe(status);
    const { type, messages } = result.lines.at(-1) ?? {};
    expect(type).toBe("agent_end");
    expect(messages.at(-1)).toMatchObject({
      stopReason: "aborted",
      content: [{ type: "text", text: "Hel" }],
    });
  });

  test(`within a tool is status ${status}, the tool is gone and its result says aborted`, async () => {
    const { run, workspace } = await createBench([
      chatReply({ calls: [{ name: "bash", args: { command: "echo $$ > pid; sleep 60" } }] }),
    ]);
    const pidFile = join(workspace.cwd, "pid");
    const result = await run(["--mode", "json", "hi"], {
      onStdout: once((soFar, child) => {
        if (!soFar.includes("tool_execution_start")) return false;
        const timer = setInterval(() => {
          if (!existsSync(pidFile) || readFileSync(pidFile, "utf8").trim() === "") return;
          clearInterval(timer);
          child.kill(signal);
        }, 10);
        return true;
      }),
    });
    expect(result.status).toBe(status);
    const end = result.lines.find(({ type }) => type === "tool_execution_end");
    expect(end).toMatchObject({ isError: true });
    expect(JSON.stringify(end?.result)).toContain("abort");
    expect(result.lines.at(-1)?.messages.at(-1)).toMatchObject({ role: "assistant", stopReason: "aborted" });
    expect(isAlive(Number(readFileSync(pidFile, "utf8")))).toBe(false);
  });
});

test("SIGUSR1 opens no debugger, and the run goes on", async () => {
  const bench = await createBench([
    chatReply({ calls: [{ name: "bash", args: { command: "sleep 1" } }] }),
    done,
  ]);
  const { status, stdout, stderr } = await bench.run(["hi"], {
    onStart: (child) => void bench.server.received(1).then(() => child.kill("SIGUSR1")),
  });
  expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "done\n", stderr: "" });
});

describe("a signal ends the run wherever it is", () => {
  const busy = { status: 503, type: "text/plain", body: "busy", headers: { "retry-after": "50" } } as const;

  test("while it waits to try again: the series is closed", async () => {
    const { run, server } = await createBench([busy]);
    const result = await run(["--mode", "json", "hi"], {
      onStdout: once((soFar, child) => soFar.includes("auto_retry_start") && child.kill("SIGINT")),
    });
    expect(result.status).toBe(130);
    expect(result.lines.filter(({ type }) => type === "auto_retry_end")).toMatchObject([
      { success: false, attempt: 1 },
    ]);
    expect(server.requests).toHaveLength(1);
  });

  test("while it waits for the provider to answer", async () => {
    const { run, server } = await createBench([{ waitMs: 60_000 }]);
    const result = await run(["--mode", "json", "hi"], {
      onStart: (child) => void server.received(1).then(() => child.kill("SIGINT")),
    });
    expect(result.status).toBe(130);
    expect(result.lines.at(-1)?.messages).toMatchObject([
      { role: "user" },
      { role: "assistant", stopReason: "aborted", errorMessage: "aborted by SIGINT" },
    ]);
  });

  test("before anything has happened: the stream is empty or whole", async () => {
    const { run, server } = await createBench([hanging]);
    const result = await run(["--mode", "json", "hi"], {
      onStart: (child) => void handlesSignals(child).then(() => child.kill("SIGINT")),
    });
    expect(result.status).toBe(130);
    expect(server.requests.length).toBeLessThanOrEqual(1);
  });

  test.each([
    ["nothing", ""],
    ["half a prompt", "List the"],
  ])(
    "together with the end of a pipe that said %s, as Ctrl-C in `slow | base-context` does",
    async (_, said) => {
      const { workspace, server } = await createBench([hanging]);
      for (let round = 0; round < 5; round++) {
        const child = spawn(process.execPath, [cliPath, "--mode", "json", "--model", "fake/m"], {
          cwd: workspace.cwd,
          env: { PATH: process.env.PATH, HOME: workspace.home, BASE_CONTEXT_HOME: workspace.home },
          stdio: ["pipe", "ignore", "ignore"],
        });
        const status = new Promise((resolve) => child.on("exit", resolve));
        if (said !== "") child.stdin.write(said);
        await handlesSignals(child);
        await sleep(100);
        child.kill("SIGINT");
        child.stdin.end();
        expect(await status).toBe(130);
      }
      expect(server.requests).toEqual([]);
    },
  );

  test("between two prompts and their tools: what is left is not run", async () => {
    const { run, server } = await createBench([hanging]);
    const result = await run(["--mode", "json", "first", "second"], {
      onStdout: once((soFar, child) => soFar.includes('"delta":"Hel"') && child.kill("SIGTERM")),
    });
    expect(result.status).toBe(143);
    expect(result.stderr).toContain("1 further prompt was not run");
    expect(server.requests).toHaveLength(1);
  });
});

describe("no process is left, not even one that ignores SIGTERM or left its group", () => {
  const stubborn = (seconds: string) =>
    chatReply({
      calls: [
        {
          name: "bash",
          args: { command: `trap '' TERM; (setsid sleep ${seconds} &); while :; do sleep ${seconds}; done` },
        },
      ],
    });

  test("a signal: the tool's end and its result say aborted, within seconds", async () => {
    const seconds = uniqueSleep();
    const { run } = await createBench([stubborn(seconds)]);
    const result = await run(["--mode", "json", "hi"], {
      onStart: (child) => void untilRunning(seconds).then(() => child.kill("SIGINT")),
      timeoutMs: 10_000,
    });
    expect(result.status).toBe(130);
    const [end] = result.lines.filter(({ type }) => type === "tool_execution_end");
    expect(end).toMatchObject({
      isError: true,
      result: { content: [{ text: expect.stringContaining("abort") }] },
    });
    expect(processesWith(seconds)).toEqual([]);
  });

  test("a second SIGINT ends at once, tools included", async () => {
    const seconds = uniqueSleep();
    const { run } = await createBench([stubborn(seconds)]);
    let secondAt = 0;
    const result = await run(["--mode", "json", "hi"], {
      unchecked: true,
      onStart: (child) =>
        void untilRunning(seconds).then(() => {
          child.kill("SIGINT");
          setTimeout(() => {
            secondAt = performance.now();
            child.kill("SIGINT");
          }, 100);
        }),
    });
    expect(result.status).toBe(130);
    expect(checkStream(result.lines, { cut: true })).toEqual([]);
    expect(performance.now() - secondAt).toBeLessThan(1000);
    expect(processesWith(seconds)).toEqual([]);
  });

  test("the terminal is closed", async () => {
    const seconds = uniqueSleep();
    const bench = await createBench([stubborn(seconds)]);
    const running = runScript(bench, 'exec script -qefc "$BC hi" /dev/null </dev/null', {
      onStdout: once((soFar, child) => {
        if (!soFar.includes("bash")) return false;
        void untilRunning(seconds).then(() => child.kill("SIGKILL"));
        return true;
      }),
    });
    await running;
    await untilGone(seconds);
    await untilGone(bench.workspace.home);
  });
});

test("a second SIGINT ends a run whose reader does not read", async () => {
  const { workspace } = await createBench([
    {
      body: `data: {"choices":[{"index":0,"delta":{"content":"${"x".repeat(4_000_000)}"}}]}\n\n`,
      end: "hang",
    },
  ]);
  const child = spawn(process.execPath, [cliPath, "--model", "fake/m", "--mode", "json", "hi"], {
    cwd: workspace.cwd,
    env: { PATH: process.env.PATH, HOME: workspace.home, BASE_CONTEXT_HOME: workspace.home },
    stdio: ["ignore", "pipe", "ignore"],
    timeout: 15_000,
    killSignal: "SIGKILL",
  });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  child.stdout.on("readable", () => undefined);
  while (child.stdout.readableLength < child.stdout.readableHighWaterMark) await sleep(10);
  child.kill("SIGINT");
  await sleep(500);
  expect(child.exitCode).toBe(null);
  child.kill("SIGINT");
  expect(await ended).toBe(130);
  child.stdout.destroy();
});

/** Calls on until it says that it did what it is for: a second signal would end the program as it stands. */
function once(
  act: (soFar: string, child: ChildProcess) => boolean,
): (soFar: string, child: ChildProcess) => void {
  let done = false;
  return (soFar, child) => {
    if (!done) done = act(soFar, child);
  };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Waits until no process has the text in its command line. */
async function untilGone(text: string): Promise<void> {
  while (processesWith(text).length > 0) await sleep(50);
}
