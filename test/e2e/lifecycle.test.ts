import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { checkStream } from "../support/grammar.ts";
import {
  type BackgroundRun,
  callThenAnswer,
  createGate,
  eventually,
  isAlive,
  recordOf,
  startRun,
} from "../support/lifecycle.ts";
import type { Script } from "../support/provider-server.ts";
import { type Bench, createBench } from "../support/with-provider.ts";

const hanging = {
  body: 'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n',
  end: "hang",
} as const;
const going: BackgroundRun[] = [];

afterEach(() => {
  for (const { child } of going.splice(0)) child.kill("SIGKILL");
});

async function start(script: readonly Script[], args: readonly string[] = ["hi"]) {
  const bench = await createBench(script);
  return { bench, run: await startIn(bench, args) };
}

async function startIn(bench: Bench, args: readonly string[]): Promise<BackgroundRun> {
  const run = await startRun(bench, args);
  going.push(run);
  return run;
}

async function list({ runBare }: Bench, ...options: string[]) {
  const { status, stdout } = await runBare(["list", "--json", ...options]);
  expect(status).toBe(0);
  return JSON.parse(stdout);
}

describe("a run that goes on", () => {
  test("is listed with all that the list promises, and is not listed when it has ended", async () => {
    const { bench, run } = await start([hanging], ["--name", "nightly", "hi"]);
    const expected = {
      id: run.id,
      name: "nightly",
      pid: run.child.pid,
      state: "running",
      mode: "json",
      provider: "fake",
      model: "m",
      cwd: bench.workspace.cwd,
      startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    };
    expect(await list(bench)).toEqual([expected]);
    expect((await bench.runBare(["list"])).stdout).toMatch(
      new RegExp(`^ID .*\n${run.id} +running +\\S+ +json +fake/m +nightly +${bench.workspace.cwd}\n$`),
    );
    run.child.kill("SIGINT");
    expect((await run.exited).status).toBe(130);
    expect(await list(bench)).toEqual([]);
    expect((await bench.runBare(["list"])).stdout).toBe("");
    expect(await list(bench, "--all")).toEqual([{ ...expected, state: "exited", exitStatus: 130 }]);
  });

  test("keeps its folder and its socket from other users", async () => {
    const { bench, run } = await start([hanging]);
    const { socket } = recordOf(bench.workspace.home, run.id);
    const folder = join(bench.workspace.home, "runs", run.id);
    await eventually(() => existsSync(socket) && mode(socket) === 0o600);
    expect([mode(folder), mode(join(folder, "run.json")), mode(join(bench.workspace.home, "runs"))]).toEqual([
      0o700, 0o600, 0o700,
    ]);
  });

  test("tells its status and what is queued", async () => {
    const { bench, run } = await start([hanging]);
    expect((await bench.runBare(["send", run.id, "and then?"])).status).toBe(0);
    expect((await bench.runBare(["send", "--steer", run.id, "no, this"])).status).toBe(0);
    const { stdout } = await bench.runBare(["status", run.id.slice(0, 8), "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      id: run.id,
      state: "running",
      resident: false,
      actions: {
        queuedCount: 2,
        steering: ["no, this"],
        followUps: ["and then?"],
        active: { kind: "turn", phase: "running" },
      },
    });
    expect((await bench.runBare(["status", run.id])).stdout).toMatch(/^state +running$/m);
  });

  test("ends as by SIGTERM when it is stopped, and stopping it again is no error", async () => {
    const { bench, run } = await start([callThenAnswer("echo $$ > pid; sleep 60")]);
    const tool = await eventually(() => toolPid(bench));
    const stopped = await bench.runBare(["stop", run.id]);
    expect([stopped.status, stopped.stdout, stopped.stderr]).toEqual([0, "", ""]);
    expect(run.child.exitCode).toBe(143);
    expect(isAlive(tool)).toBe(false);
    expect(run.stdout()).toContain('"type":"agent_end"');
    const again = await bench.runBare(["stop", run.id]);
    expect([again.status, again.stderr]).toEqual([0, `base-context: the run ${run.id} has ended already\n`]);
  });

  test("is killed with what it started when it is stopped by force", async () => {
    const { bench, run } = await start([callThenAnswer("echo $$ > pid; sleep 60")]);
    const tool = await eventually(() => toolPid(bench));
    expect((await bench.runBare(["stop", "--force", run.id])).status).toBe(0);
    expect(await run.exited).toEqual({ status: null, signal: "SIGKILL" });
    await eventually(() => !isAlive(tool));
    expect((await bench.runBare(["wait", run.id])).status).toBe(137);
    expect(await list(bench, "--all")).toMatchObject([{ id: run.id, state: "exited", exitStatus: 137 }]);
  });
});

