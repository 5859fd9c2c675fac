import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Api } from "../../src/contract/messages.ts";
import { apiWires } from "../support/api-wires.ts";
import { chatReply } from "../support/chat-wire.ts";
import type { ScriptedReply } from "../support/provider-server.ts";
import { createBench } from "../support/with-provider.ts";

const answer = chatReply({ text: "done" });
const oneLine = /^base-context: [^\n]+\n$/;
const noRetries = { retry: { enabled: false } };

describe("a refused start is status 2, one line on stderr, no request and no session", () => {
  test.each<[string, string[]]>([
    ["an unknown model", ["--model", "no/such", "hi"]],
    ["an unknown option", ["--model", "fake/m", "--modle", "x", "hi"]],
    ["a mode that there is not", ["--model", "fake/m", "--mode", "yaml", "hi"]],
    ["no message", ["--model", "fake/m"]],
    ["an empty message", ["--model", "fake/m", ""]],
    ["a blank message", ["--model", "fake/m", " \n "]],
    ["a missing @file", ["--model", "fake/m", "@missing.txt", "hi"]],
    ["a directory as @file", ["--model", "fake/m", "@.", "hi"]],
    ["--json-deltas without --mode json", ["--model", "fake/m", "--json-deltas", "hi"]],
    ["a session that there is not", ["--model", "fake/m", "--resume", "abcdef12", "hi"]],
    ["nothing to continue", ["--model", "fake/m", "-c", "hi"]],
    ["a working directory that there is not", ["--model", "fake/m", "--cwd", "nowhere", "hi"]],
    ["an unknown tool", ["--model", "fake/m", "--tools", "reed", "hi"]],
    ["a recording that there is not", ["--replay", "missing.jsonl", "hi"]],
    [
      "a folder for the last message that there is not",
      ["--model", "fake/m", "--output-last-message", "no/x.txt", "hi"],
    ],
  ])("%s", async (_, args) => {
    const { runBare, server, workspace } = await createBench([answer]);
    for (const mode of [[], ["--mode", "json"]]) {
      const all = args.includes("--json-deltas") || args.includes("--mode") ? args : [...mode, ...args];
      const result = await runBare(all);
      expect(result).toMatchObject({ status: 2, stdout: "" });
      expect(result.stderr).toMatch(oneLine);
    }
    expect(server.requests).toHaveLength(0);
    const sessions = join(workspace.home, "sessions");
    expect(existsSync(sessions) ? readdirSync(sessions) : []).toEqual([]);
  });

  test.each([
    ["a pipe without a writer as @file", "mkfifo pipe", ["@pipe", "hi"]],
    ["settings of a project that are a pipe", "mkfifo .base-context/settings.json", ["hi"]],
    ["settings that are a device without an end", "ln -s /dev/zero .base-context/settings.json", ["hi"]],
    ["settings that keep their reader waiting", "ln -s /proc/kmsg .base-context/settings.json", ["hi"]],
  ])("%s, without waiting", async (_, command, args) => {
    const { run, server, workspace } = await createBench([answer]);
    mkdirSync(join(workspace.cwd, ".base-context"));
    execFileSync("bash", ["-c", command], { cwd: workspace.cwd });
    const result = await run(args, { timeoutMs: 5_000 });
    expect(result).toMatchObject({ status: 2, stdout: "" });
    expect(result.stderr).toMatch(oneLine);
    expect(server.requests).toHaveLength(0);
  });

  test("a stack trace is for --verbose alone, and not for a message that reads so", async () => {
    const { run } = await createBench([answer]);
    const refused = ["--cwd", "nowhere"];
    expect((await run([...refused, "--", "--verbose"])).stderr).toMatch(oneLine);
    expect((await run([...refused, "--verbose", "hi"])).stderr).toMatch(/\n {4}at /);
  });

  test("a missing key names the variable that would hold it", async () => {
    const { runBare } = await createBench([answer]);
    const result = await runBare(["--model", "anthropic/claude-sonnet-4-5", "hi"]);
    expect(result).toMatchObject({ status: 2, stdout: "" });
    expect(result.stderr).toMatch(oneLine);
    expect(result.stderr).toContain("ANTHROPIC_API_KEY");
  });
});

