import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { createRpcClient } from "../../../src/runs/rpc/client.ts";

const action = { type: "session_action_update", actions: { queuedCount: 0, steering: [], followUps: [] } };

test("responses find their commands, in whatever order they come", async () => {
  const { client, sent, say } = connect();
  const first = client.send({ type: "abort_bash" });
  const second = client.send({ type: "set_thinking_level", level: "high" });
  expect(await sent(2)).toEqual([
    { type: "abort_bash", id: 1 },
    { type: "set_thinking_level", level: "high", id: 2 },
  ]);
  say({ type: "response", command: "set_thinking_level", id: 2, success: true, data: { level: "high" } });
  say({ type: "response", command: "parse", success: false, error: "nobody asked" });
  say({ type: "response", command: "abort_bash", id: 1, success: false, error: "no" });
  expect(await second).toEqual({ level: "high" });
  await expect(first).rejects.toMatchObject({ kind: "refused", command: "abort_bash", message: "no" });
});

test("events go to everybody who asked for them before they came", async () => {
  const { client, say, hangUp } = connect();
  const [one, other] = [client.events(), client.events()];
  say(action);
  expect(await one.next()).toEqual({ value: action, done: false });
  await one.return?.();
  say({ type: "agent_start" });
  hangUp();
  await client.closed;
  expect(await all(other)).toEqual([action, { type: "agent_start" }]);
  expect(await all(one)).toEqual([]);
  expect(await all(client.events())).toEqual([]);
});

test("a prompt ends with its own agent_end, not with one that was on its way", async () => {
  const { client, sent, say } = connect();
  const prompt = client.prompt("hi");
  await sent(1);
  const messages = [{ role: "user", content: "hi", timestamp: 0 }];
  say({ type: "agent_end", messages: [] });
  say({ type: "response", command: "prompt", id: 1, success: true, data: { queued: false } });
  say({ type: "agent_end", messages });
  expect(await prompt).toEqual(messages);
});

test.each([
  ["no JSON", "hi\n"],
  ["an unknown type", '{"type":"x"}\n'],
])("%s ends the conversation as an error", async (_, text) => {
  const { client, input } = connect();
  const waiting = client.send({ type: "get_state" });
  const events = client.events();
  input.write(text);
  await expect(waiting).rejects.toMatchObject({ kind: "protocol", command: "get_state" });
  await expect(events.next()).rejects.toMatchObject({ kind: "protocol" });
});

test("a connection that breaks rejects what waits, and all that follows", async () => {
  const { client, input } = connect();
  const waiting = client.send({ type: "get_state" });
  input.destroy(new Error("cable"));
  await expect(waiting).rejects.toMatchObject({ kind: "closed", message: "the connection broke: cable" });
  await expect(client.prompt("hi")).rejects.toMatchObject({ kind: "closed", command: "prompt" });
});

test("on a control socket events are those of --json-deltas", async () => {
  const input = new PassThrough();
  const client = createRpcClient(join(input, new PassThrough()), { deltas: true });
  const events = client.events();
  const update = {
    type: "message_update",
    messageId: 1,
    assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta: "a" },
  };
  input.write(`${JSON.stringify(update)}\n`);
  expect(await events.next()).toEqual({ value: update, done: false });
});

function connect() {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const lines: unknown[] = [];
  const client = createRpcClient(join(input, output));
  return {
    client,
    input,
    say: (line: object) => input.write(`${JSON.stringify(line)}\n`),
    hangUp: () => input.end(),
    async sent(count: number) {
      for await (const chunk of output) {
        lines.push(
          ...String(chunk)
            .trim()
            .split("\n")
            .map((line) => JSON.parse(line)),
        );
        if (lines.length >= count) break;
      }
      return lines;
    },
  };
}

function join(input: PassThrough, output: PassThrough) {
  return {
    [Symbol.asyncIterator]: () => input[Symbol.asyncIterator](),
    write: (text: string) => output.write(text),
    end: () => output.end(),
  };
}

async function all<T>(lines: AsyncIterable<T>): Promise<T[]> {
  const taken: T[] = [];
  for await (const line of lines) taken.push(line);
  return taken;
}
