import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Api } from "../../src/contract/messages.ts";
import type { Line, RunResult } from "../support/run-cli.ts";
import { readSpec } from "../support/specs.ts";
import { createBench } from "../support/with-provider.ts";

/** What a scripted provider makes of a run. */
type Expected = {
  readonly status: number;
  readonly requests: number;
  /** The text of the last message. */
  readonly text: string;
  /** All of stderr. */
  readonly stderr?: RegExp;
  readonly retries?: number;
  /** `name(path)`, and whether it went well. */
  readonly calls?: readonly string[];
};

type Setup = { readonly api?: Api; readonly settings?: object; readonly model?: Record<string, unknown> };

const line = (words: string) => new RegExp(`^base-context: [^\\n]*${words}[^\\n]*\\n$`);
const once = (text: string, words: string): Expected => ({
  status: 1,
  requests: 1,
  text,
  retries: 0,
  stderr: line(words),
});
const fourTimes = (text: string, words: string): Expected => ({
  status: 1,
  requests: 4,
  text,
  retries: 3,
  stderr: line(words),
});
const done = (requests: number, retries = 0): Expected => ({ status: 0, requests, text: "done", retries });
const anthropic = { api: "anthropic-messages" } as const;
const responses = { api: "openai-responses" } as const;
const codex = { api: "openai-codex-responses" } as const;
const shortWaits = { retry: { baseDelayMs: 1 } };
const stalls = { settings: { retry: { baseDelayMs: 1, maxRetries: 1 }, timeouts: { idleMs: 400 } } };
const twoLs = ["ls(a) ok", "ls(b) ok"];

const rows: [spec: string, what: string, expected: Expected, setup?: Setup][] = [
  ["A1", "a key that is refused", once("", "bad key")],
  ["A2", "a usage limit without a code", once("", "Monthly usage limit reached")],
  [
    "A3",
    "a context that is over the threshold after the first call",
    // One of them asks for the summary.
    { ...done(3), calls: ["ls(.) ok"] },
    {
      model: { contextWindow: 10_000 },
      settings: { ...shortWaits, compaction: { reserveTokens: 9_900 } },
    },
  ],
  ["A4", "a connection that breaks, then a good answer", done(2, 1)],
  ["E1a", "a chat stream without its end", fourTimes("The first half of", "without a finish reason")],
  ["E1b", "an Anthropic stream without its end", fourTimes("Part", "no message_stop"), anthropic],
  ["E1c", "a Responses stream without its end", fourTimes("half", "no response.completed"), responses],
  ["E1c", "a Codex stream without its end", fourTimes("half", "no response.completed"), codex],
  ["E2a", "an error in a chunk of its own", fourTimes("Part", "upstream overloaded")],
  ["E2b", "an error beside empty choices", fourTimes("", "worker limit")],
  ["E2c", "an Anthropic error event", fourTimes("Part", "overloaded_error.*Overloaded"), anthropic],
  ["E2d", "a used-up limit in an event", once("", "usage_limit_reached.*try again in 15 min"), codex],
  ["E2e", "a failed response", fourTimes("", "server_error.*boom"), responses],
  ["E2e", "a failed response of Codex", fourTimes("", "server_error.*boom"), codex],
  ["E3a", "a call that the token limit cut", { ...done(2), calls: ["write(undefined) not run"] }],
  [
    "E3b",
    "a call that was cut and says that it was not",
    { ...done(2), calls: ["write(undefined) not run"] },
  ],
  ["E3c", "a whole call at the token limit", { ...done(2), calls: ["write(keep.txt) not run"] }],
  ["E4a", "two calls without an index", { ...done(2), calls: twoLs }],
  ["E4b", "two calls with one index", { ...done(2), calls: twoLs }],
  ["E4c", "two calls that interleave", { ...done(2), calls: twoLs }],
  [
    "E5a",
    "a stream that goes silent",
    { ...fourTimes("Hel", "sent nothing for 0.4 s"), requests: 2, retries: 1 },
    stalls,
  ],
  [
    "E5b",
    "a stream of comments",
    { ...fourTimes("Hel", "sent nothing for 0.4 s"), requests: 2, retries: 1 },
    stalls,
  ],
  ["E6a", "a call that ends in stop", { ...done(2), calls: ["ls(.) ok"] }],
  ["E6b", "a call without a finish reason", { ...done(2), calls: ["ls(.) ok"] }],
  ["E7", "odd chunks", { ...done(1), text: "ok" }],
  ["E10", "characters that are split", { ...done(1), text: "né 你好 😀" }],
  ["E11a", "CRLF that is split", { ...done(1), text: "ab" }],
  ["E11b", "no space and no last blank line", { ...done(1), text: "ab" }],
  ["E14a", "a whole completion", done(1)],
  ["E14b", "an error with status 200", fourTimes("", "model is loading")],
  ["E14c", "a page of a gateway, then a good answer", done(2, 1)],
  ["E14d", "status 520 without a body, then a good answer", done(2, 1)],
  ["E14e", "a login page", once("", "Sign in to the proxy")],
  ["F1a", "an exhausted quota", once("", "insufficient_quota.*exceeded your current quota")],
  ["F1b", "a limit that resets in days", once("", "usage limit has been reached.*try again in 6 d 3 h")],
  ["F2a", "a wait of two hours", once("", "slow down.*try again in 2 h, at \\d{4}-")],
  ["F2b", "a wait of two seconds", done(2, 1)],
  ["F4", "a retry of a half answer", { ...done(2, 1), text: "Here is the plan: done" }],
  ["I14", "a tool that there is not", { ...done(2), calls: ["search_files(undefined) not run"] }],
  ["L3", "cached tokens", done(1)],
];

