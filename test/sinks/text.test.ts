import { expect, test } from "vitest";
import type { AgentSessionEvent } from "../../src/contract/events.ts";
import type { RunOutcome } from "../../src/contract/outcome.ts";
import { createStderr } from "../../src/sinks/stderr.ts";
import { createTextSink } from "../../src/sinks/text.ts";
import { createMemoryWriter } from "../support/memory-writer.ts";
import { emitSampleRun, sampleMessage } from "../support/sample-run.ts";

const outcome: RunOutcome = { terminal: { stopReason: "stop" }, failures: [], finalText: "done" };

/** One screen for both streams, as a terminal has it; `columns` makes stderr one. */
function make({ isTerminal, columns }: { isTerminal: boolean; columns?: number }) {
  const writer = createMemoryWriter();
  const stderr = createStderr({
    writer: columns === undefined ? createMemoryWriter() : writer,
    verbose: false,
    ...(columns === undefined ? {} : { columns: () => columns }),
  });
  const sink = createTextSink({ writer, isTerminal, stderr, now: () => 0 });
  return { writer, sink };
}

const endings: readonly [string, Partial<RunOutcome>, string][] = [
  ["an answer gets its newline", {}, "done\n"],
  ["an answer that ends in a newline gets no other", { finalText: "a\n\nb\n" }, "a\n\nb\n"],
  ["no answer is nothing at all", { finalText: "" }, ""],
  ["an answer that reached its limit is told", { terminal: { stopReason: "length" } }, "done\n"],
  ["what an error cut off is no answer", { terminal: { stopReason: "error", errorMessage: "x" } }, ""],
  ["what an abort cut off is no answer", { terminal: { stopReason: "aborted" } }, ""],
  ["an answer that no gate passed is told", { gateNotPassed: "npm test" }, "done\n"],
  ["bytes stay as they are", { finalText: "\u001b[1mbold\u001b[0m\r\n" }, "\u001b[1mbold\u001b[0m\r\n"],
];

test.each(endings)("in a pipe %s", async (_, changes, expected) => {
  const { writer, sink } = make({ isTerminal: false });
  emitSampleRun(sink);
  await sink.close({ ...outcome, ...changes });
  expect(writer.text()).toBe(expected);
});

test("on a terminal every answer is shown as it comes, and not again", async () => {
  const { writer, sink } = make({ isTerminal: true });
  emitSampleRun({ header: sink.header, emit: (event) => sink.emit(event) });
  await sink.close({ ...outcome, terminal: { stopReason: "aborted" }, finalText: "" });
  expect(writer.text()).toBe("par\nHello 😀\ndone\n");
});

function events(...deltas: string[]): AgentSessionEvent[] {
  const message = sampleMessage([{ type: "text", text: deltas.join("") }]);
  return [
    { type: "message_start", message },
    ...deltas.map(
      (delta): AgentSessionEvent => ({
        type: "message_update",
        message,
        assistantMessageEvent: { type: "text_delta", contentIndex: 0, delta, partial: message },
      }),
    ),
    { type: "message_end", message },
  ];
}

test.each([
  ["that came in pieces", ["do", "ne"]],
  ["that came without deltas", []],
])("on a terminal an answer %s is shown once", async (_, deltas) => {
  const { writer, sink } = make({ isTerminal: true });
  for (const event of deltas.length > 0
    ? events(...deltas)
    : events("done").filter(({ type }) => type !== "message_update"))
    sink.emit(event);
  await sink.close(outcome);
  expect(writer.text()).toBe("done\n");
});

test("on a terminal an answer that a message of the program's own follows is shown once", async () => {
  const { writer, sink } = make({ isTerminal: true });
  const message = { role: "custom", customType: "note", content: "x", display: true, timestamp: 1 } as const;
  for (const event of events("done")) sink.emit(event);
  sink.emit({ type: "message_start", message });
  sink.emit({ type: "message_end", message });
  await sink.close(outcome);
  expect(writer.text()).toBe("done\n");
});

test("on a terminal an answer that no message held is shown in the end", async () => {
  const { writer, sink } = make({ isTerminal: true });
  for (const event of events("first")) sink.emit(event);
  await sink.close({ ...outcome, finalText: "second" });
  expect(writer.text()).toBe("first\nsecond\n");
});

test("on a terminal escape sequences are not shown, also when they come in pieces", async () => {
  const { writer, sink } = make({ isTerminal: true });
  for (const event of events("do\u001b", "[31", "mne")) sink.emit(event);
  await sink.close({ ...outcome, finalText: "do\u001b[31mne" });
  expect(writer.text()).toBe("done\n");
});

test("progress is one line that makes way for the answer", async () => {
  const { writer, sink } = make({ isTerminal: true, columns: 80 });
  const erase = "\r\u001b[2K";
  const [start, delta, end] = events("done");
  if (start === undefined || delta === undefined || end === undefined) throw new Error("no events");
  sink.emit({ type: "turn_start" });
  sink.emit({ type: "tool_execution_start", toolCallId: "c", toolName: "bash", args: {} });
  sink.emit({
    type: "tool_execution_end",
    toolCallId: "c",
    toolName: "bash",
    result: { content: [] },
    isError: false,
  });
  sink.emit(delta);
  const message = sampleMessage([{ type: "text", text: "done" }]);
  Object.assign(message.usage, { totalTokens: 3400, cost: { ...message.usage.cost, total: 0.0123 } });
  sink.emit({ type: "message_end", message });
  await sink.close(outcome);
  expect(writer.text()).toBe(
    [
      "waiting for the model · 0s",
      erase,
      "bash · 0s",
      erase,
      "waiting for the model · 0s",
      erase,
      "done",
      "\n",
      "waiting for the model · 0s · 3.4k tokens · $0.012",
      erase,
    ].join(""),
  );
});
