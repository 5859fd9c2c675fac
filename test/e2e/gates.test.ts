import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Script } from "../support/provider-server.ts";
import { inBothModes, isAlive, ownMessages, says, writes } from "../support/unattended.ts";
import { createBench } from "../support/with-provider.ts";

type Row = {
  readonly name: string;
  readonly script: readonly Script[];
  readonly args: readonly string[];
  readonly status: number;
  readonly requests: number;
  /** Of the summary. */
  readonly reason: string;
  readonly gates: readonly object[];
  /** Of the stream: outcome, attempt and whether it was run again. */
  readonly results: readonly object[];
  readonly limit?: string;
  readonly stdout?: string;
  readonly stderr?: readonly string[];
};

const gate = (...commands: string[]) => commands.flatMap((command) => ["--autonomous-gate", command]);
const badRequest = { status: 400, type: "application/json", body: '{"error":{"message":"no such thing"}}' };

const rows: readonly Row[] = [
  {
    name: "a gate that passes at once",
    script: [says("done")],
    args: gate("true"),
    status: 0,
    requests: 1,
    reason: "done",
    gates: [{ command: "true", outcome: "passed", attempt: 1, exit: 0 }],
    results: [{ outcome: "passed", attempt: 1, unchanged: false }],
    stdout: "done\n",
  },
  {
    name: "a gate that passes after a fix",
    script: [says("first"), writes("ok"), says("fixed")],
    args: gate("test -f ok"),
    status: 0,
    requests: 3,
    reason: "done",
    gates: [{ command: "test -f ok", outcome: "passed", attempt: 2, exit: 0 }],
    results: [
      { outcome: "failed", attempt: 1, unchanged: false },
      { outcome: "passed", attempt: 2, unchanged: false },
    ],
    stdout: "fixed\n",
    stderr: ["gate failed: test -f ok (exit status 1); the model goes on"],
  },
  {
    name: "a gate that never passes whatever the model does",
    script: [says("1"), writes("a"), says("2"), writes("b"), says("3")],
    args: [...gate("exit 7"), "--autonomous-gate-retries", "2"],
    status: 3,
    requests: 5,
    reason: "gate not passed",
    gates: [{ command: "exit 7", outcome: "failed", attempt: 3, exit: 7 }],
    results: [1, 2, 3].map((attempt) => ({ outcome: "failed", attempt, unchanged: false })),
    stderr: ["gate failed: exit 7 (exit status 7)"],
  },
  {
    name: "a gate that fails while the model changes nothing",
    script: [says("done")],
    args: gate("exit 7"),
    status: 3,
    requests: 4,
    reason: "gate not passed",
    gates: [{ command: "exit 7", outcome: "failed", attempt: 4, exit: 7 }],
    results: [1, 2, 3, 4].map((attempt) => ({ outcome: "failed", attempt, unchanged: attempt > 1 })),
    stderr: ["gate failed: exit 7 (exit status 7, not run again since nothing changed)"],
  },
  {
    name: "gates that run in order up to the first that fails",
    script: [says("done")],
    args: [...gate("true", "false", "touch never"), "--autonomous-gate-retries", "1"],
    status: 3,
    requests: 2,
    reason: "gate not passed",
    gates: [
      { command: "true", outcome: "passed", attempt: 1, exit: 0 },
      { command: "false", outcome: "failed", attempt: 2, exit: 1 },
      { command: "touch never", outcome: "not_run" },
    ],
    results: [
      { outcome: "passed", attempt: 1, unchanged: false },
      { outcome: "failed", attempt: 1, unchanged: false },
      { outcome: "failed", attempt: 2, unchanged: true },
    ],
    stderr: ["gate failed: false", "gate never ran: touch never"],
  },
  {
    name: "a gate that hangs",
    script: [says("done")],
    args: [
      ...gate("trap '' TERM; sleep 60; sleep 60"),
      ...["--autonomous-gate-timeout-ms", "300", "--autonomous-gate-retries", "1"],
    ],
    status: 3,
    requests: 2,
    reason: "gate not passed",
    gates: [{ command: "trap '' TERM; sleep 60; sleep 60", outcome: "timed_out", attempt: 2, exit: null }],
    results: [
      { outcome: "timed_out", attempt: 1, unchanged: false },
      { outcome: "timed_out", attempt: 2, unchanged: true },
    ],
    stderr: ["(no end after "],
  },
  {
    name: "a gate that kills its own process group",
    script: [says("done")],
    args: [...gate("kill -9 0"), "--autonomous-gate-retries", "1"],
    status: 3,
    requests: 2,
    reason: "gate not passed",
    gates: [{ command: "kill -9 0", outcome: "failed", attempt: 2, exit: null }],
    results: [
      { outcome: "failed", attempt: 1, unchanged: false },
      { outcome: "failed", attempt: 2, unchanged: true },
    ],
    stderr: ["gate failed: kill -9 0 (killed by SIGKILL"],
  },
  {
    name: "a limit in mid-work, and a gate that passes by then",
    script: [writes("ok"), says("done")],
    args: [...gate("test -f ok"), "--autonomous-max-turns", "1"],
    status: 0,
    requests: 1,
    reason: "done",
    gates: [{ command: "test -f ok", outcome: "passed", attempt: 1, exit: 0 }],
    results: [{ outcome: "passed", attempt: 1, unchanged: false }],
  },
  {
    name: "a limit in mid-work, and a gate that does not pass",
    script: [writes("other"), says("done")],
    args: [...gate("test -f ok"), "--autonomous-max-turns", "1"],
    status: 3,
    requests: 1,
    reason: "gate not passed",
    gates: [{ command: "test -f ok", outcome: "failed", attempt: 1, exit: 1 }],
    results: [{ outcome: "failed", attempt: 1, unchanged: false }],
    limit: "turns",
    stderr: ["gate failed: test -f ok", "stopped: the limit of 1 turn"],
  },
  {
    name: "a limit after an answer that a gate did not pass",
    script: [says("done")],
    args: [...gate("test -f ok"), "--autonomous-max-continuations", "1"],
    status: 3,
    requests: 2,
    reason: "gate not passed",
    gates: [{ command: "test -f ok", outcome: "failed", attempt: 2, exit: 1 }],
    results: [
      { outcome: "failed", attempt: 1, unchanged: false },
      { outcome: "failed", attempt: 2, unchanged: true },
    ],
    limit: "continuations",
  },
  {
    name: "an error before any gate ran",
    script: [badRequest],
    args: gate("true"),
    status: 1,
    requests: 1,
    reason: "terminal error",
    gates: [{ command: "true", outcome: "not_run" }],
    results: [],
    stdout: "",
    stderr: ["no such thing", "gate never ran: true"],
  },
  {
    name: "an error after a gate failed",
    script: [says("first"), badRequest],
    args: gate("test -f ok"),
    status: 1,
    requests: 2,
    reason: "terminal error",
    gates: [{ command: "test -f ok", outcome: "failed", attempt: 1, exit: 1 }],
    results: [{ outcome: "failed", attempt: 1, unchanged: false }],
    stdout: "",
    stderr: ["no such thing", "gate failed: test -f ok"],
  },
];