describe("a scripted provider comes to", () => {
  test.each(rows)("%s: %s", async (spec, _, expected, setup = {}) => {
    const { settings = shortWaits, ...provider } = setup;
    const bench = await createBench(readSpec(spec), provider);
    bench.workspace.homeFile("settings.json", settings);
    for (const path of ["a/1", "b/1"]) bench.workspace.file(path, "x");
    const keep = bench.workspace.file("keep.txt", "line\n".repeat(100));
    const startMs = performance.now();
    const result = await bench.run(["--mode", "json", "hi"], { timeoutMs: 15_000 });
    const tookMs = performance.now() - startMs;
    expect({
      status: result.status,
      requests: bench.server.requests.length,
      text: textOf(lastMessage(result)),
      retries: result.lines.filter(({ type }) => type === "auto_retry_start").length,
      calls: callsOf(result),
    }).toEqual({
      status: expected.status,
      requests: expected.requests,
      text: expected.text,
      retries: expected.retries,
      calls: expected.calls ?? [],
    });
    expect(result.stderr).toMatch(
      expected.stderr ?? /^(?:base-context: the context could not be compacted[^\n]*\n)?$/,
    );
    expect(lastMessage(result)?.stopReason).toBe(expected.status === 0 ? "stop" : "error");
    expect(readFileSync(keep, "utf8")).toBe("line\n".repeat(100));
    if (expected.requests === 1) expect(tookMs).toBeLessThan(5_000);
  });
});

test("F2b: the wait that the provider asked for is kept, and told", async () => {
  const { run } = await createBench(readSpec("F2b"));
  const startMs = performance.now();
  const { lines, status } = await run(["--mode", "json", "hi"]);
  const tookMs = performance.now() - startMs;
  expect(status).toBe(0);
  expect(lines.find(({ type }) => type === "auto_retry_start")?.delayMs).toBe(2000);
  expect(tookMs).toBeGreaterThan(2000);
  expect(tookMs).toBeLessThan(5000);
});

