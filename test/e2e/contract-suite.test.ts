import { describe, expect, test } from "vitest";
import { type ApiWire, apiWires, byteByByte, cutBehind } from "../support/api-wires.ts";
import type { ScriptedReply } from "../support/provider-server.ts";
import { toStory } from "../support/story.ts";
import { createBench } from "../support/with-provider.ts";

/** What every API has to tell alike: a provider's replies, and what comes of them. */
type Case = {
  readonly script: (wire: ApiWire) => readonly ScriptedReply[];
  /** Of `settings.json`, beside short delays. */
  readonly settings?: object;
  readonly status: number;
  /** Between `agent_start` and `agent_end`; see `toStory`. */
  readonly turns: readonly string[];
  /** Who spoke, by `agent_end`. */
  readonly roles: string;
  /** What stderr says, in part. */
  readonly stderr?: RegExp;
};

const half = { text: ["It is ", "half"] };
const ls = { id: "call_a", name: "ls", args: { path: "." } };
const find = { id: "call_b", name: "find", args: { pattern: "*.txt" } };
const stopsShort = (wire: ApiWire, end: Partial<ScriptedReply> = {}): ScriptedReply => ({
  body: cutBehind(wire.reply(half), '"half"'),
  ...end,
});
const done = (wire: ApiWire) => wire.reply({ text: "done" });

const saysDone = ["turn_start", "assistant", "text done end", 'stop | 10+0+5 | text "done"'];
const failsEmpty = ["turn_start", "assistant", "error", "turn_end"];
const failsHalf = ["turn_start", "assistant", "text It is half end", 'error | text "It is half"', "turn_end"];
const ranLs = ['run ls {"path":"."}', "ran ls", "result of ls", "turn_end"];
const withPrompt = ([start = "", ...rest]: readonly string[]) => [start, "user", ...rest];
const answersAfter = (...turn: string[]) => [...withPrompt(turn), ...saysDone, "turn_end"];
const failsOnce = {
  status: 1,
  turns: withPrompt(failsEmpty),
  roles: "user assistant",
};
const fails = (attempts: number, turn = failsEmpty) => ({
  status: 1,
  settings: { retry: { baseDelayMs: 1, maxRetries: attempts - 1 } },
  turns: Array.from({ length: attempts }, (_, i) => [
    ...(i === 0 ? withPrompt(turn) : turn),
    i === attempts - 1 ? `retry failed after ${i}` : `retry ${i + 1} of ${attempts - 1}`,
  ]).flat(),
  roles: "user assistant",
});
const recovers = {
  status: 0,
  turns: [...withPrompt(failsEmpty), "retry 1 of 3", ...saysDone, "retry worked after 1", "turn_end"],
  roles: "user assistant",
};
const callRoles = "user assistant toolResult assistant";
const page = "<html><head><title>502 Bad Gateway</title></head><body><p>nginx</p></body></html>";

