import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import type { Line } from "../support/run-cli.ts";
import { createBench } from "../support/with-provider.ts";

const answer = chatReply({ text: ["Hel", "lo"] });

test("text mode prints the answer and a newline, and nothing else", async () => {
  const { run } = await createBench([answer]);
  expect(await run(["hi"])).toMatchObject({ status: 0, stdout: "Hello\n", stderr: "" });
});

test("a run with two tool calls tells every event in the order of the contract", async () => {
  const { run, workspace } = await createBench([
    chatReply({
      thinking: "look",
      text: "Looking.",
      calls: [
        { id: "a", name: "ls", args: { path: "." } },
        { id: "b", name: "read", args: { path: "x.txt" } },
      ],
    }),
    answer,
  ]);
  workspace.file("x.txt", "content of x\n");
  const { status, lines, stderr } = await run(["--mode", "json", "What is here?"]);
  expect(stderr).toBe("");
  expect(status).toBe(0);
  expect(lines.map(shape).filter((name) => name !== "session_action_update")).toEqual([
    "session",
    "agent_start",
    "turn_start",
    "message_start user",
    "message_end user",
    "message_start assistant",
    "message_update thinking_start",
    "message_update thinking_delta",
    "message_update thinking_end",
    "message_update text_start",
    "message_update text_delta",
    "message_update text_end",
    "message_update toolcall_start",
    "message_update toolcall_delta",
    "message_update toolcall_delta",
    "message_update toolcall_start",
    "message_update toolcall_delta",
    "message_update toolcall_delta",
    "message_update toolcall_end",
    "message_update toolcall_end",
    "message_end assistant",
    "tool_execution_start ls",
    "tool_execution_start read",
    "tool_execution_end",
    "tool_execution_end",
    "message_start toolResult",
    "message_end toolResult",
    "message_start toolResult",
    "message_end toolResult",
    "turn_end",
    "turn_start",
    "message_start assistant",
    "message_update text_start",
    "message_update text_delta",
    "message_update text_delta",
    "message_update text_end",
    "message_end assistant",
    "turn_end",
    "agent_end",
  ]);
  const results = lines.filter(
    ({ type, message }) => type === "message_end" && message.role === "toolResult",
  );
  expect(results.map(({ message }) => [message.toolCallId, message.isError])).toEqual([
    ["a", false],
    ["b", false],
  ]);
  expect(results[1]?.message.content[0].text).toContain("content of x");
  expect(lines.at(-1)?.messages.map(({ role }: Line) => role)).toEqual([
    "user",
    "assistant",
    "toolResult",
    "toolResult",
    "assistant",
  ]);
});

test("the second request holds the calls and their results", async () => {
  const { run, server, workspace } = await createBench([
    chatReply({ calls: [{ id: "a", name: "read", args: { path: "x.txt" } }] }),
    answer,
  ]);
  workspace.file("x.txt", "content of x\n");
  await run(["hi"]);
  const first = server.json(0);
  const second = server.json(1);
  expect(first).toMatchObject({
    model: "m",
    stream: true,
    messages: [{ role: "system" }, { role: "user", content: "hi" }],
  });
  expect(second.messages).toMatchObject([
    { role: "system" },
    { role: "user", content: "hi" },
    {
      role: "assistant",
      tool_calls: [{ id: "a", function: { name: "read", arguments: '{"path":"x.txt"}' } }],
    },
    { role: "tool", tool_call_id: "a" },
  ]);
});

test("the session file holds what was announced, and only its owner can read it", async () => {
  const { run, workspace } = await createBench([answer]);
  const { lines } = await run(["--mode", "json", "hi"]);
  const folder = join(workspace.home, "sessions");
  const [file = ""] = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
  const saved = readFileSync(join(folder, file), "utf8")
    .trimEnd()
    .split("\n")
    .map((line): Line => JSON.parse(line));
  expect(saved[0]).toEqual(lines[0]);
  expect(file).toBe(`${lines[0]?.id}.jsonl`);
  const announced = lines.filter(({ type }) => type === "message_end").map(({ message }) => message);
  expect(saved.filter(({ type }) => type === "message").map(({ message }) => message)).toEqual(announced);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
});

test("a resumed session remembers what was said, by id, by prefix, by path and as the latest", async () => {
  const { run, server, workspace } = await createBench([answer]);
  const { lines } = await run(["--mode", "json", "first"]);
  const id: string = lines[0]?.id;
  const ways = [
    ["-c"],
    ["--resume", id],
    ["-r", id.slice(0, 8)],
    ["-r", join(workspace.home, "sessions", `${id}.jsonl`)],
  ];
  for (const [index, way] of ways.entries()) {
    const resumed = await run(["--mode", "json", ...way, `again ${index}`]);
    expect(resumed).toMatchObject({ status: 0, stderr: "" });
    expect(resumed.lines[0]?.id).toBe(id);
  }
  const messages: Line[] = server.json(-1).messages;
  expect(messages.filter(({ role }) => role === "user").map(({ content }) => content)).toEqual([
    "first",
    "again 0",
    "again 1",
    "again 2",
    "again 3",
  ]);
});

test("further messages are prompts of their own in the same session", async () => {
  const { run, server } = await createBench([chatReply({ text: "one" }), chatReply({ text: "two" })]);
  const { status, lines } = await run(["--mode", "json", "first", "second"]);
  expect(status).toBe(0);
  expect(lines.filter(({ type }) => type === "agent_end")).toHaveLength(2);
  expect(server.json(1).messages.map(({ role }: Line) => role)).toEqual([
    "system",
    "user",
    "assistant",
    "user",
  ]);
});

test("several text prompts print the last answer only", async () => {
  const { run } = await createBench([chatReply({ text: "one" }), chatReply({ text: "two" })]);
  expect(await run(["first", "second"])).toMatchObject({ status: 0, stdout: "two\n" });
});

test("stdin, files and the message make the first prompt, in this order", async () => {
  const { run, server, workspace } = await createBench([answer]);
  workspace.file("notes.md", "from the file\n");
  await run(["@notes.md", "the question"], { stdin: "from stdin\n" });
  const { content } = server.json(0).messages[1];
  const at = ["from stdin", "from the file", "the question"].map((part) => String(content).indexOf(part));
  expect(at.every((place) => place >= 0)).toBe(true);
  expect(at).toEqual([...at].sort((a, b) => a - b));
});

function shape({ type, message, assistantMessageEvent, toolName }: Line): string {
  if (type === "message_update") return `${type} ${assistantMessageEvent.type}`;
  if (type === "message_start" || type === "message_end") return `${type} ${message.role}`;
  return type === "tool_execution_start" ? `${type} ${toolName}` : type;
}
