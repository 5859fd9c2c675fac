import { pathToFileURL } from "node:url";
import { afterEach, expect, test } from "vitest";
// The types are those of the package; what runs is its built entry.
import type * as BaseContext from "../../src/index.ts";
import { chatReply } from "../support/chat-wire.ts";
import type { Script } from "../support/provider-server.ts";
import { cliPath } from "../support/run-cli.ts";
import { createBench } from "../support/with-provider.ts";

const entry: string = new URL("index.mjs", pathToFileURL(cliPath)).href;
const { RpcError, spawnRpcClient }: typeof BaseContext = await import(entry);
const hanging = {
  body: 'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n',
  end: "hang",
} as const;
const open: BaseContext.SpawnedRpcClient[] = [];

afterEach(() => {
  for (const client of open.splice(0)) client.kill("SIGKILL");
});

test("a program runs prompts one after the other and gets what each added", async () => {
  const client = await spawn([
    chatReply({ calls: [{ name: "ls", args: {} }] }),
    chatReply({ text: "One." }),
    chatReply({ text: "Two." }),
  ]);
  const types: string[] = [];
  const following = follow(client, ({ type }) => types.push(type));
  const first = await client.prompt("hi");
  const second = await client.prompt("again");
  expect(first.map(({ role }) => role)).toEqual(["user", "assistant", "toolResult", "assistant"]);
  expect(second.map(textOf)).toEqual(["again", "Two."]);
  expect(await client.prompt("/session")).toEqual([]);
  const state = await client.send({ type: "get_state" });
  expect(state.messageCount).toBe(6);
  client.end();
  expect(await client.exited).toEqual({ status: 0, signal: null });
  await following;
  expect(types.filter((type) => type === "agent_end")).toHaveLength(2);
  expect(types[0]).toBe("session");
});

test("a program that breaks off a prompt goes on with the next", async () => {
  const client = await spawn([hanging, chatReply({ text: "Again." })]);
  const events = client.events();
  const prompt = client.prompt("hi");
  for await (const line of events)
    if (line.type === "message_update" && line.assistantMessageEvent.type === "text_delta") break;
  const { aborted } = await client.send({ type: "abort" });
  expect(aborted).toBe(true);
  expect((await prompt).at(-1)).toMatchObject({ role: "assistant", stopReason: "aborted" });
  expect((await client.prompt("again")).map(textOf)).toEqual(["again", "Again."]);
  client.end();
  expect(await client.exited).toEqual({ status: 0, signal: null });
});

test("a command that is refused rejects with the program's words", async () => {
  const client = await spawn([]);
  const refused = client.send({ type: "switch_session", sessionPath: "00000000" });
  await expect(refused).rejects.toBeInstanceOf(RpcError);
  await expect(refused).rejects.toMatchObject({
    kind: "refused",
    command: "switch_session",
    message: expect.stringContaining("no session"),
  });
});

test("a program that is killed rejects what waits, and ends the events", async () => {
  const client = await spawn([hanging]);
  const prompt = client.prompt("hi");
  const following = follow(client, ({ type }) => {
    if (type === "message_update") client.kill("SIGKILL");
  });
  await expect(prompt).rejects.toMatchObject({ kind: "closed", command: "prompt" });
  await following;
  await client.closed;
  expect(await client.exited).toEqual({ status: null, signal: "SIGKILL" });
  await expect(client.send({ type: "get_state" })).rejects.toMatchObject({ kind: "closed" });
});

test("a program that does not start tells so by its end and its status", async () => {
  const client = await spawn([], ["--thinking", "deep"]);
  await expect(client.send({ type: "get_state" })).rejects.toMatchObject({ kind: "closed" });
  expect(await client.exited).toEqual({ status: 2, signal: null });
});

async function spawn(script: readonly Script[], args: readonly string[] = []) {
  const { workspace } = await createBench(script);
  const client = await spawnRpcClient({
    args: ["--model", "fake/m", ...args],
    cwd: workspace.cwd,
    env: { PATH: process.env.PATH, HOME: workspace.home, BASE_CONTEXT_HOME: workspace.home },
    stderr: "ignore",
  });
  open.push(client);
  return client;
}

async function follow(
  client: BaseContext.RpcClient,
  take: (line: BaseContext.StreamLine) => void,
): Promise<void> {
  for await (const line of client.events()) take(line);
}

function textOf(message: BaseContext.AgentMessage): string {
  if (!("content" in message)) return "";
  if (typeof message.content === "string") return message.content;
  return message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
