import { expect, test } from "vitest";
import { createDeltaSink } from "../../src/sinks/deltas.ts";
import { createJsonSink } from "../../src/sinks/json.ts";
import { checkStream } from "../support/grammar.ts";
import { createMemoryWriter } from "../support/memory-writer.ts";
import { emitSampleRun, sampleMessage } from "../support/sample-run.ts";

function sample(create: typeof createDeltaSink): string[] {
  const writer = createMemoryWriter();
  emitSampleRun(create({ writer }));
  return writer.lines();
}

test("a whole run follows the schema and the grammar", () => {
  expect(
    checkStream(
      sample(createDeltaSink).map((line) => JSON.parse(line)),
      { deltas: true },
    ),
  ).toEqual([]);
});

test("lines that are not of a growing message are those of the plain stream, byte for byte", () => {
  const deltas = sample(createDeltaSink);
  const plain = sample(createJsonSink);
  const changed = /^{"type":"message_(start|update|end)"/;
  expect(deltas.filter((line) => !changed.test(line))).toEqual(plain.filter((line) => !changed.test(line)));
  expect(
    deltas.map((line) => line.replace(/^({"type":"message_(?:start|end)"),"messageId":\d+/, "$1")),
  ).toEqual(plain.map((line, at) => (line.startsWith('{"type":"message_update"') ? deltas[at] : line)));
});

test("updates carry only what is new", () => {
  const updates = sample(createDeltaSink).filter((line) =>
    line.startsWith('{"type":"message_update","messageId":2'),
  );
  const step = (event: object) =>
    JSON.stringify({ type: "message_update", messageId: 2, assistantMessageEvent: event });
  expect(updates.slice(0, 11)).toEqual([
    step({ type: "thinking_start", contentIndex: 0 }),
    step({ type: "thinking_delta", contentIndex: 0, delta: "hm" }),
    step({ type: "thinking_delta", contentIndex: 0, delta: "m" }),
    step({ type: "thinking_end", contentIndex: 0, content: "hmm" }),
    step({ type: "text_start", contentIndex: 1 }),
    step({ type: "text_delta", contentIndex: 1, delta: "He" }),
    step({ type: "text_delta", contentIndex: 1, delta: "llo 😀" }),
    step({ type: "text_end", contentIndex: 1, content: "Hello 😀" }),
    step({ type: "toolcall_start", contentIndex: 2, toolCall: { id: "call_a", name: "ls" } }),
    step({ type: "toolcall_delta", contentIndex: 2, delta: '{"path":' }),
    step({ type: "toolcall_delta", contentIndex: 2, delta: '"a"}' }),
  ]);
  expect(updates[11]).toBe(
    step({
      type: "toolcall_end",
      contentIndex: 2,
      toolCall: { type: "toolCall", id: "call_a", name: "ls", arguments: { path: "a" } },
    }),
  );
});

test("messages without updates are counted too, and only the assistant's", () => {
  const writer = createMemoryWriter();
  const { emit } = createDeltaSink({ writer });
  const user = { role: "user" as const, content: "hi", timestamp: 1 };
  for (const message of [user, sampleMessage(), user, sampleMessage()]) {
    emit({ type: "message_start", message });
    emit({ type: "message_end", message });
  }
  expect(writer.lines().map((line) => JSON.parse(line).messageId)).toEqual([
    undefined,
    undefined,
    1,
    1,
    undefined,
    undefined,
    2,
    2,
  ]);
});