describe("stop works in every phase of a run:", () => {
  const silent: Script = { waitMs: 60_000 };
  test.each<[string, Script[], string[], (run: BackgroundRun, bench: Bench) => unknown]>([
    ["right after the header", [silent], ["hi"], () => true],
    ["before the first byte of a reply", [silent], ["hi"], (_, { server }) => server.requests.length > 0],
    ["in a message", [hanging], ["hi"], ({ stdout }) => stdout().includes('"delta":"Hel"')],
    [
      "before another attempt",
      [{ status: 500 }],
      ["hi"],
      ({ stdout }) => stdout().includes("auto_retry_start"),
    ],
    [
      "in a compaction",
      [chatReply({ text: "Done." }), silent],
      ["hi", "/compact"],
      ({ stdout }) => stdout().includes("compaction_start"),
    ],
    [
      "with messages queued",
      [hanging],
      ["hi", "never said"],
      async (run, { runBare }) => (await runBare(["send", run.id, "nor this"])).status === 0,
    ],
  ])("%s", async (_, script, args, isThere) => {
    const { bench, run } = await start(script, args);
    await eventually(() => isThere(run, bench));
    const stopped = await bench.runBare(["stop", run.id]);
    expect([stopped.status, stopped.stderr]).toEqual([0, ""]);
    expect(await run.exited).toEqual({ status: 143, signal: null });
    const lines = run.stdout().trimEnd().split("\n");
    expect(checkStream(lines.map((line) => JSON.parse(line)))).toEqual([]);
    expect((await bench.runBare(["wait", run.id])).status).toBe(143);
  });
});

describe("send", () => {
  test("steers before the next request, and follows up when the run would stop", async () => {
    const bench = await createBench([]);
    const gate = createGate(bench.workspace);
    const other = await createBench([
      chatReply({ calls: [{ name: "bash", args: { command: gate.command } }] }),
      chatReply({ text: "Steered." }),
      chatReply({ text: "Followed." }),
    ]);
    const run = await startIn(other, ["--cwd", bench.workspace.cwd, "hi"]);
    await eventually(() => run.stdout().includes("tool_execution_start"));
    expect((await other.runBare(["send", run.id, "then that", "--follow-up"])).status).toBe(0);
    expect((await other.runBare(["send", run.id, "rather this", "--steer"])).status).toBe(0);
    await gate.open();
    expect((await run.exited).status).toBe(0);
    const users = other.server.requests.map((_, index) =>
      other.server
        .json(index)
        .messages.filter(({ role }: { role: string }) => role === "user")
        .map(({ content }: { content: string }) => content),
    );
    expect(users).toEqual([["hi"], ["hi", "rather this"], ["hi", "rather this", "then that"]]);
  });

  test("takes a message literally that comes after --, as an option or a command of the session", async () => {
    const { bench, run } = await start([
      { ...chatReply({ text: "One." }), waitMs: 1500 },
      chatReply({ text: "Two." }),
    ]);
    const refused = await bench.runBare(["send", run.id, "/nope"]);
    expect([refused.status, refused.stderr]).toEqual([
      2,
      expect.stringContaining("/nope is a session command"),
    ]);
    expect((await bench.runBare(["send", run.id, "--", "/nope"])).status).toBe(0);
    expect((await run.exited).status).toBe(0);
    expect(bench.server.json(1).messages.at(-1).content).toBe("/nope");
  });

  test.each([
    [["send", "ID", " "], "the message is empty"],
    [["send", "ID"], "send takes 2 arguments"],
    [["send", "ID", "a", "--steer", "--follow-up"], "--steer and --follow-up exclude each other"],
    [["send", "nobody", "a"], 'no run has the id or name "nobody"'],
  ])("%j is refused", async (args, words) => {
    const { bench, run } = await start([hanging]);
    const { status, stderr } = await bench.runBare(args.map((arg) => (arg === "ID" ? run.id : arg)));
    expect([status, stderr]).toEqual([2, expect.stringContaining(words)]);
  });

  test("is refused by a run that has ended", async () => {
    const { bench, run } = await start([chatReply({ text: "Done." })]);
    await run.exited;
    const { status, stderr } = await bench.runBare(["send", run.id, "more"]);
    expect([status, stderr]).toEqual([2, expect.stringContaining(`the run ${run.id} has ended`)]);
  });
});

