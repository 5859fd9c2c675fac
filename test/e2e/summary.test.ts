import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { cliPath } from "../support/run-cli.ts";
import { runs, says, writes } from "../support/unattended.ts";
import { type Bench, createBench } from "../support/with-provider.ts";

const prices = { cost: { input: 1, output: 2, cacheRead: 0.5, cacheWrite: 1 } };

function summaryOf({ workspace }: Bench, name = "summary.json") {
  return JSON.parse(readFileSync(join(workspace.home, name), "utf8"));
}

function option({ workspace }: Bench): string[] {
  return ["--summary", join(workspace.home, "summary.json")];
}

test("a summary holds all of a run", async () => {
  const usage = { input: 1000, output: 100, cached: 400 };
  const bench = await createBench(
    [
      chatReply({ calls: [{ name: "write", args: { path: "new/a.txt", content: "a" } }], usage }),
      chatReply({ text: "done", usage }),
    ],
    { model: prices },
  );
  const args = ["--mode", "json", ...option(bench), "--autonomous-gate", "true", "do it"];
  const { lines, status } = await bench.run(args);
  const [header] = lines;
  const count = { input: 600, output: 100, cacheRead: 400, cacheWrite: 0, totalTokens: 1100 };
  const cost = { input: 0.0006, output: 0.0002, cacheRead: 0.0002, cacheWrite: 0, total: 0.001 };
  const twice = (of: Record<string, number>) =>
    Object.fromEntries(Object.entries(of).map(([key, value]) => [key, expect.closeTo(2 * value, 9)]));
  const total = { ...twice(count), cost: twice(cost) };
  expect(status).toBe(0);
  expect(summaryOf(bench)).toEqual({
    sessionId: header?.id,
    sessionFile: join(bench.workspace.home, "sessions", `${header?.id}.jsonl`),
    status: 0,
    reason: "done",
    message: null,
    stopReason: "stop",
    limit: null,
    startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    durationMs: expect.any(Number),
    turns: 2,
    continuations: 0,
    usage: {
      total,
      byModelAndPurpose: [{ provider: "fake", model: "m", purpose: "turn", requests: 2, ...total }],
    },
    gates: [{ command: "true", outcome: "passed", attempt: 1, exit: 0, durationMs: expect.any(Number) }],
    limits: {
      turns: { limit: 12, used: 2 },
      tokens: { limit: 80_000, used: 1400 },
      time: { limit: 1_800_000, used: expect.any(Number) },
      continuations: { limit: 3, used: 0 },
    },
    goal: null,
    filesChanged: ["new/a.txt"],
  });
});

