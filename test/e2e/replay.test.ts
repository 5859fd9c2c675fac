import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { toDeltaLine } from "../support/delta-projection.ts";
import type { ScriptedReply } from "../support/provider-server.ts";
import { createBench } from "../support/with-provider.ts";

const tools = chatReply({
  text: "Let me look.",
  calls: [
    { name: "ls", args: {} },
    { name: "read", args: { path: "missing.txt" } },
  ],
});
const answer = chatReply({ thinking: ["h", "m"], text: ["done \u{1f600}", "\u2028"] });
const cut = tools.body?.slice(0, 400) ?? "";

const failures: readonly (readonly [name: string, ScriptedReply])[] = [
  ["a status that passes", { status: 503, type: "text/html", body: "<html><title>busy</title></html>" }],
  ["a rate limit", { status: 429, headers: { "retry-after": "0.1" }, body: "{}" }],
  ["a reply that ends too soon", { body: cut }],
  ["a connection that breaks", { body: cut, end: "reset" }],
  [
    "a refusal that echoes the key",
    { status: 401, type: "application/json", body: '{"error":{"message":"bad key test-key-12345678"}}' },
  ],
  ["a redirect", { status: 302, headers: { location: "http://127.0.0.1:9/elsewhere" }, body: "" }],
  ["an error within a reply", { body: 'data: {"error":{"message":"overloaded","code":"busy"}}\n\n' }],
  ["a login page", { type: "text/html", body: "<html><title>Log in</title></html>" }],
];

test.each(failures)("a replay tells the same events as the run: tools and %s", async (_, failure) => {
  const { run, runBare, server, workspace } = await createBench([tools, failure, answer]);
  workspace.homeFile("settings.json", { retry: { baseDelayMs: 10 } });
  const recorded = await run(["--mode", "json", "--record", "../tape.jsonl", "go", "on"]);
  await server.close();
  const replay = ["--replay", "../tape.jsonl", "--mode", "json"];
  const again = await runBare([...replay, "go", "on"], { env: { FAKE_KEY: undefined } });
  expect(again.status).toBe(recorded.status);
  expect(withoutTimes(again.stderr)).toBe(withoutTimes(recorded.stderr));
  expect(withoutTimes(again.stdout)).toBe(withoutTimes(recorded.stdout));
  const deltas = await runBare([...replay, "--json-deltas", "go", "on"]);
  expect(withoutTimes(deltas.stdout)).toBe(withoutTimes(toDeltaStream(again.stdout)));
  expect(statSync(join(workspace.cwd, "../tape.jsonl")).mode & 0o777).toBe(0o600);
});

test("a replay fails at once where the run did", async () => {
  const { run, runBare, workspace } = await createBench([], { provider: { baseUrl: "http://made-up.test" } });
  workspace.homeFile("settings.json", { retry: { baseDelayMs: 10 } });
  const env = { ALL_PROXY: "socks5://127.0.0.1:1" };
  const recorded = await run(["--mode", "json", "--record", "../tape.jsonl", "go"], { env });
  const again = await runBare(["--mode", "json", "--replay", "../tape.jsonl", "go"]);
  expect(recorded.stdout).not.toContain("auto_retry");
  expect(withoutTimes(again.stdout)).toBe(withoutTimes(recorded.stdout));
  expect(again.stderr).toBe(recorded.stderr);
});

test("a replay ends where the recorded run was stopped", async () => {
  const { run, runBare, server } = await createBench([{ body: cut, end: "hang" }]);
  await run(["--record", "../tape.jsonl", "go"], {
    onStart: (child) => void server.received(1).then(() => setTimeout(() => child.kill("SIGINT"), 300)),
  });
  const { status, stderr } = await runBare(["--replay", "../tape.jsonl", "go"]);
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: "base-context: the recorded run was stopped here\n",
  });
});

test("a replay takes the full name of its model where no provider has it", async () => {
  const { run } = await createBench([answer]);
  const { run: runElsewhere, workspace } = await createBench([]);
  await run(["--record", join(workspace.cwd, "tape.jsonl"), "go"]);
  workspace.homeFile("models.json", {});
  const again = await runElsewhere(["--mode", "json", "--replay", "tape.jsonl", "go"]);
  expect(again).toMatchObject({ status: 0, stderr: "" });
  expect(again.lines.at(-1)?.messages.at(-1)).toMatchObject({ provider: "fake", model: "m" });
});

test("a replay changes to a model that the run had to ask for", async () => {
  const list = { type: "application/json", body: JSON.stringify({ data: [{ id: "other" }] }) };
  const { run, runBare } = await createBench([answer, list, answer]);
  const prompts = ["one", "/model fake/other", "two"];
  const recorded = await run(["--mode", "json", "--record", "../tape.jsonl", ...prompts]);
  expect(recorded.status).toBe(0);
  const again = await runBare(["--mode", "json", "--replay", "../tape.jsonl", ...prompts]);
  expect(again).toMatchObject({ status: 0, stderr: "" });
  expect(again.lines.at(-1)?.messages.at(-1).model).toBe("other");
});

test.each(["text", "json"])(
  "a replay without an answer for a request is status 1 in %s mode",
  async (mode) => {
    const { run, runBare, server } = await createBench([answer]);
    await run(["--record", "../tape.jsonl", "go"]);
    const { status, stderr } = await runBare(["--mode", mode, "--replay", "../tape.jsonl", "go", "and on"]);
    expect(status).toBe(1);
    expect(stderr).toMatch(/^base-context: the recording .* has no answer for request 2: .*\n$/);
    expect(server.requests).toHaveLength(1);
  },
);

/** A stream without what differs from run to run: ids, moments, and waits that have chance in them. */
function withoutTimes(stream: string): string {
  return stream
    .replaceAll(/"timestamp":(?:\d+|"[^"]*")/g, '"timestamp":0')
    .replaceAll(/"delayMs":\d+/g, '"delayMs":0')
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "ID");
}

function toDeltaStream(plain: string): string {
  let messageId = 0;
  return plain
    .split("\n")
    .map((line) => {
      if (/^{"type":"message_start","message":{"role":"assistant"/.test(line)) messageId++;
      return line === "" ? "" : toDeltaLine(line, messageId);
    })
    .join("\n");
}
