import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { checkStream } from "../support/grammar.ts";
import type { Script } from "../support/provider-server.ts";
import { cliPath, type Line, type RunResult } from "../support/run-cli.ts";
import { type Bench, createBench } from "../support/with-provider.ts";

const hanging = {
  body: 'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n',
  end: "hang",
} as const;
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

describe("a script of commands on stdin", () => {
  test("is answered in order, between the events, and the end of stdin lets the prompt end", async () => {
    const bench = await createBench([chatReply({ text: "Done." })]);
    const result = await script(bench, [
      { type: "get_state", id: 1 },
      { type: "prompt", message: "hi", id: "two" },
      { type: "prompt", message: "again" },
      { type: "follow_up", message: "more" },
    ]);
    expect(result.status).toBe(0);
    expect(result.stderr).toBe("");
    const [state, prompt, refused, queued] = responses(result);
    const [header] = result.lines;
    expect(state).toMatchObject({
      command: "get_state",
      id: 1,
      success: true,
      data: {
        sessionId: header?.id,
        cwd: bench.workspace.cwd,
        model: { provider: "fake", id: "m" },
        thinkingLevel: "off",
        isStreaming: false,
        isCompacting: false,
        isBashRunning: false,
        autoCompactionEnabled: true,
        autoRetryEnabled: true,
        messageCount: 0,
        pendingMessageCount: 0,
        actions: { queuedCount: 0, steering: [], followUps: [] },
      },
    });
    expect(prompt).toEqual({
      type: "response",
      command: "prompt",
      id: "two",
      success: true,
      data: { queued: false },
    });
    expect(refused).toMatchObject({ success: false, error: expect.stringContaining("streamingBehavior") });
    expect(queued).toMatchObject({ success: true, data: { queued: true } });
    expect(checkStream(events(result))).toEqual([]);
    expect(bench.server.requests).toHaveLength(2);
    expect(bench.server.json(1).messages.at(-1)).toMatchObject({ role: "user", content: "more" });
  });

  test("with lines that are no commands is answered with errors and goes on", async () => {
    const bench = await createBench([chatReply({ text: "Done." })]);
    const stdin = Buffer.concat([
      Buffer.from("no json\n[1]\n\n  \n"),
      Buffer.from([0x22, 0xff, 0x22, 0x0a]),
      Buffer.from(
        '{"type":"promt","id":7}\n{"id":8}\n{"type":"prompt","id":9}\n{"type":"get_state","id":{}}\n',
      ),
      Buffer.from(
        '{"type":"set_auto_retry","enabled":"yes"}\n{"type":"set_thinking_level","level":"deep"}\n',
      ),
      Buffer.from('{"type":"prompt","message":"a\u2028b","id":10}\r\n'),
      Buffer.from('{"type":"get_messages","id":11}'),
    ]);
    const result = await bench.run(["--mode", "rpc"], { stdin, unchecked: true });
    expect(responses(result).map(({ command, id, success }) => [command, id, success])).toEqual([
      ["parse", undefined, false],
      ["parse", undefined, false],
      ["parse", undefined, false],
      ["promt", 7, false],
      ["parse", 8, false],
      ["prompt", 9, false],
      ["get_state", undefined, false],
      ["set_auto_retry", undefined, false],
      ["set_thinking_level", undefined, false],
      ["prompt", 10, true],
      ["get_messages", 11, true],
    ]);
    expect(responses(result)[3]?.error).toContain("did you mean prompt?");
    expect(result.status).toBe(0);
    expect(bench.server.json(0).messages.at(-1).content).toBe("a\u2028b");
  });

  test.each([
    ["a prompt that ended in an error", { status: 401, body: "{}", type: "application/json" }, 1],
    ["a prompt that ended well", chatReply({ text: "Done." }), 0],
  ] as const)("ends with the status of %s", async (_, reply, status) => {
    const bench = await createBench([reply]);
    const result = await script(bench, [{ type: "prompt", message: "hi" }]);
    expect(result.status).toBe(status);
    expect(checkStream(events(result))).toEqual([]);
  });

  test("that cannot be read fails", async () => {
    const { workspace } = await createBench([]);
    const command = `"${process.execPath}" "${cliPath}" --mode rpc --model fake/m 0>"${workspace.cwd}/out" 2>&1; echo $?`;
    const shell = spawn("bash", ["-c", command], {
      env: { PATH: process.env.PATH, HOME: workspace.home, BASE_CONTEXT_HOME: workspace.home },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let out = "";
    for await (const chunk of shell.stdout) out += chunk;
    expect(out).toMatch(/\nbase-context: stdin cannot be read: EBADF.*\n1\n$/);
  });

  test("with nothing in it is status 0, and only the header", async () => {
    const bench = await createBench([]);
    const result = await script(bench, []);
    expect(result.status).toBe(0);
    expect(result.lines.map(({ type }) => type)).toEqual(["session"]);
  });

  test.each([
    [["--mode", "rpc", "hi"], "leave out the messages"],
    [["--mode", "rpc", "--no-stdin"], "--no-stdin cannot be used"],
    [["--mode", "rpc", "--json-deltas"], "--json-deltas needs --mode json"],
    [["--mode", "acp", "--continue"], "--continue cannot be used"],
  ])("%j is refused", async (args, words) => {
    const bench = await createBench([]);
    const result = await bench.run(args, { stdin: "" });
    expect(result.status).toBe(2);
    expect(result.stdout).toBe("");
    expect(result.stderr).toContain(words);
  });
});

describe("a program", () => {
  test("steers a prompt between its calls, and follows it up", async () => {
    const { client, server, workspace } = await connect([
      chatReply({ calls: [{ name: "bash", args: { command: "while [ ! -e go ]; do sleep 0.02; done" } }] }),
      chatReply({ text: "One." }),
      chatReply({ text: "Two." }),
    ]);
    await client.ask({ type: "prompt", message: "hi" });
    await client.line(({ type }) => type === "tool_execution_start");
    expect(await client.ask({ type: "steer", message: "this way" })).toEqual({ queued: true });
    expect(await client.ask({ type: "prompt", message: "later", streamingBehavior: "followUp" })).toEqual({
      queued: true,
    });
    expect(await client.ask({ type: "get_state" })).toMatchObject({
      isStreaming: true,
      pendingMessageCount: 2,
      actions: { queuedCount: 2, steering: ["this way"], followUps: ["later"] },
    });
    workspace.file("go", "");
    await client.line(({ type }) => type === "agent_end");
    const { status } = await client.end();
    expect(status).toBe(0);
    expect(server.json(1).messages.at(-1)).toMatchObject({ role: "user", content: "this way" });
    expect(server.json(2).messages.at(-1)).toMatchObject({ role: "user", content: "later" });
    expect(checkStream(client.lines.filter(({ type }) => type !== "response"))).toEqual([]);
  });

  test("aborts a prompt and what is queued; the session goes on", async () => {
    const { client, server } = await connect([hanging, chatReply({ text: "Again." })]);
    await client.ask({ type: "prompt", message: "hi" });
    await client.line(({ assistantMessageEvent }) => assistantMessageEvent?.delta === "Hel");
    await client.ask({ type: "follow_up", message: "more" });
    expect(await client.ask({ type: "abort" })).toEqual({ aborted: true, dropped: ["more"] });
    const end = client.lines.find(({ type }) => type === "agent_end");
    expect(end?.messages.at(-1)).toMatchObject({ stopReason: "aborted" });
    expect(await client.ask({ type: "abort" })).toEqual({ aborted: false, dropped: [] });
    await client.ask({ type: "prompt", message: "again" });
    const { status } = await client.end();
    expect(status).toBe(0);
    expect(server.requests).toHaveLength(2);
  });

  test("is told to wait for a compaction, which nothing can be queued behind", async () => {
    const { client } = await connect([chatReply({ text: "Done." }), hanging]);
    await client.ask({ type: "prompt", message: "hi" });
    await client.line(({ type }) => type === "agent_end");
    const compacted = expect(client.ask({ type: "compact" })).rejects.toThrow("aborted");
    await client.line(({ type }) => type === "compaction_start");
    await expect(client.ask({ type: "prompt", message: "more" })).rejects.toThrow(
      /^a compaction is running; send abort first, or wait for its end$/,
    );
    await client.ask({ type: "abort" });
    await compacted;
  });

  test("switches retries off and aborts a wait", async () => {
    const failing = { status: 503, body: "{}", type: "application/json" };
    const { client } = await connect([failing]);
    await client.ask({ type: "set_auto_retry", enabled: false });
    await client.ask({ type: "prompt", message: "hi" });
    await client.line(({ type }) => type === "agent_end");
    expect(client.lines.some(({ type }) => type === "auto_retry_start")).toBe(false);
    await client.ask({ type: "set_auto_retry", enabled: true });
    expect(await client.ask({ type: "get_state" })).toMatchObject({ autoRetryEnabled: true });
    await client.ask({ type: "prompt", message: "hi" });
    await client.line(({ type }) => type === "auto_retry_start");
    expect(await client.ask({ type: "abort_retry" })).toEqual({ aborted: true });
    await client.line(({ type, success }) => type === "auto_retry_end" && success === false);
    expect(await client.ask({ type: "abort_retry" })).toEqual({ aborted: false });
    expect((await client.end()).status).toBe(1);
  });

  test("lists no attempt that was tried again, but the last one when none worked", async () => {
    const failing = { status: 503, body: "{}", type: "application/json", headers: { "retry-after": "0" } };
    const { client } = await connect([failing, chatReply({ text: "Here." }), { ...failing, status: 401 }]);
    const rolesAfterPrompt = async () => {
      const before = client.lines.length;
      await client.ask({ type: "prompt", message: "hi" });
      await client.line((line) => line.type === "agent_end" && client.lines.indexOf(line) >= before);
      const { messages } = await client.ask({ type: "get_messages" });
      return messages.map(({ role, stopReason }: Line) => stopReason ?? role);
    };
    expect(await rolesAfterPrompt()).toEqual(["user", "stop"]);
    expect(await rolesAfterPrompt()).toEqual(["user", "stop", "user", "error"]);
    expect(await client.ask({ type: "get_state" })).toMatchObject({ messageCount: 4 });
  });

  test("runs commands of the user's, which the model sees with the next request", async () => {
    const { client, server } = await connect([chatReply({ text: "I see." })]);
    expect(await client.ask({ type: "bash", command: "echo out; exit 3" })).toEqual({
      output: "out\n",
      exitCode: 3,
      cancelled: false,
      truncated: false,
    });
    await client.ask({ type: "bash", command: "echo hidden", excludeFromContext: true });
    const sleeping = client.ask({ type: "bash", command: "sleep 60" });
    expect(await client.ask({ type: "get_state" })).toMatchObject({ isBashRunning: true });
    await expect(client.ask({ type: "bash", command: "true" })).rejects.toThrow(/shell command is running/);
    expect(await client.ask({ type: "abort_bash" })).toEqual({ aborted: true });
    expect(await sleeping).toMatchObject({ cancelled: true });
    const { messages } = await client.ask({ type: "get_messages" });
    expect(messages.map(({ role, command }: Line) => [role, command])).toEqual([
      ["bashExecution", "echo out; exit 3"],
      ["bashExecution", "sleep 60"],
    ]);
    expect(await client.ask({ type: "get_state" })).toMatchObject({ messageCount: 2 });
    expect(await client.ask({ type: "get_session_stats" })).toMatchObject({ totalMessages: 2 });
    await client.ask({ type: "prompt", message: "look" });
    expect((await client.end()).status).toBe(0);
    const text = JSON.stringify(server.json(0).messages);
    expect(text).toContain("echo out; exit 3");
    expect(text).not.toContain("hidden");
  });

  test("opens new sessions, forks and goes back, each with its header", async () => {
    const { client, server } = await connect([chatReply({ text: "Done." })]);
    const [first] = client.lines;
    await client.ask({ type: "set_session_name", name: "one" });
    await client.ask({ type: "prompt", message: "hi" });
    await client.line(({ type }) => type === "agent_end");
    expect(await client.ask({ type: "get_session_stats" })).toMatchObject({
      sessionId: first?.id,
      userMessages: 1,
      assistantMessages: 1,
      totalMessages: 2,
      requests: 1,
      tokens: { input: 10, output: 5, total: 15 },
    });
    const fork = await client.ask({ type: "fork" });
    const fresh = await client.ask({ type: "new_session" });
    const back = await client.ask({ type: "switch_session", sessionPath: first?.id });
    expect(back).toMatchObject({ sessionId: first?.id, sessionName: "one" });
    await expect(client.ask({ type: "switch_session", sessionPath: first?.id })).rejects.toThrow(/is open/);
    await expect(client.ask({ type: "switch_session", sessionPath: "00000000" })).rejects.toThrow(
      /no session/,
    );
    await expect(client.ask({ type: "fork", entryId: "nope" })).rejects.toThrow(/no entry/);
    const headers = client.lines.filter(({ type }) => type === "session");
    expect(headers.map(({ id }) => id)).toEqual([first?.id, fork.sessionId, fresh.sessionId, first?.id]);
    expect(headers[1]).toMatchObject({ parentSession: first?.id });
    await client.ask({ type: "prompt", message: "and now" });
    expect((await client.end()).status).toBe(0);
    expect(server.json(1).messages.map(({ role }: Line) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "user",
    ]);
  });

  test("counts what all sessions used, also against a limit and in the summary", async () => {
    const cost = { input: 0, output: 1000, cacheRead: 0, cacheWrite: 0 };
    const setup = { model: { cost } };
    const { client, server, workspace } = await connect([chatReply({ text: "Done." })], setup, [
      ...["--max-cost", "0.008", "--summary", "sum.json"],
    ]);
    for (const message of ["one", "two", "three"]) {
      await client.ask({ type: "prompt", message });
      while ((await client.ask({ type: "get_state" })).isStreaming);
      await client.ask({ type: "new_session" });
    }
    expect(await client.ask({ type: "get_session_stats" })).toMatchObject({ requests: 2, cost: 0.01 });
    expect((await client.end()).status).toBe(4);
    expect(server.requests).toHaveLength(2);
    const summary = JSON.parse(readFileSync(join(workspace.cwd, "sum.json"), "utf8"));
    expect(summary).toMatchObject({ turns: 2, limit: "cost", usage: { total: { output: 10 } } });
  });

  test("forks from an entry in the middle", async () => {
    const { client, server } = await connect([chatReply({ text: "Done." })]);
    for (const message of ["one", "two"]) {
      await client.ask({ type: "prompt", message });
      await client.line(({ type, messages }) => type === "agent_end" && messages[0].content === message);
    }
    const { sessionFile } = await client.ask({ type: "get_state" });
    const entries = readFileSync(sessionFile, "utf8")
      .trim()
      .split("\n")
      .map((line): Line => JSON.parse(line));
    const answer = entries.find(({ message }) => message?.role === "assistant");
    await client.ask({ type: "fork", entryId: answer?.id });
    await client.ask({ type: "prompt", message: "three" });
    expect((await client.end()).status).toBe(0);
    const said = server.json(2).messages.filter(({ role }: Line) => role === "user");
    expect(said.map(({ content }: Line) => content)).toEqual(["one", "three"]);
  });

  test("chooses model and level, and runs session commands", async () => {
    const { client } = await connect([chatReply({ text: "Done." })], {
      provider: { models: [{ id: "m" }, { id: "thinker", reasoning: true }] },
    });
    expect(await client.ask({ type: "set_thinking_level", level: "high" })).toEqual({ level: "off" });
    expect(await client.ask({ type: "set_model", provider: "fake", modelId: "thinker" })).toMatchObject({
      provider: "fake",
      id: "thinker",
      reasoning: true,
    });
    expect(await client.ask({ type: "set_thinking_level", level: "high" })).toEqual({ level: "high" });
    await expect(client.ask({ type: "set_model", modelId: "nope" })).rejects.toThrow(/nope/);
    expect(await client.ask({ type: "prompt", message: "/session" })).toMatchObject({
      sessionCommand: "session",
      output: expect.stringContaining("model: fake/thinker"),
    });
    expect(await client.ask({ type: "prompt", message: "/name other" })).toEqual({
      queued: false,
      sessionCommand: "name",
    });
    await expect(client.ask({ type: "prompt", message: "/nope" })).rejects.toThrow(
      /no command \/nope.* or has a space in front$/,
    );
    await expect(client.ask({ type: "compact" })).rejects.toThrow(/nothing to compact/);
    const { commands } = await client.ask({ type: "get_commands" });
    expect(commands).toContainEqual({ name: "compact", source: "session" });
    expect((await client.end()).status).toBe(1);
  });

  const refusal = { status: 401, body: "{}", type: "application/json" };
  test.each<[string, Script, string[], number]>([
    ["that failed", refusal, [], 1],
    ["whose gate passed", chatReply({ text: "Done." }), ["--autonomous-gate", "true"], 0],
  ])("ends with the status of a prompt %s, also behind a new session", async (_, reply, args, status) => {
    const { client } = await connect([reply], {}, args);
    await client.ask({ type: "prompt", message: "hi" });
    await client.line(({ type }) => type === "agent_end");
    await client.ask({ type: "new_session" });
    expect((await client.end()).status).toBe(status);
  });

  test("is told of a session command that failed also when another one comes right behind it", async () => {
    const bench = await createBench([]);
    const result = await script(bench, [
      { type: "prompt", message: "/nope", id: 1 },
      { type: "prompt", message: "/session", id: 2 },
    ]);
    expect(responses(result).find(({ id }) => id === 1)).toMatchObject({
      success: false,
      error: expect.stringContaining("no command /nope"),
    });
  });

  test("takes a message literally that has a space in front of its slash", async () => {
    const { client, server } = await connect([chatReply({ text: "A path." })]);
    expect(await client.ask({ type: "prompt", message: " /nope" })).toEqual({ queued: false });
    expect((await client.end()).status).toBe(0);
    expect(server.json(0).messages.at(-1).content).toBe(" /nope");
  });

  test("compacts on demand", async () => {
    const { client } = await connect([
      chatReply({ text: "Done. ".repeat(400) }),
      chatReply({ text: "The gist." }),
    ]);
    await client.ask({ type: "prompt", message: "hi" });
    await client.line(({ type }) => type === "agent_end");
    await client.ask({ type: "set_auto_compaction", enabled: false });
    expect(await client.ask({ type: "compact", customInstructions: "short" })).toMatchObject({
      summary: expect.stringContaining("The gist."),
      tokensBefore: expect.any(Number),
    });
    expect(client.lines.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["compaction_start", "compaction_end"]),
    );
    expect((await client.end()).status).toBe(0);
  });

  test("steers when nothing runs, which starts a prompt", async () => {
    const { client } = await connect([chatReply({ text: "Done." })]);
    expect(await client.ask({ type: "steer", message: "hi" })).toEqual({ queued: false });
    await client.line(({ type }) => type === "agent_end");
    await expect(
      client.ask({ type: "prompt", message: "/name", streamingBehavior: "steer" }),
    ).rejects.toThrow(/needs a name/);
    expect((await client.end()).status).toBe(1);
  });

  test("runs a command while a prompt runs, which is kept behind the results of the turn", async () => {
    const { client, server, workspace } = await connect([
      chatReply({ calls: [{ name: "bash", args: { command: "while [ ! -e go ]; do sleep 0.02; done" } }] }),
      chatReply({ text: "Done." }),
    ]);
    await client.ask({ type: "prompt", message: "hi" });
    await client.line(({ type }) => type === "tool_execution_start");
    await expect(
      client.ask({ type: "prompt", message: "/name x", streamingBehavior: "steer" }),
    ).rejects.toThrow(/session command/);
    await client.ask({ type: "bash", command: "echo mine" });
    workspace.file("go", "");
    await client.line(({ type }) => type === "agent_end");
    const { messages } = await client.ask({ type: "get_messages" });
    expect(messages.map(({ role }: Line) => role)).toEqual([
      "user",
      "assistant",
      "toolResult",
      "bashExecution",
      "assistant",
    ]);
    expect((await client.end()).status).toBe(0);
    expect(JSON.stringify(server.json(1).messages.at(-1))).toContain("mine");
  });

  test("runs a command while the next attempt waits; the one that failed is still forgotten", async () => {
    const cut = { body: 'data: {"choices":[{"index":0,"delta":{"content":"Half"}}]}\n\n' };
    const { client, server } = await connect([cut, chatReply({ text: "Whole." })]);
    await client.ask({ type: "prompt", message: "hi" });
    await client.line(({ type }) => type === "auto_retry_start");
    await client.ask({ type: "bash", command: "echo meanwhile" });
    await client.line(({ type }) => type === "agent_end");
    const said = server.json(1).messages.slice(1);
    expect(said.map(({ role }: Line) => role)).toEqual(["user", "user"]);
    const { messages } = await client.ask({ type: "get_messages" });
    expect(messages.map(({ role, stopReason }: Line) => stopReason ?? role)).toEqual([
      "user",
      "bashExecution",
      "stop",
    ]);
  });

  test("steers a prompt whose next attempt waits; what failed is forgotten", async () => {
    const cut = { body: 'data: {"choices":[{"index":0,"delta":{"content":"Half"}}]}\n\n' };
    const { client, server } = await connect([
      cut,
      chatReply({ text: "Whole." }),
      chatReply({ text: "More." }),
    ]);
    await client.ask({ type: "prompt", message: "hi" });
    await client.line(({ type }) => type === "auto_retry_start");
    await client.ask({ type: "steer", message: "shortly" });
    const { messages } = await client.line(({ type }) => type === "agent_end");
    expect(messages.map(({ role, stopReason }: Line) => stopReason ?? role)).toEqual([
      "user",
      "user",
      "stop",
    ]);
    await client.ask({ type: "prompt", message: "more" });
    expect((await client.end()).status).toBe(0);
    const said = (request: number) => server.json(request).messages.slice(1);
    expect(said(1).map(({ content }: Line) => content)).toEqual(["hi", "shortly"]);
    expect(said(2).map(({ content }: Line) => content)).toEqual(["hi", "shortly", "Whole.", "more"]);
    expect(checkStream(client.lines.filter(({ type }) => type !== "response"))).toEqual([]);
  });

  test("forks a session that is not kept", async () => {
    const { client, server } = await connect([chatReply({ text: "Done." })], {}, ["--no-session"]);
    await client.ask({ type: "prompt", message: "hi" });
    await client.line(({ type }) => type === "agent_end");
    const fork = await client.ask({ type: "fork" });
    expect(fork).not.toHaveProperty("sessionFile");
    expect(client.lines.findLast(({ type }) => type === "session")).toMatchObject({
      id: fork.sessionId,
      parentSession: client.lines[0]?.id,
    });
    await client.ask({ type: "prompt", message: "on" });
    expect((await client.end()).status).toBe(0);
    expect(server.json(1).messages.filter(({ role }: Line) => role === "user")).toHaveLength(2);
  });

  test.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)("that sends %s ends the prompt in order", async (signal, status) => {
    const { client } = await connect([hanging]);
    await client.ask({ type: "prompt", message: "hi" });
    await client.line(({ assistantMessageEvent }) => assistantMessageEvent?.delta === "Hel");
    client.child.kill(signal);
    expect((await client.exit).status).toBe(status);
    expect(client.lines.at(-1)).toMatchObject({ type: "agent_end" });
  });

  test("that sends SIGTERM while nothing runs gets 143", async () => {
    const { client } = await connect([]);
    await client.ask({ type: "get_state" });
    client.child.kill("SIGTERM");
    expect((await client.exit).status).toBe(143);
  });

  test("that sends a line without end gets an error for it, in bounded memory", {
    timeout: 60_000,
  }, async () => {
    const { client, server } = await connect([chatReply({ text: "Done." })]);
    const { child } = client;
    const chunk = Buffer.alloc(1024 * 1024, "x");
    child.stdin.write('{"type":"prompt","message":"');
    for (let written = 0; written < 400; written++)
      if (!child.stdin.write(chunk)) await new Promise((resolve) => child.stdin.once("drain", resolve));
    child.stdin.write('"}\n');
    const refused = await client.line(({ type }) => type === "response");
    expect(refused).toMatchObject({
      command: "parse",
      success: false,
      error: expect.stringContaining("64 MB"),
    });
    if (process.platform === "linux") {
      const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [];
      expect(Number(kilobytes) / 1024).toBeLessThan(350);
    }
    await client.ask({ type: "prompt", message: "short" });
    expect((await client.end()).status).toBe(0);
    expect(server.json(0).messages.at(-1).content).toBe("short");
  });

  test("that stops reading gets 141", async () => {
    const { client } = await connect([chatReply({ text: "x".repeat(1_000_000) })]);
    await client.ask({ type: "get_state" });
    client.child.stdout?.destroy();
    client.child.stdin?.write('{"type":"prompt","message":"hi"}\n');
    const { status, stderr } = await client.exit;
    expect(status).toBe(141);
    expect(stderr).toBe("");
  });
});

