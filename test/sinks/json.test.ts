import fc from "fast-check";
import { expect, test } from "vitest";
import { createAccumulator } from "../../src/agent/accumulate.ts";
import type { AgentSessionEvent, AssistantUpdateEvent } from "../../src/contract/events.ts";
import type { AgentMessage, AssistantMessage } from "../../src/contract/messages.ts";
import type { Model, ProviderEvent } from "../../src/contract/provider.ts";
import { redactValue } from "../../src/contract/redact.ts";
import { createRedactor, isSecret } from "../../src/providers/redact.ts";
import { createRedaction } from "../../src/redaction.ts";
import { createJsonSink } from "../../src/sinks/json.ts";
import { toJsonText } from "../../src/sinks/json-text.ts";
import { checkStream } from "../support/grammar.ts";
import { createMemoryWriter } from "../support/memory-writer.ts";
import { emitSampleRun, sampleHeader, sampleMessage } from "../support/sample-run.ts";

const model: Model = {
  id: "m",
  name: "M",
  provider: "local",
  api: "openai-completions",
  baseUrl: "http://127.0.0.1:1/v1",
  reasoning: true,
  input: ["text"],
  contextWindow: 128_000,
  maxTokens: 16_384,
  headers: {},
  compat: {},
};

const text = fc
  .array(
    fc.oneof(
      fc.string({ unit: "binary", maxLength: 6 }),
      fc.constantFrom("\ud83d", "\ude00", "😀", "\u2028", "\u2029", "\0", '"', "\\", "\\ud83d", "é", "\r\n"),
    ),
    { maxLength: 5 },
  )
  .map((parts) => parts.join(""));

type Step = Exclude<ProviderEvent, { type: "end" }>;

/** The steps of one block, which a reply mixes with those of others. */
const block = fc.oneof(
  fc.record({ kind: fc.constant("text" as const), deltas: fc.array(text), signature: fc.option(text) }),
  fc.record({ kind: fc.constant("thinking" as const), deltas: fc.array(text), signature: fc.option(text) }),
  fc.record({
    kind: fc.constant("toolcall" as const),
    deltas: fc
      .jsonValue({ maxDepth: 6 })
      .map((value) => JSON.stringify({ value, half: "\ud800" }).match(/.{1,7}/gsu) ?? []),
    signature: fc.option(text),
  }),
);

const reply = fc
  .record({
    blocks: fc.array(block, { maxLength: 5 }),
    order: fc.infiniteStream(fc.nat()),
    cutAfter: fc.option(fc.nat({ max: 30 })),
  })
  .map(({ blocks, order, cutAfter }) => {
    const queues = blocks.map(toSteps);
    const steps: Step[] = [{ type: "meta", responseId: "r1" }];
    let started = 0;
    // Blocks start in order; from then on they take turns.
    for (const pick of order) {
      const open = queues.slice(0, started + 1).filter((queue) => queue.length > 0);
      const queue = open[pick % Math.max(1, open.length)];
      const step = queue?.shift();
      if (step === undefined) break;
      if (step.type.endsWith("_start")) started++;
      steps.push(step);
      if (pick % 5 === 0)
        steps.push({ type: "usage", tokens: { input: pick, output: 1, cacheRead: 0, cacheWrite: 0 } });
      if (pick % 7 === 0) steps.push({ type: "meta", responseModel: `m-${pick}` });
    }
    return cutAfter === null ? steps : steps.slice(0, cutAfter);
  });

type Block = { kind: "text" | "thinking" | "toolcall"; deltas: readonly string[]; signature: string | null };

function toSteps({ kind, deltas, signature }: Block, index: number): Step[] {
  const start: Step =
    kind === "toolcall"
      ? { type: "toolcall_start", index, id: `c${index}`, name: "ls" }
      : { type: `${kind}_start`, index };
  return [
    start,
    ...deltas.map((delta): Step => ({ type: `${kind}_delta`, index, delta })),
    { type: `${kind}_end`, index, ...(signature === null ? {} : { signature }) },
  ];
}