describe.each(rows)("$name", (row) => {
  test(`is status ${row.status} in both modes, on stderr and in the summary`, async () => {
    const { text, json } = await inBothModes(row.script, row.args);
    for (const { status, stderr, summary, bench } of [text, json]) {
      expect(status).toBe(row.status);
      expect(bench.server.requests.length).toBe(row.requests);
      for (const words of row.stderr ?? []) expect(stderr).toContain(words);
      expect(summary).toMatchObject({
        status: row.status,
        reason: row.reason,
        limit: row.limit ?? null,
        gates: row.gates,
      });
    }
    if (row.stdout !== undefined) expect(text.stdout).toBe(row.stdout);
    const own = ownMessages(json.lines);
    expect(own.filter(({ customType }) => customType === "gate_result")).toMatchObject(row.results);
    expect(own.filter(({ customType }) => customType === "limit").map(({ name }) => name)).toEqual(
      row.limit === undefined ? [] : [row.limit],
    );
    expect(json.lines.at(-1)?.type).toBe("agent_end");
  });
});

test("the model is told of the gate that failed, once", async () => {
  const { run, server } = await createBench([says("first"), writes("ok"), says("fixed")]);
  await run([...gate("echo expected 4, got 5; test -f ok"), "do it"]);
  const { messages } = server.json(1);
  expect(messages.slice(1).map(({ role }: { role: string }) => role)).toEqual(["user", "assistant", "user"]);
  expect(messages[3].content).toContain("Command: echo expected 4, got 5; test -f ok\nResult: exit status 1");
  expect(JSON.stringify(messages).split("expected 4, got 5\\n").length).toBe(2);
});

test("a session that goes on tells the model of a gate no second time", async () => {
  const { run, server } = await createBench([says("first"), writes("ok"), says("fixed"), says("more")]);
  await run([...gate("test -f ok"), "do it"]);
  await run(["-c", "and now?"]);
  expect(JSON.stringify(server.json(-1).messages).split("Command: test -f ok").length).toBe(2);
});

test("a gate that floods is cut, told in bounds, and does not fill the disk", async () => {
  const args = [
    ...gate("yes flood"),
    "--autonomous-gate-timeout-ms",
    "700",
    "--autonomous-gate-retries",
    "1",
  ];
  const { json } = await inBothModes([says("done")], args);
  expect(json.status).toBe(3);
  const [first] = ownMessages(json.lines);
  expect(first).toMatchObject({ customType: "gate_result", outcome: "timed_out", exit: null });
  expect(first?.output.length).toBeLessThan(20_000);
  expect(first?.output).toContain("flood\nflood");
});

