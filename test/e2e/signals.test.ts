import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { cliPath } from "../support/run-cli.ts";
import { createBench } from "../support/with-provider.ts";

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

test("a reader that goes away is status 141 without a stack trace, and no request follows", async () => {
  const { workspace, server } = await createBench([
    chatReply({ calls: [{ name: "bash", args: { command: "sleep 60" } }] }),
    chatReply({ text: "done" }),
  ]);
  const script = `"${process.execPath}" "${cliPath}" --model fake/m --mode json hi 2>err | head -n 1 >/dev/null; echo "\${PIPESTATUS[0]}"`;
  const started = Date.now();
  const shell = spawn("bash", ["-c", script], {
    cwd: workspace.cwd,
    env: { PATH: process.env.PATH, HOME: workspace.home, BASE_CONTEXT_HOME: workspace.home },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let out = "";
  for await (const chunk of shell.stdout) out += chunk;
  expect(out.trim()).toBe("141");
  expect(Date.now() - started).toBeLessThan(10_000);
  expect(readFileSync(join(workspace.cwd, "err"), "utf8")).not.toMatch(/ at |EPIPE/);
  expect(server.requests.length).toBeLessThanOrEqual(1);
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