/** Plays a reply into a sink, and gives what each line has to be. */
function play(steps: readonly Step[], emit: (event: AgentSessionEvent) => void): string[] {
  const expected: string[] = [];
  const tell = (event: AgentSessionEvent) => {
    expected.push(naive(event));
    emit(event);
  };
  const accumulator = createAccumulator({
    model,
    timestamp: 1,
    uniqueCallId: (id) => id,
    secrets: [],
    emit(event) {
      if (event.type === "start") tell({ type: "message_start", message: event.partial });
      else if (event.type === "done") tell({ type: "message_end", message: event.message });
      else if (event.type === "error") tell({ type: "message_end", message: event.error });
      else tell({ type: "message_update", message: event.partial, assistantMessageEvent: event });
    },
  });
  for (const step of steps) accumulator.push(step);
  accumulator.finish({ stopReason: "aborted", errorMessage: "cut" });
  return expected;
}

/** A line as one call of the serialiser makes it. */
function naive(event: AgentSessionEvent): string {
  if (event.type !== "message_update") return toJsonText(event);
  const { message, assistantMessageEvent } = event;
  const { type, contentIndex, partial, ...step } = assistantMessageEvent;
  return toJsonText({
    type: event.type,
    message,
    assistantMessageEvent: { type, contentIndex, ...step, partial },
  });
}

test("every line of every reply is what serialising the whole event gives", () => {
  fc.assert(
    fc.property(reply, (steps) => {
      const writer = createMemoryWriter();
      const sink = createJsonSink({ writer });
      expect(play(steps, sink.emit)).toEqual(writer.lines());
    }),
    { numRuns: 500 },
  );
});

test("a whole run follows the schema and the grammar", () => {
  const writer = createMemoryWriter();
  emitSampleRun(createJsonSink({ writer }));
  expect(checkStream(writer.lines().map((line) => JSON.parse(line)))).toEqual([]);
});

function update(message: AssistantMessage, event: AssistantUpdateEvent): AgentSessionEvent {
  return { type: "message_update", message, assistantMessageEvent: event };
}

type Live = { message: AssistantMessage; emit: (event: AgentSessionEvent) => void };

const surprises: readonly [string, (live: Live) => void][] = [
  [
    "its start was not seen",
    ({ message, emit }) => {
      message.content.push({ type: "text", text: "a" });
      emit(update(message, { type: "text_delta", contentIndex: 0, delta: "a", partial: message }));
    },
  ],
  [
    "its text grows by more than the delta",
    ({ message, emit }) => {
      emit({ type: "message_start", message });
      message.content.push({ type: "text", text: "abc" });
      emit(update(message, { type: "text_delta", contentIndex: 0, delta: "c", partial: message }));
      message.content[0] = { type: "text", text: "x" };
      emit(update(message, { type: "text_delta", contentIndex: 0, delta: "y", partial: message }));
    },
  ],
  [
    "a delta begins with the second half of a pair",
    ({ message, emit }) => {
      const block = { type: "text" as const, text: "\ud83d" };
      message.content.push(block);
      emit({ type: "message_start", message });
      block.text += "\ude00";
      emit(update(message, { type: "text_delta", contentIndex: 0, delta: "\ude00", partial: message }));
    },
  ],
  [
    "blocks go away",
    ({ message, emit }) => {
      message.content.push({ type: "text", text: "a" }, { type: "text", text: "b" });
      emit({ type: "message_start", message });
      message.content.shift();
      emit(update(message, { type: "text_end", contentIndex: 0, content: "b", partial: message }));
    },
  ],
  [
    "the keys of a block have another order",
    ({ message, emit }) => {
      const block = { text: "a", type: "text" as const };
      message.content.push(block);
      emit({ type: "message_start", message });
      block.text += "b";
      emit(update(message, { type: "text_delta", contentIndex: 0, delta: "b", partial: message }));
      block.text += "c";
      emit(update(message, { type: "text_delta", contentIndex: 0, delta: "c", partial: message }));
    },
  ],
  [
    "another block changes than the event says",
    ({ message, emit }) => {
      const text = { type: "text" as const, text: "a" };
      const thinking = { type: "thinking" as const, thinking: "b" };
      message.content.push(text, thinking);
      emit({ type: "message_start", message });
      text.text += "!";
      Object.assign(thinking, { thinkingSignature: "s", redacted: true });
      emit(update(message, { type: "text_end", contentIndex: 0, content: "a!", partial: message }));
    },
  ],
  [
    "a call's arguments change in place",
    ({ message, emit }) => {
      const call = { type: "toolCall" as const, id: "c", name: "ls", arguments: {} };
      message.content.push(call);
      emit({ type: "message_start", message });
      Object.assign(call.arguments, { path: "." });
      emit(update(message, { type: "toolcall_end", contentIndex: 0, toolCall: call, partial: message }));
    },
  ],
];

