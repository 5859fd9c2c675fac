import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { anyScript } from "../support/any-wire.ts";
import { chatReply } from "../support/chat-wire.ts";
import type { Script, ScriptedReply } from "../support/provider-server.ts";
import type { Line, RunResult } from "../support/run-cli.ts";
import { createBench } from "../support/with-provider.ts";

const done = chatReply({ text: "done" });
const slowDown = (headers: Record<string, string> = {}): ScriptedReply => ({
  status: 429,
  type: "application/json",
  headers,
  body: JSON.stringify({ error: { message: "slow down", type: "rate_limit_error" } }),
});
const cut: ScriptedReply = {
  body: 'data: {"choices":[{"index":0,"delta":{"content":"half"}}]}\n\n',
};

function retries({ lines }: RunResult): Line[] {
  return lines.filter(({ type }) => String(type).startsWith("auto_retry"));
}

test("a reply that said why it stopped is whole, though its stream stays open and silent", async () => {
  const whole = 'data: {"choices":[{"index":0,"delta":{"content":"all"},"finish_reason":"stop"}]}\n\n';
  const { run, server, workspace } = await createBench([{ body: whole, end: "hang" }]);
  workspace.homeFile("settings.json", { timeouts: { idleMs: 1000 } });
  expect(await run(["hi"])).toMatchObject({ status: 0, stdout: "all\n", stderr: "" });
  expect(server.requests).toHaveLength(1);
});

test("a refusal is told for what it is, though its body never ends", async () => {
  const refused: ScriptedReply = { status: 401, type: "text/plain", body: "who are you?", end: "hang" };
  const { run, server, workspace } = await createBench([refused]);
  workspace.homeFile("settings.json", { timeouts: { firstEventMs: 1500 } });
  const { status, stderr } = await run(["hi"]);
  expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining("401") });
  expect(server.requests).toHaveLength(1);
});