function script(bench: Bench, commands: readonly object[]): Promise<RunResult> {
  const stdin = commands.map((command) => `${JSON.stringify(command)}\n`).join("");
  return bench.run(["--mode", "rpc"], { stdin, unchecked: true });
}

function responses({ lines }: RunResult): Line[] {
  return lines.filter(({ type }) => type === "response");
}

function events({ lines }: RunResult): Line[] {
  return lines.filter(({ type }) => type !== "response");
}

/** A program that talks to the built one, with a scripted provider behind it. */
async function connect(
  replies: readonly Script[],
  setup: Parameters<typeof createBench>[1] = {},
  args: readonly string[] = [],
) {
  const { server, workspace } = await createBench(replies, setup);
  const child = spawn(process.execPath, [cliPath, "--mode", "rpc", "--model", "fake/m", ...args], {
    cwd: workspace.cwd,
    env: { PATH: process.env.PATH, HOME: workspace.home, BASE_CONTEXT_HOME: workspace.home },
    stdio: ["pipe", "pipe", "pipe"],
  });
  children.push(child);
  const lines: Line[] = [];
  const waiting = new Set<() => void>();
  let rest = "";
  let stderr = "";
  let lastId = 0;
  child.stdin.on("error", () => {});
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    const whole = (rest + chunk).split("\n");
    rest = whole.pop() ?? "";
    lines.push(...whole.map((line): Line => JSON.parse(line)));
    for (const look of waiting) look();
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  const exit = new Promise<{ status: number | null; stderr: string }>((resolve) => {
    child.on("close", (status) => resolve({ status, stderr }));
  });

  function line(isWanted: (line: Line) => boolean): Promise<Line> {
    return new Promise((resolve) => {
      const look = () => {
        const found = lines.find(isWanted);
        if (found === undefined) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  }

  const client = {
    child,
    exit,
    lines,
    line,
    async ask(command: object): Promise<Line> {
      const id = ++lastId;
      child.stdin.write(`${JSON.stringify({ ...command, id })}\n`);
      const response = await line((each) => each.type === "response" && each.id === id);
      if (response.success !== true) throw new Error(response.error);
      return response.data;
    },
    end() {
      child.stdin.end();
      return exit;
    },
  };
  await line(({ type }) => type === "session");
  return { client, server, workspace };
}