describe("a saved session whose run is no longer on record", () => {
  test.each([["wait"], ["attach"], ["stop"], ["send", "more"]])(
    "is told as such by %s",
    async (name, ...rest) => {
      const { bench, run } = await start([chatReply({ text: "Done." })], ["--name", "old", "hi"]);
      await run.exited;
      rmSync(join(bench.workspace.home, "runs"), { recursive: true });
      for (const target of [run.id, run.id.slice(0, 8), "old"]) {
        const { status, stdout, stderr } = await bench.runBare([name, target, ...rest]);
        expect([status, stdout]).toEqual([2, ""]);
        expect(stderr).toBe(
          `base-context: no run of the session ${run.id} is on record; base-context show ${run.id} shows the session, --resume ${run.id} goes on with it\n`,
        );
      }
    },
  );
});

describe("wait", () => {
  test("ends with the run's status, during the run and after it", async () => {
    const { bench, run } = await start([{ status: 401, body: "{}", type: "application/json", waitMs: 1000 }]);
    const during = await bench.runBare(["wait", run.id]);
    expect([during.status, during.stdout]).toEqual([1, ""]);
    expect(during.stderr).toContain(`the run ${run.id} ended with status 1: `);
    expect((await run.exited).status).toBe(1);
    expect((await bench.runBare(["wait", run.id])).status).toBe(1);
  });

  test("tells of a run that was killed", async () => {
    const { bench, run } = await start([hanging]);
    run.child.kill("SIGKILL");
    await run.exited;
    const { status, stderr } = await bench.runBare(["wait", run.id]);
    expect([status, stderr]).toEqual([1, expect.stringContaining("was killed, or died")]);
  });
});

describe("targets", () => {
  test("are ids, their unique beginnings, and names; what is ambiguous lists the candidates", async () => {
    const bench = await createBench([hanging]);
    const runs = [
      await startIn(bench, ["--name", "twin", "hi"]),
      await startIn(bench, ["--name", "twin", "hi"]),
      await startIn(bench, ["--name", "alone", "hi"]),
    ];
    const ids = runs.map(({ id }) => id);
    const status = async (target: string) => {
      const result = await bench.runBare(["status", target, "--json"]);
      return result.status === 0 ? JSON.parse(result.stdout).id : [result.status, result.stderr];
    };
    expect(await status("alone")).toBe(ids[2]);
    expect(await status(ids[1]?.slice(0, 13) ?? "")).toBe(ids[1]);
    const [code, words] = await status("twin");
    expect(code).toBe(2);
    for (const id of ids.slice(0, 2)) expect(words).toContain(id);
    expect(words).not.toContain(ids[2]);
    const [unknownCode, unknownWords] = await status("triplet");
    expect(unknownCode).toBe(2);
    for (const id of ids) expect(unknownWords).toContain(id);
    // Of several runs of one name the one that goes on is meant.
    runs[0]?.child.kill("SIGTERM");
    await runs[0]?.exited;
    expect(await status("twin")).toBe(ids[1]);
  });
});

describe("a run that was killed", () => {
  test("is seen as exited, leaves nothing in the way, and its session goes on", async () => {
    const { bench, run } = await start([hanging, chatReply({ text: "On." })]);
    await eventually(() => run.stdout().includes('"delta":"Hel"'));
    run.child.kill("SIGKILL");
    await run.exited;
    expect(await list(bench)).toEqual([]);
    const [listed, ...others] = await list(bench, "--all");
    expect(others).toEqual([]);
    expect(listed).toMatchObject({ id: run.id, state: "exited" });
    expect(listed).not.toHaveProperty("exitStatus");
    expect(existsSync(recordOf(bench.workspace.home, run.id).socket)).toBe(false);
    const resumed = await bench.run(["--mode", "json", "--resume", run.id, "go on"]);
    expect(resumed.status).toBe(0);
    expect(await list(bench, "--all")).toMatchObject([{ id: run.id, state: "exited", exitStatus: 0 }]);
  });

  test("is not mistaken for a later process with its number", async () => {
    const { bench, run } = await start([hanging]);
    run.child.kill("SIGKILL");
    await run.exited;
    const path = join(bench.workspace.home, "runs", run.id, "run.json");
    writeFileSync(path, JSON.stringify({ ...recordOf(bench.workspace.home, run.id), pid: process.pid }));
    expect(await list(bench)).toEqual([]);
    expect((await bench.runBare(["stop", run.id])).stderr).toContain("has ended already");
  });
});