describe("a provider that fails is status 1 in both modes, one line on stderr, a whole stream", () => {
  const html = "<!DOCTYPE html><html><head><title>Sign in</title></head><body>x</body></html>";
  test.each<[string, ScriptedReply, RegExp]>([
    [
      "401",
      {
        status: 401,
        type: "application/json",
        body: '{"error":{"message":"bad key","code":"invalid_api_key"}}',
      },
      /bad key/,
    ],
    ["500", { status: 500, type: "application/json", body: '{"error":{"message":"boom"}}' }, /boom/],
    [
      "a cut stream",
      { body: 'data: {"choices":[{"index":0,"delta":{"content":"half"}}]}\n\n' },
      /finish reason|ended|end/,
    ],
    [
      "a reset",
      { body: 'data: {"choices":[{"index":0,"delta":{"content":"half"}}]}\n\n', end: "reset" },
      /broke/,
    ],
    ["an HTML page", { type: "text/html", body: html }, /Sign in/],
    [
      "an error within the stream",
      { body: 'data: {"error":{"message":"upstream overloaded","code":502}}\n\ndata: [DONE]\n\n' },
      /upstream overloaded/,
    ],
    ["an empty reply", chatReply({}), /empty/],
  ])("%s", async (_, reply, words) => {
    const { run, workspace } = await createBench([reply]);
    workspace.homeFile("settings.json", noRetries);
    const text = await run(["hi"]);
    expect(text).toMatchObject({ status: 1, stdout: "" });
    expect(text.stderr).toMatch(oneLine);
    expect(text.stderr).toMatch(words);
    const json = await run(["--mode", "json", "hi"]);
    expect(json).toMatchObject({ status: 1, stderr: text.stderr });
    const { messages } = json.lines.at(-1) ?? {};
    expect(messages.at(-1)).toMatchObject({ role: "assistant", stopReason: "error" });
  });

  const bare = '{"detail":"Unsupported model"}';
  test.each(
    (
      ["openai-completions", "openai-responses", "openai-codex-responses", "anthropic-messages"] as const
    ).flatMap((api): [Api, ScriptedReply][] => [
      [api, { type: "application/json", body: bare }],
      [api, { body: `data: ${bare}\n\n` }],
    ]),
  )("%s: an error without a frame, %j", async (api, reply) => {
    const { run, workspace } = await createBench([reply], { api });
    workspace.homeFile("settings.json", noRetries);
    const { status, stderr } = await run(["hi"]);
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: "base-context: fake reported an error: Unsupported model\n",
    });
  });

  const typed = '{"type":"invalid_request_error","message":"No such tool","code":"tool_not_found"}';
  test.each(
    apiWires.flatMap(({ api }): [Api, string][] => [
      [api, `event: error\ndata: ${typed}\n\n`],
      [api, `error: ${typed}\n\n`],
      [api, `: hi\n\ndata: {"type":"ping","choices":[]}\n\nerror: ${typed}\n\n`],
    ]),
  )("%s: an error event whose data has a type of its own, %j", async (api, body) => {
    const { run, server } = await createBench([{ body }], { api });
    const { status, stderr } = await run(["hi"]);
    expect({ status, stderr, asked: server.requests.length }).toEqual({
      status: 1,
      stderr: "base-context: fake reported an error (tool_not_found): No such tool\n",
      asked: 1,
    });
  });

  const searches = [
    { type: "server_tool_use", id: "s1", name: "web_search", input: { query: "x" } },
    { type: "web_search_tool_result", tool_use_id: "s1", content: [] },
  ];
  const paused = [
    {
      type: "message_start",
      message: { id: "msg_1", model: "m", usage: { input_tokens: 1, output_tokens: 1 } },
    },
    ...searches.flatMap((block, index) => [
      { type: "content_block_start", index, content_block: block },
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason: "pause_turn" }, usage: { output_tokens: 5 } },
    { type: "message_stop" },
  ];

  const approval = { type: "mcp_approval_request", id: "mcpr_1", name: "search", arguments: "{}" };
  const asks = [
    { type: "response.output_item.added", output_index: 0, item: approval },
    { type: "response.output_item.done", output_index: 0, item: approval },
    { type: "response.completed", response: { id: "r", status: "completed", output: [approval] } },
  ];

  test.each<[Api, object[], string]>([
    ["anthropic-messages", paused, "pause_turn"],
    ["openai-responses", asks, "completed"],
  ])("%s: a reply of nothing but the server's own tools is none", async (api, events, stopReasonRaw) => {
    const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
    const { run, server } = await createBench([{ body }], { api });
    const { status, stderr, lines } = await run(["--mode", "json", "hi"]);
    expect({ status, stderr, asked: server.requests.length }).toEqual({ status: 0, stderr: "", asked: 1 });
    expect(lines.at(-1)?.messages.at(-1)).toMatchObject({ stopReason: "stop", stopReasonRaw });
  });

  test("a server that is not there", async () => {
    const { run, workspace, server } = await createBench([answer]);
    workspace.homeFile("settings.json", noRetries);
    await server.close();
    const result = await run(["hi"]);
    expect(result).toMatchObject({ status: 1, stdout: "" });
    expect(result.stderr).toMatch(oneLine);
    expect(result.stderr).toContain("127.0.0.1");
  });
});

