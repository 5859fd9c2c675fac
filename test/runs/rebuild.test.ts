import fc from "fast-check";
import { expect, test } from "vitest";
import type { AssistantUpdateEvent } from "../../src/contract/events.ts";
import type { AssistantContent, AssistantMessage } from "../../src/contract/messages.ts";
import type { Sink } from "../../src/contract/sink.ts";
import { createRebuilder } from "../../src/runs/rebuild.ts";
import { createDeltaSink } from "../../src/sinks/deltas.ts";
import { createJsonSink } from "../../src/sinks/json.ts";
import { checkStream } from "../support/grammar.ts";
import { createMemoryWriter } from "../support/memory-writer.ts";
import { emitSampleRun, sampleMessage } from "../support/sample-run.ts";

/** The lines of the delta stream, and those of the plain one. */
function streams(tell: (sink: Pick<Sink, "emit" | "header">) => void): { deltas: string[]; plain: string[] } {
  const [deltas, plain] = [createMemoryWriter(), createMemoryWriter()];
  tell(createDeltaSink({ writer: deltas }));
  tell(createJsonSink({ writer: plain }));
  return { deltas: deltas.lines(), plain: plain.lines() };
}

function rebuilt(deltas: readonly string[]): string[] {
  const writer = createMemoryWriter();
  const sink = createJsonSink({ writer });
  const rebuild = createRebuilder();
  for (const delta of deltas) {
    const line = rebuild(JSON.parse(delta));
    if (line?.type === "session") sink.header(line);
    else if (line !== undefined) sink.emit(line);
  }
  return writer.lines();
}

const text = fc.string({ unit: "grapheme", maxLength: 6 });
const block = fc.record({
  kind: fc.constantFrom("text", "thinking", "toolCall"),
  deltas: fc.array(text, { maxLength: 4 }),
});

test("the plain lines of any message come back byte for byte, but for what only its end tells", () => {
  fc.assert(
    fc.property(fc.array(block, { maxLength: 4 }), (blocks) => {
      const { deltas, plain } = streams((sink) => {
        const message = sampleMessage();
        sink.emit({ type: "message_start", message });
        for (const { kind, deltas } of blocks) stream(sink, message, { kind, deltas });
        sink.emit({ type: "message_end", message });
      });
      expect(rebuilt(deltas)).toEqual(plain);
    }),
  );
});

test("all other lines of a whole run come back as they are", () => {
  const { deltas, plain } = streams(emitSampleRun);
  const lines = rebuilt(deltas);
  const isUpdate = (line: string) => line.startsWith('{"type":"message_update"');
  expect(lines.map(isUpdate)).toEqual(plain.map(isUpdate));
  expect(lines.filter((line) => !isUpdate(line))).toEqual(plain.filter((line) => !isUpdate(line)));
  expect(checkStream(lines.map((line) => JSON.parse(line)))).toEqual([]);
});

test("updates whose message nobody saw begin are left out", () => {
  const { deltas } = streams(emitSampleRun);
  const first = deltas.findIndex((line) => line.startsWith('{"type":"message_update"'));
  const cut = deltas.slice(first);
  const end = cut.findIndex((line) => line.startsWith('{"type":"message_end"'));
  expect(rebuilt(cut)[0]).toBe(rebuilt(deltas)[first + end]);
});

function stream(
  { emit }: Pick<Sink, "emit">,
  message: AssistantMessage,
  { kind, deltas }: { kind: string; deltas: readonly string[] },
): void {
  const step = (assistantMessageEvent: AssistantUpdateEvent) =>
    emit({ type: "message_update", message, assistantMessageEvent });
  const block: AssistantContent =
    kind === "text"
      ? { type: "text", text: "" }
      : kind === "thinking"
        ? { type: "thinking", thinking: "" }
        : { type: "toolCall", id: "call_1", name: "ls", arguments: {} };
  const at = { contentIndex: message.content.push(block) - 1, partial: message };
  if (block.type === "toolCall") {
    step({ type: "toolcall_start", ...at });
    for (const delta of deltas) step({ type: "toolcall_delta", delta, ...at });
    block.arguments = { path: deltas.join("") };
    step({ type: "toolcall_end", toolCall: block, ...at });
  } else if (block.type === "text") {
    step({ type: "text_start", ...at });
    for (const delta of deltas) {
      block.text += delta;
      step({ type: "text_delta", delta, ...at });
    }
    step({ type: "text_end", content: block.text, ...at });
  } else {
    step({ type: "thinking_start", ...at });
    for (const delta of deltas) {
      block.thinking += delta;
      step({ type: "thinking_delta", delta, ...at });
    }
    step({ type: "thinking_end", content: block.thinking, ...at });
  }
}