test("what a gate leaves behind is ended, and the gate's own exit counts", async () => {
  const { run, workspace } = await createBench([says("done")]);
  const command =
    "sleep 300 & echo $! >a; setsid sleep 301 & echo $! >b; (trap '' TERM HUP; sleep 302) & echo $! >c; true";
  const started = Date.now();
  const { status } = await run([...gate(command), "do it"]);
  expect(status).toBe(0);
  expect(Date.now() - started).toBeLessThan(15_000);
  for (const name of ["a", "b", "c"])
    expect(isAlive(Number(readFileSync(join(workspace.cwd, name), "utf8")))).toBe(false);
});

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
  ["SIGHUP", 129],
] as const)("%s during a gate is status %i, and the gate is gone", async (signal, expected) => {
  const { run, workspace } = await createBench([says("done")]);
  const pidFile = join(workspace.cwd, "pid");
  const summaryFile = join(workspace.home, "summary.json");
  const result = await run(
    ["--mode", "json", "--summary", summaryFile, ...gate("echo $$ >pid; sleep 60", "true"), "do it"],
    {
      onStart(child) {
        const timer = setInterval(() => {
          if (!existsSync(pidFile) || readFileSync(pidFile, "utf8").trim() === "") return;
          clearInterval(timer);
          child.kill(signal);
        }, 10);
      },
    },
  );
  expect(result.status).toBe(expected);
  expect(isAlive(Number(readFileSync(pidFile, "utf8")))).toBe(false);
  expect(result.lines.at(-1)?.type).toBe("agent_end");
  expect(ownMessages(result.lines)).toMatchObject([{ customType: "gate_result", outcome: "aborted" }]);
  expect(result.stderr).toContain("gate failed: echo $$ >pid; sleep 60 (aborted); gate never ran: true");
  expect(JSON.parse(readFileSync(summaryFile, "utf8"))).toMatchObject({
    status: expected,
    reason: signal,
    stopReason: "stop",
    gates: [{ outcome: "aborted" }, { outcome: "not_run" }],
  });
});

test("gates run after the answer to each prompt, and the next prompt only when they pass", async () => {
  const { run, server } = await createBench([says("one"), says("two")]);
  const passing = await run(["--mode", "json", ...gate("true"), "first", "second"]);
  expect(passing.status).toBe(0);
  expect(ownMessages(passing.lines)).toMatchObject([{ attempt: 1 }, { attempt: 1 }]);
  const failing = await run([...gate("false"), "--autonomous-gate-retries", "1", "first", "second"]);
  expect(failing.status).toBe(3);
  expect(failing.stderr).toContain("1 further prompt was not run");
  expect(server.requests.length).toBe(4);
});

test("a run of session commands alone passes no gate", async () => {
  const { run } = await createBench([says("done")]);
  const { status, stderr } = await run([...gate("true"), "/name x"]);
  expect(status).toBe(3);
  expect(stderr).toContain("gate never ran: true");
});

test("gates do not see the provider's key, unless it is let through", async () => {
  const { run, workspace } = await createBench([says("done")], { apiKey: "$FAKE_KEY" });
  const env = { FAKE_KEY: "sk-test-1234567890", OTHER: "seen" };
  const command = 'echo "$FAKE_KEY $OTHER $OPENAI_API_KEY" >env';
  await run([...gate(command), "do it"], { env: { ...env, OPENAI_API_KEY: "sk-other-1234567890" } });
  expect(readFileSync(join(workspace.cwd, "env"), "utf8")).toBe(" seen \n");
  await run([...gate(command), "--pass-env", "FAKE_KEY", "do it"], { env });
  expect(readFileSync(join(workspace.cwd, "env"), "utf8")).toBe("sk-test-1234567890 seen \n");
});

test("the settings of the user name gates; a project's do not, and options stand in for them", async () => {
  const { run, workspace } = await createBench([says("done")]);
  workspace.homeFile("settings.json", { autonomous: { gate: "touch mine", gateRetries: 1 } });
  workspace.file(".base-context/settings.json", JSON.stringify({ autonomous: { gate: "touch theirs" } }));
  expect((await run(["do it"])).status).toBe(0);
  expect(existsSync(join(workspace.cwd, "mine"))).toBe(false);
  const { status, stderr } = await run(["--autonomous", "do it"]);
  expect([status, existsSync(join(workspace.cwd, "mine"))]).toEqual([0, true]);
  expect(stderr).toContain("autonomous.gate is ignored");
  expect(existsSync(join(workspace.cwd, "theirs"))).toBe(false);
  expect((await run([...gate("rm mine"), "do it"])).status).toBe(0);
  expect(existsSync(join(workspace.cwd, "mine"))).toBe(false);
});
