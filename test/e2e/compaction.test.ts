import { describe, expect, test } from "vitest";
import type { NewEntry } from "../../src/contract/entries.ts";
import { assistant, call, message, result, text, user } from "../session/samples.ts";
import { type ApiWire, apiWires } from "../support/api-wires.ts";
import { chatReply } from "../support/chat-wire.ts";
import type { LoggedRequest, Script, ScriptedReply } from "../support/provider-server.ts";
import { outlineRequest, unpaired } from "../support/request-outline.ts";
import type { Line } from "../support/run-cli.ts";
import { readSession, sessionPath, writeSession } from "../support/session-file.ts";
import { type Bench, createBench } from "../support/with-provider.ts";

const window = { contextWindow: 40_000, maxTokens: 4000 };
const settings = {
  retry: { baseDelayMs: 1 },
  compaction: { reserveTokens: 10_000, keepRecentTokens: 2000 },
};

/** Answers requests for summaries from one list and all others from another; the last ones repeat. */
function script(turns: readonly ScriptedReply[], summaries: readonly ScriptedReply[]): Script[] {
  let turn = 0;
  let summary = 0;
  return [
    (request) => {
      const reply = isSummary(request)
        ? summaries[Math.min(summary++, summaries.length - 1)]
        : turns[Math.min(turn++, turns.length - 1)];
      if (reply === undefined) throw new Error("the script has no such reply");
      return reply;
    },
  ];
}

function isSummary({ body }: Pick<LoggedRequest, "body">): boolean {
  return body.includes("You write summaries of conversations");
}

/** The requests of turns, as outlines. Each is checked to be valid. */
function turnsOf({ server }: Bench): string[][] {
  return server.requests
    .filter((request) => !isSummary(request))
    .map(({ body }) => {
      const outline = outlineRequest(JSON.parse(body));
      expect(unpaired(outline)).toEqual([]);
      expect(outline[0]).toMatch(/^user: /);
      return outline;
    });
}

function summariesOf({ server }: Bench): string[] {
  return server.requests.filter(isSummary).map(({ body }) => body);
}

function compactionsOf(lines: readonly Line[]): Line[] {
  return lines.filter(({ type }) => type === "compaction_start" || type === "compaction_end");
}

async function createSmallBench(
  turns: readonly ScriptedReply[],
  summaries: readonly ScriptedReply[],
  wire?: ApiWire,
) {
  const api = wire === undefined ? {} : { api: wire.api };
  const bench = await createBench(script(turns, summaries), { ...api, model: window });
  bench.workspace.homeFile("settings.json", settings);
  return bench;
}

const big = "word ".repeat(6000);
const summaryUsage = { input: 190_000, output: 300 };

/** A conversation of about 30,000 tokens. */
const longSession: NewEntry[] = [
  message(user("the first question")),
  ...[1, 2, 3, 4].flatMap((n) => [
    message(assistant([call(`call-${n}`, "bash")], { stopReason: "toolUse" })),
    message(result(`call-${n}`, `${n} ${big}`)),
  ]),
  message(assistant([text("the first answer")])),
];