const cases: Readonly<Record<string, Case>> = {
  text: {
    script: (wire) => [wire.reply({ text: ["Hel", "lo"] })],
    status: 0,
    turns: withPrompt([
      "turn_start",
      "assistant",
      "text Hello end",
      'stop | 10+0+5 | text "Hello"',
      "turn_end",
    ]),
    roles: "user assistant",
  },
  thinking: {
    script: (wire) => [wire.reply({ thinking: ["Let me ", "see"], text: "ok" })],
    status: 0,
    turns: withPrompt([
      "turn_start",
      "assistant",
      "thinking Let me see end",
      "text ok end",
      'stop | 10+0+5 | thinking "Let me see" | text "ok"',
      "turn_end",
    ]),
    roles: "user assistant",
  },
  "cached tokens": {
    script: (wire) => [wire.reply({ text: "ok", usage: { input: 10_000, output: 100, cached: 9_000 } })],
    status: 0,
    turns: withPrompt([
      "turn_start",
      "assistant",
      "text ok end",
      'stop | 1000+9000+100 | text "ok"',
      "turn_end",
    ]),
    roles: "user assistant",
  },
  "one call": {
    script: (wire) => [wire.reply({ text: "Looking.", calls: [ls] }), done(wire)],
    status: 0,
    turns: answersAfter(
      "turn_start",
      "assistant",
      "text Looking. end",
      'toolcall ls {"path":"."} end',
      'toolUse | 10+0+5 | text "Looking." | ls({"path":"."})',
      ...ranLs,
    ),
    roles: callRoles,
  },
  "parallel calls": {
    script: (wire) => [wire.reply({ calls: [ls, find] }), done(wire)],
    status: 0,
    turns: answersAfter(
      "turn_start",
      "assistant",
      'toolcall ls {"path":"."} end',
      'toolcall find {"pattern":"*.txt"} end',
      'toolUse | 10+0+5 | ls({"path":"."}) | find({"pattern":"*.txt"})',
      'run ls {"path":"."}',
      'run find {"pattern":"*.txt"}',
      "ran ls",
      "ran find",
      "result of ls",
      "result of find",
      "turn_end",
    ),
    roles: "user assistant toolResult toolResult assistant",
  },
  "empty arguments": {
    script: (wire) => [wire.reply({ calls: [{ ...ls, args: "" }] }), done(wire)],
    status: 0,
    turns: answersAfter(
      "turn_start",
      "assistant",
      "toolcall ls  end",
      "toolUse | 10+0+5 | ls({})",
      "run ls {}",
      ...ranLs.slice(1),
    ),
    roles: callRoles,
  },
  "arguments as a JSON string": {
    script: (wire) => [
      wire.reply({ calls: [{ ...ls, args: JSON.stringify(JSON.stringify(ls.args)) }] }),
      done(wire),
    ],
    status: 0,
    turns: answersAfter(
      "turn_start",
      "assistant",
      'toolcall ls "{\\"path\\":\\".\\"}" end',
      'toolUse | 10+0+5 | ls({"path":"."})',
      ...ranLs,
    ),
    roles: callRoles,
  },
  "arguments that do not parse": {
    script: (wire) => [wire.reply({ calls: [{ ...ls, args: '{"path":' }] }), done(wire)],
    status: 0,
    turns: answersAfter(
      "turn_start",
      "assistant",
      'toolcall ls {"path": end',
      "toolUse | 10+0+5 | ls({})",
      "result of ls: error",
      "turn_end",
    ),
    roles: callRoles,
  },
  "the output limit": {
    script: (wire) => [wire.length(half)],
    status: 0,
    turns: withPrompt([
      "turn_start",
      "assistant",
      "text It is half end",
      'length | 10+0+5 | text "It is half"',
      "turn_end",
    ]),
    roles: "user assistant",
    stderr: /^base-context: the answer reached the model's output limit/,
  },
  "the output limit, with a call": {
    script: (wire) => [wire.length({ calls: [ls] }), done(wire)],
    status: 0,
    turns: answersAfter(
      "turn_start",
      "assistant",
      'toolcall ls {"path":"."} end',
      'length | 10+0+5 | ls({"path":"."})',
      "result of ls: error",
      "turn_end",
    ),
    roles: callRoles,
  },
  "a refusal": {
    script: (wire) => [wire.refusal(half), done(wire)],
    ...failsOnce,
    turns: withPrompt(failsHalf),
    stderr: /content filter|declined/,
  },
  "an unknown finish reason": {
    script: (wire) => [wire.unknownFinish(half, "galaxy"), done(wire)],
    ...failsOnce,
    turns: withPrompt(failsHalf),
    stderr: /galaxy/,
  },
  "an error within the stream": {
    script: (wire) => [stopsShort(wire, { body: stopsShort(wire).body + wire.errorEvent("upstream broke") })],
    ...fails(4, failsHalf),
    stderr: /upstream broke/,
  },
  "a stream that just stops": {
    script: (wire) => [stopsShort(wire)],
    ...fails(2, failsHalf),
    stderr: /ended without|broke off/,
  },
  "a broken connection": {
    script: (wire) => [stopsShort(wire, { end: "reset" })],
    ...fails(2, failsHalf),
    stderr: /broke \(ECONNRESET\)/,
  },
  "a stream that goes silent": {
    script: (wire) => [stopsShort(wire, { end: "hang" })],
    ...fails(2, failsHalf),
    settings: { retry: { baseDelayMs: 1, maxRetries: 1 }, timeouts: { idleMs: 300 } },
    stderr: /fake sent nothing for 0.3 s/,
  },
  "a stream with nothing but comments": {
    script: (wire) => [stopsShort(wire, { beatMs: 50 })],
    ...fails(2, failsHalf),
    settings: { retry: { baseDelayMs: 1, maxRetries: 1 }, timeouts: { idleMs: 300 } },
    stderr: /fake sent nothing for 0.3 s/,
  },
  "no first event": {
    script: () => [{ body: "", end: "hang" }],
    ...fails(2),
    settings: { retry: { baseDelayMs: 1, maxRetries: 1 }, timeouts: { firstEventMs: 500 } },
    stderr: /did not start to answer within 0.5 s/,
  },
  "a context overflow": {
    script: (wire) => [wire.failures.overflow, done(wire)],
    ...failsOnce,
    turns: [...withPrompt(failsEmpty), "compaction_start", "compaction_end"],
    stderr: /maximum context length|prompt is too long/,
  },
  "an exhausted quota": {
    script: (wire) => [wire.failures.quota, done(wire)],
    ...failsOnce,
    stderr: /quota|credit balance|usage limit/,
  },
  ...Object.fromEntries(
    [400, 401, 403, 404, 413, 422].map((status) => [
      `status ${status}`,
      {
        script: (wire: ApiWire) => [wire.failure(status, "because"), done(wire)],
        ...failsOnce,
        stderr: new RegExp(`fake answered ${status}.*because`),
      },
    ]),
  ),
  ...Object.fromEntries(
    [429, 500, 502, 503, 520, 529].map((status) => [
      `status ${status}`,
      { script: (wire: ApiWire) => [wire.failure(status, "because"), done(wire)], ...recovers },
    ]),
  ),
  "a page of a gateway": {
    script: () => [{ status: 502, type: "text/html", body: page }],
    ...fails(2),
    stderr: /fake answered 502 .*"502 Bad Gateway"\n$/,
  },
  "text of a gateway": {
    script: (wire) => [{ status: 503, type: "text/plain", body: "no healthy upstream" }, done(wire)],
    ...recovers,
  },
  "a short wait that the provider asks for": {
    script: (wire) => [{ ...wire.failure(429, "slow"), headers: { "retry-after": "0.1" } }, done(wire)],
    ...recovers,
  },
  "a long wait that the provider asks for": {
    script: (wire) => [{ ...wire.failure(429, "slow"), headers: { "retry-after": "7200" } }, done(wire)],
    ...failsOnce,
    stderr: /slow \(try again in 2 h, at \d{4}-\d\d-\d\dT\d\d:\d\dZ\)\n$/,
  },
  "an empty reply": { script: (wire) => [wire.reply({}), done(wire)], ...recovers },
  "a socket that stays open behind the end": {
    script: (wire) => [{ ...done(wire), end: "hang" }],
    status: 0,
    turns: [...withPrompt(saysDone), "turn_end"],
    roles: "user assistant",
  },
  "single bytes": {
    script: (wire) =>
      [wire.reply({ thinking: "né 你", text: "好 😀", calls: [ls] }), done(wire)].map(byteByByte),
    status: 0,
    turns: answersAfter(
      "turn_start",
      "assistant",
      "thinking né 你 end",
      "text 好 😀 end",
      'toolcall ls {"path":"."} end',
      'toolUse | 10+0+5 | thinking "né 你" | text "好 😀" | ls({"path":"."})',
      ...ranLs,
    ),
    roles: callRoles,
  },
};

describe("every API tells alike", () => {
  test.each(Object.entries(cases))("%s", async (_, { script, settings, stderr = /^$/, ...expected }) => {
    const runs = apiWires.map(async (wire) => {
      const { run, server, workspace } = await createBench(script(wire), { api: wire.api });
      workspace.homeFile("settings.json", settings ?? { retry: { baseDelayMs: 1 } });
      const startMs = performance.now();
      const { status, lines, stderr: said } = await run(["--mode", "json", "hi"]);
      const tookMs = performance.now() - startMs;
      return { api: wire.api, status, requests: server.requests.length, story: toStory(lines), said, tookMs };
    });
    for (const { said, tookMs, ...told } of await Promise.all(runs)) {
      const { status, turns, roles } = expected;
      const requests = turns.filter((step) => step === "turn_start").length;
      const story = ["agent_start", ...turns, `agent_end ${roles}`];
      expect(told).toEqual({ api: told.api, status, requests, story });
      expect(said).toMatch(stderr);
      expect(said).toMatch(/^(?:base-context: [^\n]+\n)?$/);
      expect(tookMs).toBeLessThan(15_000);
    }
  });
});