test("F4: the half that failed is in no request and in no joined text", async () => {
  const { run, server, workspace } = await createBench(readSpec("F4"));
  workspace.homeFile("settings.json", shortWaits);
  const { lines } = await run(["--mode", "json", "--json-deltas", "hi"]);
  const lastId = Math.max(...lines.map(({ messageId = 0 }) => messageId));
  const deltas = lines.filter(({ type, messageId }) => type === "message_update" && messageId === lastId);
  const joined = deltas.map(({ assistantMessageEvent: { delta = "" } }) => delta).join("");
  expect(joined).toBe("Here is the plan: done");
  expect(server.requests[1]?.body).toBe(server.requests[0]?.body);
});

test("E5c: a slow first event is waited for", async () => {
  const [slow = {}] = readSpec("E5c");
  const { run, workspace } = await createBench([{ ...slow, waitMs: 1_500 }]);
  workspace.homeFile("settings.json", { timeouts: { firstEventMs: 400_000, idleMs: 100 } });
  expect(await run(["hi"])).toMatchObject({ status: 0, stdout: "done\n", stderr: "" });
});

test("E12: thinking is sent back in the field that the model wants, also when the session goes on", async () => {
  const compat = { reasoningRoundTripField: "reasoning_content" };
  const { run, server } = await createBench(readSpec("E12"), { model: { reasoning: true, compat } });
  await run(["hi"]);
  await run(["-c", "and now?"]);
  for (const request of [1, 2]) {
    const { messages } = server.json(request);
    expect(messages.find(({ role }: Line) => role === "assistant")).toMatchObject({
      reasoning_content: "think",
      tool_calls: [{ function: { name: "ls" } }],
    });
  }
});

test("E12: thinking stays here where no field is named", async () => {
  const { run, server } = await createBench(readSpec("E12"));
  await run(["hi"]);
  expect(server.requests[1]?.body).not.toContain("think");
});

test("L3: cached tokens are counted once, and priced at their own price", async () => {
  const cost = { input: 10, output: 20, cacheRead: 1, cacheWrite: 12 };
  const { run } = await createBench(readSpec("L3"), { model: { cost } });
  const result = await run(["--mode", "json", "hi"]);
  expect(lastMessage(result)?.usage).toEqual({
    input: 1_000,
    output: 100,
    cacheRead: 9_000,
    cacheWrite: 0,
    totalTokens: 10_100,
    cost: { input: 0.01, output: 0.002, cacheRead: 0.009, cacheWrite: 0, total: expect.closeTo(0.021) },
  });
});

test("A failed request has the same status in every mode", async () => {
  for (const spec of ["A1", "A2"]) {
    for (const mode of [[], ["-p"], ["--mode", "json"], ["--mode", "json", "--json-deltas"]]) {
      const { run } = await createBench(readSpec(spec));
      const { status, stdout, stderr } = await run([...mode, "hi"]);
      expect({ spec, mode, status }).toEqual({ spec, mode, status: 1 });
      expect(stderr).toMatch(/^base-context: [^\n]+\n$/);
      if (!mode.includes("json")) expect(stdout).toBe("");
    }
  }
});

function lastMessage({ lines }: RunResult): Line | undefined {
  return lines.at(-1)?.messages.at(-1);
}

function textOf(message: Line | undefined): string {
  const blocks: readonly Line[] = message?.content ?? [];
  return blocks.map(({ text = "" }) => text).join("");
}

function callsOf({ lines }: RunResult): string[] {
  const ran = new Set(
    lines.filter(({ type }) => type === "tool_execution_start").map(({ toolCallId }) => toolCallId),
  );
  return lines
    .filter(({ type, message }) => type === "message_end" && message.role === "assistant")
    .flatMap(({ message }) => message.content.filter((block: Line) => block.type === "toolCall"))
    .map(({ id, name, arguments: args }) => {
      const result = lines.find(
        ({ type, message }) => type === "message_end" && message.toolCallId === id,
      )?.message;
      const how = !ran.has(id) ? "not run" : result?.isError ? "failed" : "ok";
      return `${name}(${args.path}) ${how}`;
    });
}
