import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, mkdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { toLines } from "../../src/runs/follow-log.ts";
import { chatReply } from "../support/chat-wire.ts";
import { environmentOf, eventually, recordOf, runIds } from "../support/lifecycle.ts";
import type { Script } from "../support/provider-server.ts";
import { cliPath, type Line } from "../support/run-cli.ts";
import { type Bench, createBench } from "../support/with-provider.ts";

const hanging = {
  body: 'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n',
  end: "hang",
} as const;
const going: ChildProcess[] = [];

afterEach(() => {
  for (const child of going.splice(0)) child.kill("SIGKILL");
});

/** Starts a run that takes its prompts from stdin. */
async function startRpc(bench: Bench, env: NodeJS.ProcessEnv = {}) {
  const child = spawn(process.execPath, [cliPath, "--model", "fake/m", "--mode", "rpc", "--name", "served"], {
    cwd: bench.workspace.cwd,
    env: { ...environmentOf(bench.workspace), ...env },
    stdio: ["pipe", "pipe", "inherit"],
  });
  going.push(child);
  const lines = toLines(child.stdout);
  const until = async (isIt: (line: Line) => boolean): Promise<Line> => {
    for (;;) {
      const { value, done } = await lines.next();
      if (done === true) throw new Error("the stream ended");
      const line: Line = JSON.parse(value);
      if (isIt(line)) return line;
    }
  };
  const header = await until(({ type }) => type === "session");
  const { BASE_CONTEXT_HOME: home = bench.workspace.home } = env;
  await eventually(() => existsSync(join(home, "runs", header.id, "run.json")));
  return {
    child,
    until,
    id: header.id as string,
    say: (line: object) => child.stdin.write(`${JSON.stringify(line)}\n`),
  };
}

function bench(...script: Script[]): Promise<Bench> {
  return createBench(script);
}

async function list({ runBare }: Bench): Promise<Line[]> {
  return JSON.parse((await runBare(["list", "--json"])).stdout);
}

test("a run that waits for its client's next prompt is idle, and what is sent to it is that prompt", async () => {
  const served = await bench(chatReply({ text: "Done." }), hanging);
  const { id, until, say, child } = await startRpc(served);
  await eventually(() => existsSync(recordOf(served.workspace.home, id).socket));
  expect(await list(served)).toMatchObject([{ id, name: "served", mode: "rpc", state: "idle" }]);
  expect((await served.runBare(["send", "served", "hi"])).status).toBe(0);
  await until(({ type }) => type === "agent_end");
  expect(await list(served)).toMatchObject([{ id, state: "idle" }]);
  say({ type: "prompt", message: "more" });
  await until(({ type }) => type === "message_update");
  expect(await list(served)).toMatchObject([{ id, state: "running" }]);
  const exited = once(child, "exit");
  expect((await served.runBare(["stop", id])).status).toBe(0);
  expect((await exited)[0]).toBe(143);
});

test("a run that goes on with another session is found by that one's id, and tells who watches", async () => {
  const served = await bench(chatReply({ text: "Done." }));
  const { id, until, say } = await startRpc(served);
  await eventually(() => existsSync(recordOf(served.workspace.home, id).socket));
  let seen = "";
  const watching = served.runBare(["attach", id, "--json-deltas"], {
    unchecked: true,
    onStdout(soFar) {
      seen = soFar;
    },
  });
  await eventually(() => seen.includes("\n"));
  say({ type: "new_session", id: 1 });
  const next = await until(({ type }) => type === "session");
  expect(next.id).not.toBe(id);
  say({ type: "prompt", message: "hi" });
  await until(({ type }) => type === "agent_end");
  expect(runIds(served.workspace.home)).toEqual([next.id]);
  expect(await list(served)).toMatchObject([{ id: next.id, state: "idle" }]);
  expect((await served.runBare(["send", next.id, "hi again"])).status).toBe(0);
  await until(({ type }) => type === "agent_end");
  expect((await served.runBare(["stop", next.id])).status).toBe(0);
  const { lines } = await watching;
  expect(lines.filter(({ type }) => type === "session").map((header) => header.id)).toEqual([id, next.id]);
  expect(lines.at(-1)?.type).toBe("agent_end");
});

test("what a command changes of a run is found when the command is answered, before anything is prompted", async () => {
  const served = await createBench([chatReply({ text: "Done." })], {
    provider: { models: [{ id: "m" }, { id: "other" }] },
  });
  const { id, until, say, child } = await startRpc(served);
  const done = (command: number) => until((line) => line.type === "response" && line.id === command);
  say({ type: "set_session_name", name: "renamed", id: 1 });
  say({ type: "set_model", modelId: "fake/other", id: 2 });
  await done(2);
  expect(await list(served)).toMatchObject([{ id, name: "renamed", model: "other" }]);
  await eventually(() => existsSync(recordOf(served.workspace.home, id).socket));
  let seen = "";
  const watching = served.runBare(["attach", "renamed", "--json-deltas"], {
    unchecked: true,
    onStdout(soFar) {
      seen = soFar;
    },
  });
  await eventually(() => seen.includes(id));
  say({ type: "new_session", id: 3 });
  const { data } = await done(3);
  await eventually(() => seen.includes(data.sessionId));
  const [next, ...others] = await list(served);
  expect(others).toEqual([]);
  expect(next).toMatchObject({ id: data.sessionId, state: "idle", mode: "rpc" });
  expect(next).not.toHaveProperty("name");
  child.stdin.end();
  await watching;
});

test("where the home folder is too deep for a socket it is in a short private folder", async () => {
  const served = await bench(hanging);
  const home = join(served.workspace.home, "d".repeat(60), "e".repeat(60));
  const runtime = join(served.workspace.home, "r");
  for (const folder of [home, runtime]) mkdirSync(folder, { recursive: true });
  const env = { BASE_CONTEXT_HOME: home, XDG_RUNTIME_DIR: runtime };
  copyFileSync(join(served.workspace.home, "models.json"), join(home, "models.json"));
  const { id, child } = await startRpc(served, env);
  const { socket } = recordOf(home, id);
  expect(socket.startsWith(runtime)).toBe(true);
  await eventually(() => existsSync(socket));
  expect(statSync(dirname(socket)).mode & 0o777).toBe(0o700);
  expect((await served.runBare(["send", id, "hi"], { env })).status).toBe(0);
  await served.server.received(1);
  const exited = once(child, "exit");
  expect((await served.runBare(["stop", id], { env })).status).toBe(0);
  await exited;
  expect(existsSync(socket)).toBe(false);
});