describe.each(apiWires.map((wire) => [wire.api, wire] as const))("on %s", (_, wire) => {
  const ls = (id: string, input: number) =>
    wire.reply({ calls: [{ id, name: "ls", args: { path: "." } }], usage: { input, output: 10 } });
  const summary = wire.reply({ text: "## Goal\nthe summary", usage: summaryUsage });
  const done = wire.reply({ text: "done" });

  test("a threshold compaction within a tool loop goes on with the pending turn", async () => {
    const bench = await createSmallBench([ls("call_1", 1000), ls("call_2", 31_000), done], [summary], wire);
    const { status, stderr, lines } = await bench.run(["--mode", "json", "list the files"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const [start, end, ...others] = compactionsOf(lines);
    expect(start).toEqual({ type: "compaction_start", reason: "threshold" });
    expect(end).toMatchObject({
      reason: "threshold",
      aborted: false,
      willRetry: false,
      result: { summary: "## Goal\nthe summary", tokensBefore: expect.any(Number) },
    });
    expect(end?.result.tokensBefore).toBeGreaterThan(31_000);
    expect(end?.result.details.usage.totalTokens).toBe(190_300);
    expect(others).toEqual([]);
    const [, , third] = turnsOf(bench);
    expect(third).toEqual([
      expect.stringContaining("the summary"),
      expect.stringMatching(/^call call_2|^call fc/),
      expect.stringMatching(/^result call_2|^result fc/),
    ]);
    expect(lines.at(-1)?.messages.at(-1)).toMatchObject({ content: [{ text: "done" }], stopReason: "stop" });
    const entry = readSession(sessionPath(bench.workspace)).find(({ type }) => type === "compaction");
    expect(entry).toMatchObject(end?.result);
  });

  test("an overflow is compacted once and the turn tried again", async () => {
    const bench = await createSmallBench([ls("call_1", 10), wire.failures.overflow, done], [summary], wire);
    const { status, stderr, lines } = await bench.run(["--mode", "json", "list the files"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(compactionsOf(lines)).toMatchObject([
      { type: "compaction_start", reason: "overflow" },
      { type: "compaction_end", reason: "overflow", aborted: false, willRetry: true },
    ]);
    expect(turnsOf(bench).at(-1)?.[0]).toContain("the summary");
    expect(lines.at(-1)?.messages.map(({ role, stopReason }: Line) => stopReason ?? role)).toEqual([
      "user",
      "toolUse",
      "toolResult",
      "stop",
    ]);
  });

  test("a prompt that overflows is asked again word for word, however long", async () => {
    const bench = await createSmallBench([done, wire.failures.overflow, done], [summary], wire);
    const prompt = `first word ${"word ".repeat(3000)}last word`;
    const { status } = await bench.run(["--mode", "json", "hello", prompt]);
    expect(status).toBe(0);
    expect(bench.server.requests.at(-1)?.body).toContain(prompt);
    expect(turnsOf(bench).at(-1)?.[0]).toContain("the summary");
  });

  test("a summary that overflows itself is asked for again with half of it", async () => {
    const bench = await createSmallBench(
      [done],
      [wire.failures.overflow, wire.failures.overflow, summary],
      wire,
    );
    writeSession(bench.workspace, longSession);
    const { status, stderr, lines } = await bench.run(["-c", "--mode", "json", "/compact", "go on"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(compactionsOf(lines)).toHaveLength(2);
    const sizes = summariesOf(bench).map(({ length }) => length);
    expect(sizes).toHaveLength(3);
    const [first = 0, second = 0, third = 0] = sizes;
    expect(second / first).toBeLessThan(0.6);
    expect(third / second).toBeLessThan(0.6);
  });

  test("a context in which no room can be made ends with a clear error after at most two tries", async () => {
    const bench = await createSmallBench([ls("call_1", 10), wire.failures.overflow], [summary], wire);
    const { status, stderr, lines } = await bench.run(["--mode", "json", "list the files"]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/the context could not be made small enough/);
    expect(stderr.trimEnd().split("\n").length).toBeLessThanOrEqual(2);
    expect(compactionsOf(lines).filter(({ type }) => type === "compaction_start").length).toBeLessThanOrEqual(
      2,
    );
    expect(lines.at(-1)?.messages.at(-1).stopReason).toBe("error");
  });

  test("a context that stays over the threshold is given up after two tries", async () => {
    let n = 0;
    const turns = Array.from({ length: 8 }, () => ls(`call_${n++}`, 39_000));
    const bench = await createSmallBench(turns, [summary], wire);
    const { status, stderr, lines } = await bench.run(["--mode", "json", "list the files"]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^base-context: the context cannot be made small enough: [^\n]+\n$/);
    expect(compactionsOf(lines)).toHaveLength(4);
    expect(lines.at(-1)?.messages.at(-1)).toMatchObject({ stopReason: "error", content: [] });
  });

  test("a fault of the summary that passes is tried again", async () => {
    const bench = await createSmallBench([done], [wire.failure(503, "busy"), summary], wire);
    writeSession(bench.workspace, longSession);
    const { status, lines } = await bench.run(["-c", "--mode", "json", "/compact"]);
    expect(status).toBe(0);
    expect(compactionsOf(lines).at(-1)?.result.summary).toContain("the summary");
  });
});

describe("the summary", () => {
  const summary = (words: string) => chatReply({ text: words });
  const done = chatReply({ text: "done" });

  test("of a later compaction takes up the earlier one, and the files go with it", async () => {
    const read = (id: string, path: string): NewEntry[] => [
      message(
        assistant([{ type: "toolCall", id, name: "read", arguments: { path } }], { stopReason: "toolUse" }),
      ),
      message(result(id, big)),
    ];
    const write = message(
      assistant([{ type: "toolCall", id: "w", name: "write", arguments: { path: "out.ts", content: "x" } }]),
    );
    const bench = await createSmallBench([done], [summary("first summary"), summary("second summary")]);
    const path = writeSession(bench.workspace, [
      message(user("the question")),
      ...read("a", "a.ts"),
      write,
      message(result("w", "written")),
      ...read("b", "b.ts"),
      message(assistant([text(`the answer ${big}`)])),
    ]);
    expect(await bench.run(["-c", "/compact", "more", "/compact"])).toMatchObject({ status: 0, stderr: "" });
    const [first = "", second = ""] = summariesOf(bench);
    expect(first).not.toContain("earlier-summary");
    expect(second).toContain("<earlier-summary>\\nfirst summary\\n</earlier-summary>");
    const [one, two] = readSession(path).filter(({ type }) => type === "compaction");
    expect(one?.summary).toBe(
      "first summary\n\n<files-read>\na.ts\nb.ts\n</files-read>\n\n<files-changed>\nout.ts\n</files-changed>",
    );
    expect(two?.summary).toContain("second summary\n\n<files-read>\na.ts\nb.ts\n</files-read>");
    expect(two?.details).toMatchObject({ readFiles: ["a.ts", "b.ts"], modifiedFiles: ["out.ts"] });
  });

  test("of a turn that is split says so, and what is recent stays as it is", async () => {
    const bench = await createSmallBench([done], [summary("sum")]);
    writeSession(bench.workspace, [
      ...longSession,
      message(user("short")),
      message(assistant([text("brief")])),
    ]);
    expect((await bench.run(["-c", "/compact", "go on"])).status).toBe(0);
    expect(turnsOf(bench)).toEqual([
      [
        expect.stringContaining("sum"),
        "assistant: the first answer",
        "user: short",
        "assistant: brief",
        "user: go on",
      ],
    ]);
    expect(summariesOf(bench)[0]).toContain("the middle of the agent's work");
  });

  test("is asked for without tools and with no more output than the model gives", async () => {
    const bench = await createSmallBench([done], [summary("sum")]);
    writeSession(bench.workspace, longSession);
    await bench.run(["-c", "/compact"]);
    const request = JSON.parse(summariesOf(bench)[0] ?? "");
    expect(request.tools ?? []).toEqual([]);
    expect(request.max_tokens ?? request.max_completion_tokens).toBe(4000);
  });

  test("of three windows of tool output is one bounded request, manual and after an overflow", async () => {
    const huge = Array.from({ length: 60 }, (_, n): NewEntry[] => [
      message(assistant([call(`call-${n}`, "bash")], { stopReason: "toolUse" })),
      message(result(`call-${n}`, "line of output\n".repeat(550))),
    ]).flat();
    const limit: Script = (request) => {
      if (request.body.length > 4 * window.contextWindow) return apiWires[0]?.failures.overflow ?? done;
      return isSummary(request) ? summary("sum") : done;
    };
    for (const prompts of [["/compact", "go on"], ["go on"]]) {
      const bench = await createBench([limit], { model: window });
      bench.workspace.homeFile("settings.json", settings);
      writeSession(bench.workspace, [message(user("work")), ...huge, message(assistant([text("ok")]))]);
      const { status, stdout, stderr } = await bench.run(["-c", ...prompts]);
      expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: "done\n", stderr: "" });
      expect(summariesOf(bench)).toHaveLength(1);
    }
  });
});

describe("a compaction that does not work", () => {
  const done = chatReply({ text: "done" });
  const refused: ScriptedReply = {
    status: 400,
    type: "application/json",
    body: '{"error":{"message":"no summaries here"}}',
  };
  const wire = apiWires[0];

  test("warns at the threshold, is kept in the session, and the turn goes on", async () => {
    const bench = await createSmallBench([done], [refused]);
    const path = writeSession(bench.workspace, [
      message(user("a")),
      message(
        assistant([text("b")], { usage: { ...assistant([]).usage, input: 31_000, totalTokens: 31_000 } }),
      ),
    ]);
    const { status, stderr, lines } = await bench.run(["-c", "--mode", "json", "go on"]);
    expect(status).toBe(0);
    expect(stderr).toMatch(
      /^base-context: the context could not be compacted, going on without: [^\n]*no summaries here\n$/,
    );
    expect(compactionsOf(lines).at(-1)).toEqual({
      type: "compaction_end",
      reason: "threshold",
      aborted: false,
      willRetry: false,
      errorMessage: expect.stringContaining("no summaries here"),
    });
    expect(readSession(path)).toContainEqual(
      expect.objectContaining({
        type: "custom",
        customType: "compaction_failed",
        data: {
          reason: "threshold",
          aborted: false,
          errorMessage: expect.stringContaining("no summaries here"),
        },
      }),
    );
    expect(turnsOf(bench)).toEqual([["user: a", "assistant: b", "user: go on"]]);
  });

  test("is status 1 when the user asked for it", async () => {
    const bench = await createSmallBench([done], [refused]);
    writeSession(bench.workspace, longSession);
    const { status, stderr, lines } = await bench.run(["-c", "--mode", "json", "/compact"]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^base-context: \/compact failed: [^\n]*no summaries here\n$/);
    expect(compactionsOf(lines)).toMatchObject([
      { type: "compaction_start", reason: "manual" },
      { type: "compaction_end", reason: "manual", errorMessage: expect.any(String) },
    ]);
  });

  test("is status 1 after an overflow", async () => {
    const bench = await createSmallBench([wire?.failures.overflow ?? done], [refused]);
    writeSession(bench.workspace, longSession.slice(0, 5));
    const { status, stderr, lines } = await bench.run(["-c", "--mode", "json", "go on"]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/no summaries here/);
    expect(compactionsOf(lines)).toHaveLength(2);
    expect(lines.at(-1)?.type).toBe("agent_end");
  });

  test("answers a tool call instead of a summary: it fails at once", async () => {
    const bench = await createSmallBench([done], [chatReply({ calls: [{ name: "ls", args: {} }] })]);
    writeSession(bench.workspace, longSession);
    const { status, stderr } = await bench.run(["-c", "/compact"]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/without a summary/);
    expect(bench.server.requests).toHaveLength(1);
  });

  test("does not begin before the model has answered once", async () => {
    const bench = await createSmallBench([wire?.failures.overflow ?? done], [chatReply({ text: "sum" })]);
    const { status, stderr, lines } = await bench.run(["--mode", "json"], { stdin: big.repeat(6) });
    expect(status).toBe(1);
    expect(stderr).toMatch(/maximum context length/);
    expect(summariesOf(bench)).toEqual([]);
    expect(compactionsOf(lines).filter(({ reason }) => reason === "threshold")).toEqual([]);
  });

  test("is aborted by a signal: its end is told and kept", async () => {
    const bench = await createSmallBench([done], [{ body: "", end: "hang" }]);
    const path = writeSession(bench.workspace, longSession);
    const { status, lines } = await bench.run(["-c", "--mode", "json", "/compact", "go on"], {
      onStdout: (soFar, child) => {
        if (!child.killed && soFar.includes("compaction_start")) child.kill("SIGTERM");
      },
    });
    expect(status).toBe(143);
    expect(compactionsOf(lines).at(-1)).toEqual({
      type: "compaction_end",
      reason: "manual",
      aborted: true,
      willRetry: false,
    });
    expect(readSession(path)).toContainEqual(
      expect.objectContaining({
        customType: "compaction_failed",
        data: expect.objectContaining({ aborted: true }),
      }),
    );
  });

  test("is aborted within a prompt: the prompt ends as aborted", async () => {
    const bench = await createSmallBench([done], [{ body: "", end: "hang" }]);
    writeSession(bench.workspace, [
      ...longSession,
      message(user("x")),
      message(assistant([text(big.repeat(2))])),
    ]);
    const { status, lines } = await bench.run(["-c", "--mode", "json", "go on"], {
      onStdout: (soFar, child) => {
        if (!child.killed && soFar.includes("compaction_start")) child.kill("SIGINT");
      },
    });
    expect(status).toBe(130);
    expect(compactionsOf(lines).at(-1)).toMatchObject({ reason: "threshold", aborted: true });
    expect(lines.at(-1)?.messages.at(-1).stopReason).toBe("aborted");
  });
});

describe("a resumed session that is too large", () => {
  const done = chatReply({ text: "done" });

  test("is compacted before its first request, with the prompt on disk", async () => {
    let onDisk: Line[] = [];
    let path = "";
    const bench = await createBench(
      [
        (request) => {
          if (!isSummary(request)) return done;
          onDisk = readSession(path);
          return chatReply({ text: "sum" });
        },
      ],
      { model: window },
    );
    bench.workspace.homeFile("settings.json", settings);
    path = writeSession(bench.workspace, [
      ...longSession,
      message(user(big)),
      message(assistant([text("ok")])),
    ]);
    const { status, lines } = await bench.run(["-c", "--mode", "json", "go on"]);
    expect(status).toBe(0);
    expect(compactionsOf(lines)[0]).toEqual({ type: "compaction_start", reason: "threshold" });
    expect(onDisk.at(-1)?.message).toMatchObject({ role: "user", content: "go on" });
    expect(turnsOf(bench)).toEqual([[expect.stringContaining("sum"), "assistant: ok", "user: go on"]]);
  });

  test("is sent as it is when compaction is off, and an overflow is the end", async () => {
    const bench = await createBench([apiWires[0]?.failures.overflow ?? done], { model: window });
    bench.workspace.homeFile("settings.json", { compaction: { ...settings.compaction, enabled: false } });
    writeSession(bench.workspace, [...longSession, message(user(big)), message(assistant([text("ok")]))]);
    const { status, stderr, lines } = await bench.run(["-c", "--mode", "json", "go on"]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^base-context: [^\n]*maximum context length[^\n]*\n$/);
    expect(compactionsOf(lines)).toEqual([]);
    expect(bench.server.requests).toHaveLength(1);
  });

  test("goes on from its latest compaction only", async () => {
    const bench = await createSmallBench([done], [chatReply({ text: "unused" })]);
    writeSession(bench.workspace, [
      ...longSession,
      message(user("kept")),
      message(assistant([text("kept too")])),
      { type: "compaction", summary: "what was", firstKeptEntryId: "entry-10", tokensBefore: 30_000 },
    ]);
    expect((await bench.run(["-c", "go on"])).status).toBe(0);
    expect(turnsOf(bench)).toEqual([
      [expect.stringContaining("what was"), "user: kept", "assistant: kept too", "user: go on"],
    ]);
  });

  test("with a compaction between a call and its result keeps the pair together", async () => {
    const bench = await createSmallBench([done], [chatReply({ text: "unused" })]);
    writeSession(bench.workspace, [
      message(user("a")),
      message(assistant([call("X")], { stopReason: "toolUse" })),
      { type: "compaction", summary: "first", firstKeptEntryId: "entry-1", tokensBefore: 1 },
      message(result("X")),
      message(assistant([text("b")])),
      { type: "compaction", summary: "second", firstKeptEntryId: "entry-1", tokensBefore: 1 },
    ]);
    expect((await bench.run(["-c", "go on"])).status).toBe(0);
    expect(turnsOf(bench)).toEqual([
      [expect.stringContaining("second"), "call X", "result X", "assistant: b", "user: go on"],
    ]);
  });
});

describe("a small window", () => {
  const small = { model: { contextWindow: 8000, maxTokens: 1000 } };
  const print = { name: "bash", args: { command: "yes 'many words that fill the window' | head -n 3000" } };
  /** Refuses what is larger than the window, as a server would that counts. */
  const counting = (turns: readonly ScriptedReply[]): Script => {
    let turn = 0;
    return (request) => {
      if (request.body.length > 32_000) return apiWires[0]?.failures.overflow ?? {};
      if (isSummary(request)) return chatReply({ text: "sum" });
      return turns[Math.min(turn++, turns.length - 1)] ?? {};
    };
  };

  test("is not filled by one huge result", async () => {
    const bench = await createBench(
      [counting([chatReply({ calls: [print] }), chatReply({ text: "done" })])],
      small,
    );
    const { status, stdout } = await bench.run(["print a lot"]);
    expect({ status, stdout }).toEqual({ status: 0, stdout: "done\n" });
    const bodies = bench.server.requests.map(({ body }) => body.length);
    expect(Math.max(...bodies)).toBeLessThan(32_000);
    const saved = readSession(sessionPath(bench.workspace)).find(
      ({ message }) => message?.role === "toolResult",
    );
    expect(saved?.message.content[0].text.length).toBeGreaterThan(40_000);
  });

  test("is enough for several huge results in one turn", async () => {
    const calls = [1, 2, 3, 4, 5, 6].map((n) => ({
      ...{ id: `call_${n}`, name: "bash" },
      args: { command: `yes 'many words that fill window ${n}' | head -n 3000` },
    }));
    const bench = await createBench([counting([chatReply({ calls }), chatReply({ text: "done" })])], small);
    const { status, stdout, lines } = await bench.run(["print a lot"]);
    expect({ status, stdout, lines: lines.length }).toEqual({ status: 0, stdout: "done\n", lines: 0 });
  });
});