describe("how long is waited", () => {
  test("twice as long each time, from the settings' delay on, with some chance in it", async () => {
    const { run, workspace } = await createBench([slowDown()]);
    workspace.homeFile("settings.json", { retry: { baseDelayMs: 40 } });
    const result = await run(["--mode", "json", "hi"]);
    const delays = retries(result).flatMap(({ delayMs }) => (delayMs === undefined ? [] : [delayMs]));
    expect(delays).toHaveLength(3);
    for (const [index, delayMs] of delays.entries()) {
      expect(delayMs).toBeGreaterThanOrEqual(40 * 2 ** index);
      expect(delayMs).toBeLessThanOrEqual(50 * 2 ** index);
    }
    expect(retries(result).at(-1)).toEqual({
      type: "auto_retry_end",
      success: false,
      attempt: 3,
      finalError: expect.stringContaining("slow down"),
    });
  });

  const inThreeSeconds = () => new Date(Date.now() + 3_000).toUTCString();
  test.each<[string, () => Record<string, string>, number, number]>([
    ["seconds", () => ({ "retry-after": "1" }), 1000, 1000],
    ["milliseconds", () => ({ "retry-after-ms": "120" }), 120, 120],
    ["an HTTP date", () => ({ "retry-after": inThreeSeconds() }), 1, 3000],
    ["a date that is past", () => ({ "retry-after": "Thu, 01 Jan 1970 00:00:00 GMT" }), 0, 0],
    [
      "a limit that is used up",
      () => ({ "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "150ms" }),
      150,
      150,
    ],
    ["nonsense: our own delay", () => ({ "retry-after": "soon" }), 10, 13],
    ["a number that is no time: our own delay", () => ({ "retry-after": "-5" }), 10, 13],
    ["no time: our own delay", () => ({}), 10, 13],
  ])("as the provider asks in %s", async (_, headers, least, most) => {
    const { run, server, workspace } = await createBench([() => slowDown(headers()), done]);
    workspace.homeFile("settings.json", { retry: { baseDelayMs: 10 } });
    const result = await run(["--mode", "json", "hi"]);
    expect(result).toMatchObject({ status: 0, stderr: "" });
    const [start] = retries(result);
    expect(start?.delayMs).toBeGreaterThanOrEqual(least);
    expect(start?.delayMs).toBeLessThanOrEqual(most);
    expect(server.requests).toHaveLength(2);
  });

  test.each([
    ["more than a minute", { "retry-after": "61" }],
    ["a date tomorrow", { "retry-after": new Date(Date.now() + 86_400_000).toUTCString() }],
  ])("not at all for %s, which is told of", async (_, headers) => {
    const { run, server } = await createBench([slowDown(headers)]);
    const result = await run(["--mode", "json", "hi"]);
    expect(result.status).toBe(1);
    expect(result.stderr).toMatch(/slow down \(try again in .*, at \d{4}-\d\d-\d\dT[^\n]*\)\n$/);
    expect(retries(result)).toEqual([]);
    expect(server.requests).toHaveLength(1);
  });

  test("no longer than the settings allow", async () => {
    const { run, server, workspace } = await createBench([slowDown({ "retry-after": "2" })]);
    workspace.homeFile("settings.json", { retry: { maxDelayMs: 1_000 } });
    expect(await run(["hi"])).toMatchObject({ status: 1 });
    expect(server.requests).toHaveLength(1);
  });
});

describe("how often is tried", () => {
  test.each<[string, object, number]>([
    ["four times", {}, 4],
    ["as often as the settings say", { maxRetries: 1 }, 2],
    ["once when retries are off", { enabled: false }, 1],
  ])("%s", async (_, retry, requests) => {
    const { run, server, workspace } = await createBench([slowDown()]);
    workspace.homeFile("settings.json", { retry: { baseDelayMs: 1, ...retry } });
    expect(await run(["hi"])).toMatchObject({ status: 1, stdout: "" });
    expect(server.requests).toHaveLength(requests);
  });

  test("anew for each turn", async () => {
    const call = { calls: [{ name: "ls", args: {} }] };
    const script: Script[] = [slowDown(), ...anyScript([call]), slowDown(), done];
    const { run, workspace } = await createBench(script);
    workspace.homeFile("settings.json", { retry: { baseDelayMs: 1, maxRetries: 1 } });
    const result = await run(["--mode", "json", "hi"]);
    expect(result.status).toBe(0);
    expect(retries(result).map(({ type, attempt }) => `${type} ${attempt}`)).toEqual([
      "auto_retry_start 1",
      "auto_retry_end 1",
      "auto_retry_start 1",
      "auto_retry_end 1",
    ]);
  });
});

describe("after partial output", () => {
  test("the next attempt is a new message; only it stays in context", async () => {
    const { run, server, workspace } = await createBench([cut, done, done]);
    workspace.homeFile("settings.json", { retry: { baseDelayMs: 1 } });
    const { lines } = await run(["--mode", "json", "hi"]);
    const ends = lines.filter(({ type, message }) => type === "message_end" && message.role === "assistant");
    expect(ends.map(({ message }) => [message.stopReason, message.content[0].text])).toEqual([
      ["error", "half"],
      ["stop", "done"],
    ]);
    await run(["-c", "and now?"]);
    expect(
      server
        .json(2)
        .messages.map(({ role, content }: Line) => `${role} ${content}`)
        .slice(1),
    ).toEqual(["user hi", "assistant done", "user and now?"]);
  });

  test("a call that was cut is not run", async () => {
    const half: ScriptedReply = {
      body: `data: ${JSON.stringify({
        choices: [
          {
            index: 0,
            delta: {
              tool_calls: [
                { index: 0, id: "a", function: { name: "write", arguments: '{"path":"x","content":"y"}' } },
              ],
            },
          },
        ],
      })}\n\n`,
    };
    const { run, workspace } = await createBench([half, done]);
    workspace.homeFile("settings.json", { retry: { baseDelayMs: 1 } });
    expect(await run(["hi"])).toMatchObject({ status: 0, stdout: "done\n" });
    expect(readdirSync(workspace.cwd)).toEqual([]);
  });
});

describe("a signal while a retry waits", () => {
  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("%s ends the run at once, and every start has its end", async (signal, status) => {
    const { run, server, workspace } = await createBench([slowDown({ "retry-after": "30" })]);
    const startMs = performance.now();
    let isSent = false;
    const result = await run(["--mode", "json", "hi"], {
      onStdout: (soFar, child) => {
        // Once: a second one ends the program there and then.
        if (!isSent && soFar.includes('"auto_retry_start"')) isSent = child.kill(signal);
      },
    });
    expect(performance.now() - startMs).toBeLessThan(10_000);
    expect(result.status).toBe(status);
    expect(retries(result)).toMatchObject([
      { type: "auto_retry_start", delayMs: 30_000 },
      { type: "auto_retry_end", success: false, attempt: 1 },
    ]);
    expect(result.lines.at(-1)?.type).toBe("agent_end");
    expect(server.requests).toHaveLength(1);
    const [file = ""] = readdirSync(join(workspace.home, "sessions")).filter((name) =>
      name.endsWith(".jsonl"),
    );
    expect(readFileSync(join(workspace.home, "sessions", file), "utf8")).toContain("slow down");
  });
});