describe("it is written however a run ends", () => {
  test.each<[name: string, script: Parameters<typeof createBench>[0], args: string[], expected: object]>([
    [
      "well",
      [says("done")],
      ["do it"],
      { status: 0, reason: "done", stopReason: "stop", turns: 1, limits: {} },
    ],
    [
      "with an error",
      [{ status: 401, type: "application/json", body: '{"error":{"message":"bad key"}}' }],
      ["do it"],
      {
        status: 1,
        reason: "terminal error",
        stopReason: "error",
        message: expect.stringContaining("bad key"),
      },
    ],
    [
      "with a session command that failed",
      [says("done")],
      ["/nonsense"],
      { status: 1, reason: "failure", message: expect.stringContaining("/nonsense"), stopReason: null },
    ],
    [
      "by the guard against repetition",
      [runs("echo same")],
      ["do it"],
      { status: 4, reason: "limit reached", limit: "repeated_call", turns: 6 },
    ],
    [
      "before it began: a model that is not known",
      [says("done")],
      ["--model", "fake/other", "do it"],
      { status: 2, reason: "start refused", sessionId: null, message: expect.stringContaining("other") },
    ],
    [
      "before it began: no message",
      [says("done")],
      [],
      { status: 2, reason: "start refused", sessionId: null, filesChanged: [] },
    ],
    [
      "before it began: an option that is not known",
      [says("done")],
      ["--nonsense", "do it"],
      { status: 2, reason: "start refused", message: expect.stringContaining("--nonsense") },
    ],
  ])("%s", async (_, script, args, expected) => {
    const bench = await createBench(script);
    const { status } = await bench.run([...option(bench), ...args]);
    expect(summaryOf(bench)).toMatchObject({ ...expected, status });
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("by %s", async (signal, status) => {
    const bench = await createBench([runs("echo $$ >pid; sleep 60")]);
    const pidFile = join(bench.workspace.cwd, "pid");
    const result = await bench.run([...option(bench), "do it"], {
      onStart(child) {
        const timer = setInterval(() => {
          if (!existsSync(pidFile)) return;
          clearInterval(timer);
          child.kill(signal);
        }, 10);
      },
    });
    expect(result.status).toBe(status);
    expect(summaryOf(bench)).toMatchObject({
      status,
      reason: signal,
      stopReason: "aborted",
      turns: 1,
      usage: { byModelAndPurpose: [{ purpose: "turn" }, { purpose: "failed_attempt" }] },
    });
  });

  test("by a reader that goes away", async () => {
    const bench = await createBench([runs("sleep 60")]);
    const { home, cwd } = bench.workspace;
    const program = `"${process.execPath}" "${cliPath}" --mode json --model fake/m --summary "${home}/summary.json" hi`;
    const shell = spawn("bash", ["-c", `${program} 2>/dev/null | head -n 1 >/dev/null`], {
      cwd,
      env: { PATH: process.env.PATH, HOME: home, BASE_CONTEXT_HOME: home },
      stdio: "ignore",
    });
    await once(shell, "exit");
    expect(summaryOf(bench)).toMatchObject({ status: 141, reason: "reader gone" });
  });
});

test("attempts and summaries are told apart from turns", async () => {
  const cut = {
    body:
      chatReply({ text: "par" }).body?.toString().replace('"stop"', "null").replace("data: [DONE]", "") ?? "",
  };
  const bench = await createBench([cut, says("done")], { model: prices });
  await bench.run([...option(bench), "do it"]);
  expect(summaryOf(bench).usage.byModelAndPurpose).toMatchObject([
    { purpose: "failed_attempt", requests: 1, input: 10 },
    { purpose: "turn", requests: 1, input: 10 },
  ]);
});

test.each([
  ["in a git repository", true],
  ["in a plain folder", false],
])("files that commands changed are named, and only those: %s", async (_, isRepository) => {
  const bench = await createBench([
    runs(
      "echo b >>tracked; rm gone; mkdir deep; echo c >deep/new; git commit -qam work 2>&-; echo d >last; true",
    ),
    says("done"),
  ]);
  const { workspace } = bench;
  for (const name of ["tracked", "gone", "dirty", "same"]) workspace.file(name, "a\n");
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
      cwd: workspace.cwd,
    });
  if (isRepository) {
    git("init", "-q");
    git("add", "tracked", "gone", "same");
    git("commit", "-qm", "start");
    git("config", "user.name", "t");
    git("config", "user.email", "t@example.org");
  }
  await bench.run([...option(bench), "do it"]);
  expect(summaryOf(bench).filesChanged.filter((name: string) => !name.startsWith(".git/"))).toEqual([
    "deep/new",
    "gone",
    "last",
    "tracked",
  ]);
});

test("a summary that could not be written refuses the start", async () => {
  const { run, server } = await createBench([says("done")]);
  const { status, stderr } = await run(["--summary", "no/such/folder.json", "do it"]);
  expect([status, server.requests.length]).toEqual([2, 0]);
  expect(stderr).toContain("--summary no/such/folder.json cannot be written");
});

test("a summary that can be written no more is a failure", async () => {
  const bench = await createBench([runs("rm -r out; touch out"), says("done")]);
  mkdirSync(join(bench.workspace.cwd, "out"));
  const { status, stderr, stdout } = await bench.run(["--summary", "out/s.json", "do it"]);
  expect([status, stdout]).toEqual([1, "done\n"]);
  expect(stderr).toContain("the summary could not be written to out/s.json");
});

test("a summary replaces the file whole, and holds no key", async () => {
  const bench = await createBench([writes("a"), says("done")], { apiKey: "sk-test-1234567890" });
  bench.workspace.homeFile("summary.json", "x".repeat(100_000));
  await bench.run([...option(bench), "--autonomous-gate", "echo sk-test-1234567890", "do it"]);
  expect(summaryOf(bench).gates).toMatchObject([{ command: "echo [redacted]" }]);
  expect(readdirSync(bench.workspace.home).filter((name) => name.includes(".tmp"))).toEqual([]);
});

test("what follows -- names no summary", async () => {
  const bench = await createBench([says("done")]);
  const { status } = await bench.run(["--nonsense", "--", "--summary=summary.json"]);
  expect([status, existsSync(join(bench.workspace.cwd, "summary.json"))]).toEqual([2, false]);
});
