import { describe, expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import type { Script } from "../support/provider-server.ts";
import type { Line } from "../support/run-cli.ts";
import { readSession, sessionPath } from "../support/session-file.ts";
import { inBothModes, ownMessages, runs, says, writes } from "../support/unattended.ts";
import { createBench } from "../support/with-provider.ts";

/** Each reply changes something, so that neither the guard against repetition nor an unchanged work tree ends the run. */
const busy: Script = (_, index) => writes(`file-${index}`);
const dear = { cost: { input: 1_000_000, output: 0, cacheRead: 0, cacheWrite: 0 } };
const heavy: Script = (_, index) =>
  chatReply({
    calls: [{ name: "write", args: { path: `file-${index}`, content: "x" } }],
    usage: { input: 1000, output: 500, cached: 400 },
  });

type Row = {
  readonly limit: string;
  readonly script: readonly Script[];
  readonly args: readonly string[];
  readonly requests: number;
  readonly use: object;
  readonly stderr: string;
};

const rows: readonly Row[] = [
  {
    limit: "turns",
    script: [busy],
    args: ["--autonomous-max-turns", "3"],
    requests: 3,
    use: { limit: 3, used: 3 },
    stderr: "stopped: the limit of 3 turns (--autonomous-max-turns)",
  },
  {
    // What was read from the cache does not count: 600 in and 500 out a reply.
    limit: "tokens",
    script: [heavy],
    args: ["--autonomous-max-tokens", "2201"],
    requests: 3,
    use: { limit: 2201, used: 3300 },
    stderr: "stopped: the limit of 2201 tokens (--autonomous-max-tokens); 3300 were used",
  },
  {
    limit: "time",
    script: [runs("sleep 1"), says("done")],
    args: ["--autonomous-timeout-ms", "900"],
    requests: 1,
    use: { limit: 900 },
    stderr: "stopped: the limit of 900 ms (--autonomous-timeout-ms)",
  },
  {
    limit: "cost",
    script: [busy],
    args: ["--autonomous", "--max-cost", "25"],
    requests: 3,
    use: { limit: 25, used: 30 },
    stderr: "stopped: the limit of $25 (--max-cost); $30 were spent",
  },
  {
    limit: "continuations",
    script: [(_, index) => (index % 2 === 0 ? writes(`file-${index}`) : says("not yet"))],
    args: ["--autonomous-max-continuations", "2"],
    requests: 6,
    use: { limit: 2, used: 2 },
    stderr: "stopped: the limit of 2 continuations (--autonomous-max-continuations)",
  },
  {
    limit: "goal_tokens",
    script: [heavy],
    args: ["--goal", "all is well", "--goal-token-budget", "2000"],
    requests: 2,
    use: { limit: 2000, used: 2200 },
    stderr: "stopped: the goal's limit of 2000 tokens (--goal-token-budget); 2200 were used",
  },
];

describe.each(rows)("the limit on $limit", ({ limit, script, args, requests, use, stderr }) => {
  test("ends a run without gates with status 4", async () => {
    const { text, json } = await inBothModes(script, args, { setup: { model: dear } });
    for (const ended of [text, json]) {
      expect(ended.status).toBe(4);
      expect(ended.bench.server.requests.length).toBe(requests);
      expect(ended.stderr).toContain(stderr);
      expect(ended.summary).toMatchObject({ status: 4, reason: "limit reached", limit });
      expect(ended.summary.limits[limit]).toMatchObject(use);
    }
    expect(ownMessages(json.lines).at(-1)).toEqual({ customType: "limit", name: limit });
    expect(json.lines.at(-1)).toMatchObject({ type: "agent_end" });
    expect(json.lines.at(-1)?.messages.at(-1)).toMatchObject({ role: "custom", details: { name: limit } });
  });

  test.each([
    ["true", 0],
    ["false", 3],
  ])("lets the gate %s decide: status %i", async (gate, status) => {
    if (limit === "goal_tokens" && status === 0) return;
    const { text, json } = await inBothModes(script, [...args, "--autonomous-gate", gate], {
      setup: { model: dear },
    });
    for (const ended of [text, json]) {
      expect(ended.status).toBe(status);
      if (status === 0) expect(ended.summary).toMatchObject({ reason: "done", limit: null });
    }
  });
});

test("a goal that is not reached at a limit is status 4 although the gates pass", async () => {
  const { text } = await inBothModes(
    [busy],
    ["--goal", "all is well", "--autonomous-max-turns", "2", "--autonomous-gate", "true"],
  );
  expect(text.status).toBe(4);
  expect(text.summary).toMatchObject({ gates: [{ outcome: "passed" }], goal: { reached: false } });
});

test("work without gates goes on until the model calls no tool", async () => {
  const { text, json } = await inBothModes(
    [says("shall I go on?"), writes("a"), says("is that all?"), says("all is done")],
    ["--autonomous"],
  );
  for (const { status, bench, summary } of [text, json]) {
    expect(status).toBe(0);
    expect(bench.server.requests.length).toBe(4);
    expect(summary).toMatchObject({ reason: "done", continuations: 2, turns: 4, filesChanged: ["a"] });
  }
  expect(text.stdout).toBe("all is done\n");
  expect(text.bench.server.json(1).messages.at(-1).content).toContain("Nobody is there");
  expect(ownMessages(json.lines)).toEqual([
    { customType: "autonomous", reason: "nobody_there" },
    { customType: "autonomous", reason: "nobody_there" },
  ]);
  expect(json.lines.filter(({ type }) => type === "agent_start").length).toBe(3);
});

test("a cost that was reached without being in the way of anything ends nothing", async () => {
  const { text } = await inBothModes([says("done")], ["--max-cost", "1"], { setup: { model: dear } });
  expect([text.status, text.stdout]).toEqual([0, "done\n"]);
});

test("--max-cost holds in any run, and counts attempts that failed", async () => {
  const cut = {
    body: `${chatReply({ text: "par" }).body}`.split("data: [DONE]")[0]?.replace('"stop"', "null") ?? "",
  };
  const { text } = await inBothModes([cut, busy], ["--max-cost", "15"], { setup: { model: dear } });
  expect(text.status).toBe(4);
  expect(text.bench.server.requests.length).toBe(2);
  expect(text.summary.usage.byModelAndPurpose).toMatchObject([
    { purpose: "failed_attempt", requests: 1, cost: { total: 10 } },
    { purpose: "turn", requests: 1, cost: { total: 10 } },
  ]);
});

test("behind a failed attempt that reached a limit no other one is told of or waited for", async () => {
  const cut = {
    body: `${chatReply({ text: "par" }).body}`.split("data: [DONE]")[0]?.replace('"stop"', "null") ?? "",
  };
  const { json } = await inBothModes([cut, busy], ["--max-cost", "5"], { setup: { model: dear } });
  expect([json.status, json.bench.server.requests.length]).toEqual([1, 1]);
  expect(json.lines.filter(({ type }) => type.startsWith("auto_retry"))).toEqual([]);
  expect(json.lines.at(-1)?.messages.map(({ role, stopReason }: Line) => stopReason ?? role)).toEqual([
    "user",
    "error",
    "custom",
  ]);
});

test("what is queued at a limit is not said, and named", async () => {
  const { run, server, workspace } = await createBench([says("one")]);
  const prompts = [
    { type: "prompt", message: "first" },
    { type: "follow_up", message: "second" },
  ];
  const { status, stderr } = await run(["--mode", "rpc", "--autonomous-max-turns", "1"], {
    stdin: prompts.map((prompt) => `${JSON.stringify(prompt)}\n`).join(""),
    unchecked: true,
  });
  expect([status, server.requests.length]).toEqual([4, 1]);
  expect(stderr).toContain("1 queued message was not said");
  expect(JSON.stringify(readSession(sessionPath(workspace)))).not.toContain("second");
});

test("a model without prices is named where there is a limit on the cost", async () => {
  const { run } = await createBench([says("done")]);
  const { status, stderr } = await run(["--max-cost", "1", "do it"]);
  expect(status).toBe(0);
  expect(stderr).toContain("the prices of fake/m are not known: --max-cost will not end this run");
});

test("a prompt that a limit leaves no room for is named, and not made up for by gates", async () => {
  const { run, server } = await createBench([says("one"), says("two")]);
  const args = ["--autonomous-gate", "true", "--autonomous-max-turns", "1", "first", "second"];
  const { status, stderr } = await run(args);
  expect([status, server.requests.length]).toEqual([4, 1]);
  expect(stderr).toContain("stopped: the limit of 1 turn");
  const { lines } = await run(["--mode", "json", ...args]);
  expect((await run(["-c", "third"])).status).toBe(0);
  expect(JSON.stringify(server.json(-1).messages)).not.toContain("second");
  expect(lines.filter(({ type }) => type === "agent_end").map(({ messages }) => messages.length)).toEqual([
    3, 1,
  ]);
  expect(ownMessages(lines).at(-1)).toEqual({ customType: "limit", name: "turns" });
});

test("a summary of the conversation counts", async () => {
  const { run, server } = await createBench(
    [
      (request) => {
        const isSummary = !request.body.includes('"tools"');
        if (isSummary) return chatReply({ text: "## Goal\nall", usage: { input: 190_000, output: 10 } });
        return chatReply({
          calls: [{ name: "bash", args: { command: `seq ${request.body.length} 9999999 | head -c 30000` } }],
          usage: { input: Math.round(request.body.length / 4), output: 10 },
        });
      },
    ],
    { model: { contextWindow: 40_000 } },
  );
  const { status, stderr } = await run(["--autonomous-max-tokens", "100000", "do it"]);
  expect(status).toBe(4);
  expect(stderr).toContain("the limit of 100000 tokens");
  // Nothing is asked once the summary has used it up.
  expect(JSON.stringify(server.json(-1).tools ?? "none")).toBe('"none"');
});

test("at a limit /compact makes no request either, nor does a client's compact", async () => {
  const { run, server, workspace } = await createBench([says("word ".repeat(20_000))], { model: dear });
  workspace.homeFile("settings.json", { compaction: { keepRecentTokens: 100 } });
  const { status, stderr, lines } = await run(["--mode", "json", "--max-cost", "5", "one", "/compact"]);
  expect([status, server.requests.length]).toEqual([4, 1]);
  expect(stderr).toContain("stopped: the limit of $5 (--max-cost)");
  expect(ownMessages(lines)).toEqual([{ customType: "limit", name: "cost" }]);
  const rpc = await run(["--mode", "rpc", "--max-cost", "5"], {
    stdin: "open",
    unchecked: true,
    onStart: (child) => child.stdin?.write('{"type":"prompt","message":"two"}\n'),
    onStdout(soFar, child) {
      if (soFar.includes('"agent_end"') && !child.stdin?.writableEnded)
        child.stdin?.end('{"type":"compact"}\n');
    },
  });
  expect(rpc.lines.find(({ command }) => command === "compact")).toMatchObject({
    success: false,
    error: expect.stringContaining("the limit of $5 (--max-cost)"),
  });
  expect(server.requests.length).toBe(2);
});