test("saved sessions are listed when all is asked for, with what is known of them", async () => {
  const bench = await createBench([chatReply({ text: "Done." })]);
  const { lines } = await bench.run(["--mode", "json", "--name", "old", "hi"]);
  const { id, timestamp, cwd } = lines[0] ?? {};
  rmSync(join(bench.workspace.home, "runs"), { recursive: true });
  const saved = { id, name: "old", state: "exited", cwd, startedAt: timestamp };
  const unknown = { pid: null, mode: null, provider: null, model: null };
  expect(await list(bench, "--all")).toEqual([{ ...saved, ...unknown }]);
  const { stdout } = await bench.runBare(["status", id, "--json"]);
  expect(JSON.parse(stdout)).toEqual({ ...saved, ...unknown });
});

test("a home folder that takes no runs does not keep the run from its work", async () => {
  const bench = await createBench([chatReply({ text: "Done." })]);
  bench.workspace.homeFile("runs", "a file");
  const quiet = await bench.run(["hi"]);
  expect([quiet.status, quiet.stdout, quiet.stderr]).toEqual([0, "Done.\n", ""]);
  const verbose = await bench.run(["--verbose", "hi"]);
  expect(verbose.stderr).toMatch(/^base-context: this run will not be listed: .*\n$/);
  expect((await bench.runBare(["list"])).status).toBe(2);
});

describe("the socket", () => {
  test("answers what is malformed, too much at once and half closed, and the run goes on", async () => {
    const { bench, run } = await start([hanging]);
    const { socket } = recordOf(bench.workspace.home, run.id);
    await eventually(() => existsSync(socket));
    const answers = await talk(
      socket,
      'nonsense\n[]\n{"id":7,"type":"nonsense"}\n\n{"id":"x","type":"get_state"}\n',
    );
    expect(answers.map(({ id, command, success }) => [id, command, success])).toEqual([
      [undefined, "parse", false],
      [undefined, "parse", false],
      [7, "nonsense", false],
      ["x", "get_state", true],
    ]);
    expect(await list(bench)).toMatchObject([{ id: run.id, state: "running" }]);
  });

  test("answers a command of the shell that the end of the run ends, and leaves no process of it", async () => {
    const { bench, run } = await start([{ ...chatReply({ text: "Done." }), waitMs: 1500 }]);
    const { socket } = recordOf(bench.workspace.home, run.id);
    await eventually(() => existsSync(socket));
    const command = `echo $$ > ${join(bench.workspace.cwd, "pid")}; sleep 60`;
    const answers = talk(socket, `${JSON.stringify({ type: "bash", command, id: 1 })}\n`);
    expect((await run.exited).status).toBe(0);
    expect(await answers).toMatchObject([{ id: 1, success: true, data: { cancelled: true } }]);
    expect(isAlive(Number(readFileSync(join(bench.workspace.cwd, "pid"), "utf8")))).toBe(false);
  });

  test("takes hundreds of clients that come and go", async () => {
    const { bench, run } = await start([hanging]);
    const { socket, pid } = recordOf(bench.workspace.home, run.id);
    await eventually(() => existsSync(socket));
    const openFiles = () => readdirSync(`/proc/${pid}/fd`).length;
    const before = openFiles();
    for (let round = 0; round < 10; round++) {
      const clients = Array.from({ length: 30 }, () => talk(socket, '{"type":"attach"}\n', 2));
      for (const [answer, header] of await Promise.all(clients)) {
        expect(answer).toEqual({ type: "response", command: "attach", success: true });
        expect(header).toMatchObject({ type: "session", id: run.id });
      }
    }
    await eventually(() => openFiles() <= before);
    expect((await bench.runBare(["stop", run.id])).status).toBe(0);
  });
});

/** Sends lines, and gives what is answered: so many lines, or all up to the end. */
function talk(path: string, lines: string, count?: number): Promise<Record<string, unknown>[]> {
  return new Promise((resolve, reject) => {
    const socket = connect({ path, allowHalfOpen: true });
    let text = "";
    const answers = () =>
      text
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line));
    socket.on("error", reject);
    socket.on("data", (chunk) => {
      text += chunk;
      if (count === undefined || answers().length < count) return;
      socket.destroy();
      resolve(answers());
    });
    socket.on("end", () => resolve(answers()));
    if (count === undefined) socket.end(lines);
    else socket.write(lines);
  });
}

function mode(path: string): number {
  return statSync(path).mode & 0o777;
}

function toolPid({ workspace: { cwd } }: Bench): number | undefined {
  const path = join(cwd, "pid");
  const text = existsSync(path) ? readFileSync(path, "utf8").trim() : "";
  return text === "" ? undefined : Number(text);
}
