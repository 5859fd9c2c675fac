import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";
import { afterEach, expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import type { Script } from "../support/provider-server.ts";
import { cliPath } from "../support/run-cli.ts";
import { createBench } from "../support/with-provider.ts";

const hanging = {
  body: 'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n',
  end: "hang",
} as const;
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

test("an editor gets the answer, and the calls with kinds, places, diffs and results", async () => {
  const editor = await createEditor([
    chatReply({
      thinking: "Let me look.",
      text: "I look.",
      calls: [
        { id: "c1", name: "read", args: { path: "a.txt", offset: 1 } },
        { id: "c2", name: "edit", args: { path: "a.txt", edits: [{ oldText: "one", newText: "two" }] } },
        { id: "c3", name: "bash", args: { command: "echo hi; exit 3" } },
      ],
    }),
    chatReply({ text: ["All ", "done."] }),
  ]);
  const { cwd } = editor.workspace;
  editor.workspace.file("a.txt", "one\n");
  const { sessionId } = await editor.begin(cwd);
  const prompt = [{ type: "text" as const, text: "Do it" }];
  const response = await editor.agent.request("session/prompt", { sessionId, prompt });
  expect(response).toEqual({ stopReason: "end_turn" });
  expect(editor.said("agent_message_chunk")).toBe("I look.All done.");
  expect(editor.said("agent_thought_chunk")).toBe("Let me look.");
  const path = join(cwd, "a.txt");
  expect(editor.calls()).toMatchObject([
    {
      title: "Read a.txt",
      kind: "read",
      status: "completed",
      locations: [{ path, line: 1 }],
      rawInput: { path: "a.txt", offset: 1 },
      content: [{ type: "content", content: { type: "text", text: expect.stringContaining("one") } }],
    },
    {
      title: "Edit a.txt",
      kind: "edit",
      status: "completed",
      locations: [{ path }],
      content: [{ type: "diff", path, oldText: "one", newText: "two" }],
    },
    {
      title: "echo hi; exit 3",
      kind: "execute",
      status: "failed",
      content: [{ type: "content", content: { type: "text", text: expect.stringContaining("code 3") } }],
    },
  ]);
  expect(readFileSync(path, "utf8")).toBe("two\n");
  expect(await editor.end()).toEqual({ status: 0, stderr: "" });
});

test("a prompt that is cancelled in mid-stream says so, and the session takes the next one", async () => {
  const editor = await createEditor([hanging, chatReply({ text: "Again." })]);
  const { cwd } = editor.workspace;
  const { sessionId } = await editor.begin(cwd);
  const prompt = [{ type: "text" as const, text: "hi" }];
  const running = editor.agent.request("session/prompt", { sessionId, prompt });
  await editor.until(() => editor.said("agent_message_chunk") === "Hel");
  await expect(editor.agent.request("session/prompt", { sessionId, prompt })).rejects.toThrow(/is running/);
  await editor.agent.notify("session/cancel", { sessionId });
  expect(await running).toEqual({ stopReason: "cancelled" });
  expect(await editor.agent.request("session/prompt", { sessionId, prompt })).toEqual({
    stopReason: "end_turn",
  });
  expect(await editor.end()).toEqual({ status: 0, stderr: "" });
});

test("an earlier session is loaded with all that was said, and goes on", async () => {
  const first = await createEditor([
    chatReply({ text: "I list.", calls: [{ id: "c1", name: "ls", args: {} }] }),
    chatReply({ text: "Nothing." }),
    chatReply({ text: "Still nothing." }),
  ]);
  const { cwd } = first.workspace;
  const prompt = [{ type: "text" as const, text: "What is here?" }];
  const { sessionId } = await first.begin(cwd);
  await first.agent.request("session/prompt", { sessionId, prompt });
  await first.end();

  const second = await first.restart();
  const { sessions } = await second.agent.request("session/list", { cwd });
  expect(sessions).toMatchObject([{ sessionId, cwd, title: "What is here?" }]);
  await second.agent.request("session/load", { sessionId, cwd, mcpServers: [] });
  expect(second.said("user_message_chunk")).toBe("What is here?");
  expect(second.said("agent_message_chunk")).toBe("I list.Nothing.");
  expect(second.calls()).toMatchObject([{ title: "ls", kind: "read", status: "completed" }]);
  await second.agent.request("session/prompt", { sessionId, prompt });
  expect(second.said("agent_message_chunk")).toBe("I list.Nothing.Still nothing.");
  expect(first.server.json(2).messages.map(({ role }: { role: string }) => role)).toEqual(
    expect.arrayContaining(["user", "assistant", "tool", "assistant", "user"]),
  );
  expect(await second.end()).toEqual({ status: 0, stderr: "" });
});

test("links, resources and images of a prompt reach the model", async () => {
  const editor = await createEditor([chatReply({ text: "I see." })], { model: { input: ["text", "image"] } });
  const { cwd } = editor.workspace;
  const { sessionId } = await editor.begin(cwd);
  await editor.agent.request("session/prompt", {
    sessionId,
    prompt: [
      { type: "text", text: "Compare " },
      { type: "resource_link", name: "a", uri: "file:///tmp/a.txt" },
      { type: "text", text: " with " },
      { type: "resource", resource: { uri: "file:///tmp/b.txt", text: "bee\n" } },
      { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" },
    ],
  });
  const content = editor.server.json(0).messages.at(-1).content;
  expect(content[0].text).toBe(
    '<file name="/tmp/b.txt">\nbee\n</file>\n\nCompare /tmp/a.txt with /tmp/b.txt',
  );
  expect(content[1].image_url.url).toBe("data:image/png;base64,iVBORw0KGgo=");
  await editor.end();
});

test("what goes wrong is a protocol error, and the program goes on", async () => {
  const editor = await createEditor([
    { status: 401, body: '{"error":{"message":"bad key"}}', type: "application/json" },
  ]);
  const { cwd } = editor.workspace;
  const { agent } = editor;
  const prompt = [{ type: "text" as const, text: "hi" }];
  await expect(agent.request("session/new", { cwd: "relative", mcpServers: [] })).rejects.toThrow(/absolute/);
  await expect(agent.request("session/new", { cwd: "/not/there", mcpServers: [] })).rejects.toThrow(
    /not there/,
  );
  await expect(
    agent.request("session/load", { sessionId: "0000-none", cwd, mcpServers: [] }),
  ).rejects.toMatchObject({ code: -32002 });
  await expect(agent.request("session/load", { sessionId: "00000000", cwd, mcpServers: [] })).rejects.toThrow(
    /no session/,
  );
  await expect(agent.request("session/prompt", { sessionId: "abcd", prompt })).rejects.toMatchObject({
    code: -32002,
  });
  const mcpServers = [{ name: "x", command: "x", args: [], env: [] }];
  const { sessionId } = await editor.begin(cwd, mcpServers);
  await expect(agent.request("session/prompt", { sessionId, prompt: [] })).rejects.toThrow(/empty/);
  await expect(agent.request("session/prompt", { sessionId, prompt })).rejects.toThrow(/bad key/);
  const { status, stderr } = await editor.end();
  expect(status).toBe(0);
  expect(stderr).toContain("MCP servers are not supported");
});

test("a session command ends by itself, however the prompt before it ended", async () => {
  const editor = await createEditor([
    { status: 401, body: '{"error":{"message":"bad key"}}', type: "application/json" },
    chatReply({ text: "cut", finish: "length" }),
  ]);
  const { sessionId } = await editor.begin(editor.workspace.cwd);
  const say = (text: string) =>
    editor.agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  await expect(say("hi")).rejects.toThrow(/bad key/);
  expect(await say("/name one")).toEqual({ stopReason: "end_turn" });
  await expect(say("/nme two")).rejects.toThrow(/no command \/nme/);
  expect(await say("again")).toEqual({ stopReason: "max_tokens" });
  expect(await say("/session")).toEqual({ stopReason: "end_turn" });
  expect(editor.said("agent_message_chunk")).toContain("name: one");
  expect(await editor.end()).toEqual({ status: 0, stderr: "" });
});

test("a gate that is not passed is a protocol error, and the session goes on", async () => {
  const args = ["--autonomous-gate", "test -f ok", "--autonomous-gate-retries", "1"];
  const editor = await createEditor([chatReply({ text: "Done." })], {}, args);
  const { sessionId } = await editor.begin(editor.workspace.cwd);
  const say = (text: string) =>
    editor.agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  await expect(say("hi")).rejects.toThrow(/gate failed: test -f ok/);
  expect(await say("/session")).toEqual({ stopReason: "end_turn" });
  editor.workspace.file("ok", "");
  expect(await say("again")).toEqual({ stopReason: "end_turn" });
  expect((await editor.end()).status).toBe(0);
});

test.each([
  ["a message", ["hi"], "takes its prompts from stdin"],
  ["a file", ["@f"], "takes its prompts from stdin"],
  ["--summary", ["--summary", "s.json"], "--summary cannot be used with --mode acp"],
])("%s is refused at once", async (_, args, words) => {
  const { run } = await createBench([]);
  const { status, stdout, stderr } = await run(["--mode", "acp", ...args]);
  expect([status, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(words);
});

test("a cancellation of a session that is not open is passed over", async () => {
  const editor = await createEditor([chatReply({ text: "Done." })]);
  await editor.agent.notify("session/cancel", { sessionId: "abcd" });
  await editor.begin(editor.workspace.cwd);
  expect(await editor.end()).toEqual({ status: 0, stderr: "" });
});

test("a signal ends a running prompt, whose request is still answered", async () => {
  const editor = await createEditor([hanging]);
  const { cwd } = editor.workspace;
  const { sessionId } = await editor.begin(cwd);
  const running = editor.agent.request("session/prompt", {
    sessionId,
    prompt: [{ type: "text", text: "hi" }],
  });
  await editor.until(() => editor.said("agent_message_chunk") === "Hel");
  editor.child.kill("SIGTERM");
  expect(await running).toEqual({ stopReason: "cancelled" });
  expect((await editor.exit).status).toBe(143);
});

test("an editor that reads no more ends the program, also while nothing is told", async () => {
  const editor = await createEditor([]);
  await editor.begin(editor.workspace.cwd);
  editor.child.stdout?.destroy();
  expect(await editor.exit).toEqual({ status: 141, stderr: "" });
});

test("the end of the input lets a running prompt end", async () => {
  const editor = await createEditor([{ ...chatReply({ text: "Done." }), waitMs: 300 }]);
  const { cwd } = editor.workspace;
  const { sessionId } = await editor.begin(cwd);
  const running = editor.agent.request("session/prompt", {
    sessionId,
    prompt: [{ type: "text", text: "hi" }],
  });
  await editor.server.received(1);
  editor.child.stdin?.end();
  expect(await running).toEqual({ stopReason: "end_turn" });
  expect(await editor.exit).toEqual({ status: 0, stderr: "" });
});

test("requests in a pipe are answered before the end, and lines that are none with errors", async () => {
  const { run } = await createBench([chatReply({ text: "Done." })]);
  const requests = [
    { id: 0, method: "initialize", params: { protocolVersion: 1, clientCapabilities: {} } },
    { id: 1, method: "session/list", params: {} },
    { id: 2, method: "session/new", params: { mcpServers: [] } },
    { id: 3, method: "session/unheard_of", params: {} },
  ];
  const lines = requests.map((request) => JSON.stringify({ jsonrpc: "2.0", ...request }));
  const result = await run(["--mode", "acp"], { stdin: [...lines, "no json"].join("\n"), unchecked: true });
  expect(result.status).toBe(0);
  expect(result.stderr).toBe("");
  expect(result.stdout.trimEnd().split("\n")).toHaveLength(5);
  const answers = new Map(result.lines.map((line) => [line.id, line]));
  expect(answers.get(0)).toMatchObject({ result: { protocolVersion: 1, authMethods: [] } });
  expect(answers.get(1)).toMatchObject({ result: { sessions: [] } });
  expect(answers.get(2)).toMatchObject({ error: { code: -32602 } });
  expect(answers.get(3)).toMatchObject({ error: { code: -32601 } });
  expect(answers.get(null)).toMatchObject({ error: { code: -32700 } });
});

test("messages that nothing can be made of end nothing, and are one line of stderr at most", async () => {
  const { run } = await createBench([]);
  const initialize = { method: "initialize", params: { protocolVersion: 0 } };
  const messages = [
    [],
    [{ jsonrpc: "2.0", id: 1, ...initialize }],
    { jsonrpc: "2.0", method: "session/cancel", params: { sessionId: 5 } },
    { jsonrpc: "2.0", id: 2, ...initialize },
  ];
  const stdin = messages.map((message) => JSON.stringify(message)).join("\n");
  const { status, stderr, lines } = await run(["--mode", "acp"], { stdin, unchecked: true });
  expect(status).toBe(0);
  const refused = { id: null, error: { code: -32600 } };
  expect(lines).toMatchObject([refused, refused, { id: 2, result: { protocolVersion: 1 } }]);
  expect(stderr).toMatch(/^base-context: Error handling notification .*session\/cancel.*\n$/);
});

test("an open session stays open when it cannot be loaded again, and goes on with its prompt", async () => {
  const editor = await createEditor([chatReply({ text: "Done." }), hanging, chatReply({ text: "Again." })]);
  const { agent, workspace } = editor;
  const { cwd } = workspace;
  const { sessionId } = await editor.begin(cwd);
  const prompt = [{ type: "text" as const, text: "hi" }];
  const load = { sessionId, mcpServers: [] };
  await agent.request("session/prompt", { sessionId, prompt });
  await expect(agent.request("session/load", { ...load, cwd: "/not/there" })).rejects.toThrow(/not there/);
  const running = agent.request("session/prompt", { sessionId, prompt });
  await editor.until(() => editor.said("agent_message_chunk") === "Done.Hel");
  await expect(agent.request("session/load", { ...load, cwd })).rejects.toThrow(/a prompt is running/);
  await agent.notify("session/cancel", { sessionId });
  expect(await running).toEqual({ stopReason: "cancelled" });
  await agent.request("session/load", { ...load, cwd });
  expect(editor.said("user_message_chunk")).toBe("hihi");
  expect(await agent.request("session/prompt", { sessionId, prompt })).toEqual({ stopReason: "end_turn" });
  expect(await editor.end()).toEqual({ status: 0, stderr: "" });
});

test("commands and the level of thinking are offered", async () => {
  const editor = await createEditor([chatReply({ text: "Done." })], { model: { reasoning: true } });
  const { sessionId, configOptions } = await editor.begin(editor.workspace.cwd);
  expect(configOptions).toMatchObject([
    { id: "thinking", currentValue: "medium", category: "thought_level" },
  ]);
  const changed = await editor.agent.request("session/set_config_option", {
    sessionId,
    configId: "thinking",
    value: "high",
  });
  expect(changed.configOptions).toMatchObject([{ currentValue: "high" }]);
  const prompt = [{ type: "text" as const, text: "/session" }];
  expect(await editor.agent.request("session/prompt", { sessionId, prompt })).toEqual({
    stopReason: "end_turn",
  });
  expect(editor.said("agent_message_chunk")).toContain("thinking: high");
  for (const command of ["/thinking low", "/name Mine"])
    await editor.agent.request("session/prompt", { sessionId, prompt: [{ type: "text", text: command }] });
  expect(editor.updates).toContainEqual({
    sessionUpdate: "config_option_update",
    configOptions: [expect.objectContaining({ id: "thinking", currentValue: "low" })],
  });
  expect(editor.updates).toContainEqual({ sessionUpdate: "session_info_update", title: "Mine" });
  expect(editor.commands()).toContain("compact");
  const unknown = [{ type: "text" as const, text: "/unheard_of" }];
  await expect(editor.agent.request("session/prompt", { sessionId, prompt: unknown })).rejects.toThrow(
    /no command/,
  );
  expect((await editor.end()).status).toBe(0);
});

type Setup = Parameters<typeof createBench>[1];

/** An editor that drives the built program, with a scripted provider behind it. */
async function createEditor(script: readonly Script[], setup: Setup = {}, args: readonly string[] = []) {
  const { server, workspace } = await createBench(script, setup);

  async function start() {
    const child = spawn(process.execPath, [cliPath, "--mode", "acp", "--model", "fake/m", ...args], {
      cwd: workspace.cwd,
      env: { PATH: process.env.PATH, HOME: workspace.home, BASE_CONTEXT_HOME: workspace.home },
      stdio: ["pipe", "pipe", "pipe"],
    });
    children.push(child);
    const updates: acp.SessionUpdate[] = [];
    const waiting: { isMet: () => boolean; resolve: () => void }[] = [];
    let stderr = "";
    child.stderr.on("data", (chunk) => {
      stderr += chunk;
    });
    const exit = new Promise<{ status: number | null; stderr: string }>((resolve) => {
      child.on("close", (status) => resolve({ status, stderr }));
    });
    const connection = acp
      .client({ name: "test" })
      .onNotification("session/update", ({ params }) => {
        updates.push(params.update);
        for (const { isMet, resolve } of waiting) if (isMet()) resolve();
      })
      .connect(
        acp.ndJsonStream(
          Writable.toWeb(child.stdin) as WritableStream<Uint8Array>,
          Readable.toWeb(child.stdout) as unknown as ReadableStream<Uint8Array>,
        ),
      );
    const initialized = await connection.agent.request("initialize", {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: {},
    });
    expect(initialized).toMatchObject({
      protocolVersion: 1,
      agentInfo: { name: "base-context" },
      agentCapabilities: { loadSession: true, promptCapabilities: { image: true, embeddedContext: true } },
    });
    return {
      agent: connection.agent,
      updates,
      child,
      exit,
      begin: (cwd: string, mcpServers: acp.McpServer[] = []) =>
        connection.agent.request("session/new", { cwd, mcpServers }),
      said: (kind: "agent_message_chunk" | "agent_thought_chunk" | "user_message_chunk") =>
        updates
          .map((update) =>
            update.sessionUpdate === kind && update.content.type === "text" ? update.content.text : "",
          )
          .join(""),
      calls() {
        const calls = new Map<string, object>();
        for (const update of updates)
          if (update.sessionUpdate === "tool_call" || update.sessionUpdate === "tool_call_update")
            calls.set(update.toolCallId, { ...calls.get(update.toolCallId), ...update });
        return [...calls.values()];
      },
      commands: () =>
        updates.flatMap((update) =>
          update.sessionUpdate === "available_commands_update"
            ? update.availableCommands.map(({ name }) => name)
            : [],
        ),
      until: (isMet: () => boolean) =>
        new Promise<void>((resolve) => {
          if (isMet()) resolve();
          else waiting.push({ isMet, resolve });
        }),
      end() {
        child.stdin.end();
        return exit;
      },
    };
  }

  return { server, workspace, restart: start, ...(await start()) };
}