test.each(surprises)("a line is right also when %s", (_, play) => {
  const writer = createMemoryWriter();
  const sink = createJsonSink({ writer });
  const expected: string[] = [];
  const message = sampleMessage();
  const emit = (event: AgentSessionEvent) => {
    expected.push(naive(event));
    sink.emit(event);
  };
  play({ message, emit });
  expect(writer.lines()).toEqual(expected);
});

test("credentials are taken out of every string, and the line stays JSON", () => {
  const secret = 'k"\n1-long';
  const writer = createMemoryWriter();
  const sink = createJsonSink({ writer, redact: createRedactor([secret]) });
  sink.header({ ...sampleHeader, cwd: `/${secret}` });
  sink.emit({
    type: "tool_execution_start",
    toolCallId: "c",
    toolName: "ls",
    args: { path: `x${secret}`, list: [secret, 1, null], [secret]: true },
  });
  sink.emit({ type: "turn_start" });
  expect(writer.lines().map((line) => JSON.parse(line))).toEqual([
    { ...sampleHeader, cwd: "/[redacted]" },
    {
      type: "tool_execution_start",
      toolCallId: "c",
      toolName: "ls",
      args: { path: "x[redacted]", list: ["[redacted]", 1, null], "[redacted]": true },
    },
    { type: "turn_start" },
  ]);
});

test("a credential is found in a line wherever it would be found in its strings", () => {
  // Half a character can be sent in no header, and the other half may stand beside it.
  const secret = fc
    .oneof(text, fc.string({ minLength: 6 }))
    .filter((known) => isSecret(known) && known.isWellFormed());
  /** As it is, as JSON once, twice and three times, in a URL, in base64. */
  const forms = (known: string) => {
    const once = JSON.stringify(known);
    return [known, once, JSON.stringify(once), encodeURIComponent(known.toWellFormed()), btoaOf(known)];
  };
  fc.assert(
    fc.property(secret, fc.nat({ max: 4 }), text, text, (known, form, before, after) => {
      const redact = createRedactor([known]);
      const said = `${before}${forms(known)[form]}${after}`;
      const message: AgentMessage = { role: "user", content: said, timestamp: 0 };
      const events: AgentSessionEvent[] = [
        { type: "message_start", message },
        { type: "tool_execution_start", toolCallId: said, toolName: "ls", args: { [said]: [said] } },
        { type: "turn_end", message: sampleMessage(), toolResults: [] },
        { type: "agent_end", messages: [message] },
      ];
      const writer = createMemoryWriter();
      const sink = createJsonSink({ writer, redact });
      for (const event of events) sink.emit(event);
      expect(writer.lines()).toEqual(events.map((event) => toJsonText(redactValue(event, redact))));
    }),
  );
});

test("a credential that becomes known within a turn is in no later line of it", () => {
  const redaction = createRedaction();
  const writer = createMemoryWriter();
  const sink = createJsonSink({ writer, redact: redaction.redact });
  const message = sampleMessage();
  message.content.push({ type: "text", text: "it is key-of-another" });
  sink.emit({ type: "message_end", message });
  redaction.add(["key-of-another"]);
  sink.emit({ type: "turn_end", message, toolResults: [] });
  expect(writer.lines()[1]).toContain("it is [redacted]");
});

function btoaOf(known: string): string {
  return Buffer.from(known).toString("base64");
}

test("a compaction that failed has no result on the wire", () => {
  const writer = createMemoryWriter();
  createJsonSink({ writer }).emit({
    type: "compaction_end",
    reason: "manual",
    result: undefined,
    aborted: true,
    willRetry: false,
  });
  expect(writer.text()).toBe(
    '{"type":"compaction_end","reason":"manual","aborted":true,"willRetry":false}\n',
  );
});