test("a retried attempt stays in its own message, and the run that recovers is status 0", async () => {
  const cut: ScriptedReply = {
    body: 'data: {"choices":[{"index":0,"delta":{"content":"par"}}]}\n\n',
    end: "reset",
  };
  const { run, server, workspace } = await createBench([cut, answer]);
  workspace.homeFile("settings.json", { retry: { baseDelayMs: 1 } });
  const { status, lines, stderr } = await run(["--mode", "json", "hi"]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const retries = lines.filter(({ type }) => String(type).startsWith("auto_retry"));
  expect(retries).toMatchObject([
    { type: "auto_retry_start", attempt: 1, maxAttempts: 3 },
    { type: "auto_retry_end", success: true, attempt: 1 },
  ]);
  expect(lines.at(-1)?.messages).toMatchObject([
    { role: "user" },
    { content: [{ text: "done" }], stopReason: "stop" },
  ]);
  expect(server.requests[1]?.body).toBe(server.requests[0]?.body);
});

test("retries that are used up end in status 1 with the last error", async () => {
  const { run, server, workspace } = await createBench([
    { status: 503, type: "text/plain", body: "no healthy upstream" },
  ]);
  workspace.homeFile("settings.json", { retry: { baseDelayMs: 1 } });
  const { status, lines } = await run(["--mode", "json", "hi"]);
  expect(status).toBe(1);
  expect(server.requests).toHaveLength(4);
  expect(lines.filter(({ type }) => type === "auto_retry_end")).toMatchObject([
    { success: false, attempt: 3 },
  ]);
  expect(lines.at(-1)?.messages).toHaveLength(2);
});

test("a key that the provider sends back reaches nobody", async () => {
  const { run } = await createBench([
    (request) => ({
      status: 401,
      type: "application/json",
      body: JSON.stringify({ error: { message: `no: ${request.headers.authorization}` } }),
    }),
  ]);
  const { stdout, stderr } = await run(["--mode", "json", "hi"]);
  expect(stdout + stderr).not.toContain("test-key-12345678");
  expect(stdout + stderr).toContain("[redacted]");
});
