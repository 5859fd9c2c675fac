import { expect, test } from "vitest";
import { createDeltaSink } from "../../src/sinks/deltas.ts";
import { createJsonSink } from "../../src/sinks/json.ts";
import { checkStream } from "./grammar.ts";
import { createMemoryWriter } from "./memory-writer.ts";
import { emitSampleRun } from "./sample-run.ts";

// biome-ignore lint/suspicious/noExplicitAny: lines are broken on purpose here
type Line = Record<string, any>;

function sample(deltas: boolean): Line[] {
  const writer = createMemoryWriter();
  emitSampleRun(deltas ? createDeltaSink({ writer }) : createJsonSink({ writer }));
  return writer.lines().map((line): Line => JSON.parse(line));
}

/** The first line of a type that a further test holds for. */
function find(lines: readonly Line[], type: string, where: (line: Line) => boolean = () => true): Line {
  const found = lines.find((line) => line.type === type && where(line));
  if (found === undefined) throw new Error(`the sample has no such ${type}`);
  return found;
}

function remove(lines: Line[], type: string, where?: (line: Line) => boolean): void {
  lines.splice(lines.indexOf(find(lines, type, where)), 1);
}

function duplicate(lines: Line[], type: string, where?: (line: Line) => boolean): void {
  const line = find(lines, type, where);
  lines.splice(lines.indexOf(line), 0, structuredClone(line));
}

/** Moves a line to right before another. */
function move(lines: Line[], line: Line, before: Line): void {
  lines.splice(lines.indexOf(line), 1);
  lines.splice(lines.indexOf(before), 0, line);
}

const isStep = (type: string) => (line: Line) => line.assistantMessageEvent?.type === type;
const hasRole = (role: string) => (line: Line) => line.message?.role === role;
const ofCall = (id: string) => (line: Line) => line.toolCallId === id || line.message?.toolCallId === id;

test.each([false, true])("a whole stream breaks no rule (deltas: %s)", (deltas) => {
  expect(checkStream(sample(deltas), { deltas })).toEqual([]);
});

test("a start that was refused has no lines", () => {
  expect(checkStream([])).toEqual([]);
});

test.each([false, true])(
  "a stream may stop after any line only when its reader went away (deltas: %s)",
  (deltas) => {
    const lines = sample(deltas);
    const betweenPrompts = lines.findIndex(({ type }) => type === "agent_end") + 1;
    for (let length = 2; length < lines.length; length++) {
      const prefix = lines.slice(0, length);
      expect(checkStream(prefix, { deltas, cut: true })).toEqual([]);
      if (length !== betweenPrompts) expect(checkStream(prefix, { deltas })).not.toEqual([]);
    }
  },
);

test("the two kinds of stream are not taken for each other", () => {
  expect(checkStream(sample(true))).not.toEqual([]);
  expect(checkStream(sample(false), { deltas: true })).not.toEqual([]);
});

const breaks: readonly [string, (lines: Line[]) => void, RegExp][] = [
  ["a line that is no event", (l) => l.push({ type: "log" }), /not of the schema/],
  [
    "a field too many",
    (l) => Object.assign(find(l, "turn_start"), { extra: 1 }),
    /not of the schema.*extra/s,
  ],
  ["a field too few", (l) => delete find(l, "agent_end").messages, /not of the schema/],
  ["no header", (l) => l.shift(), /header is line 1/],
  ["a second header", (l) => duplicate(l, "session"), /header is line 1/],
  ["no first action", (l) => remove(l, "session_action_update"), /agent_start is not followed/],
  ["no agent_start", (l) => remove(l, "agent_start"), /outside of an agent run/],
  ["agent_start twice", (l) => duplicate(l, "agent_start"), /agent_start within an agent run/],
  ["no agent_end", (l) => l.pop(), /ends within an agent run/],
  ["agent_end twice", (l) => duplicate(l, "agent_end"), /agent_end outside/],
  ["no turn_start", (l) => remove(l, "turn_start"), /outside of a turn/],
  ["turn_start twice", (l) => duplicate(l, "turn_start"), /turn_start within a turn/],
  ["no turn_end", (l) => remove(l, "turn_end"), /within a turn/],
  ["no message_start", (l) => remove(l, "message_start", hasRole("assistant")), /outside of a message/],
  ["no message_end", (l) => remove(l, "message_end", hasRole("assistant")), /within a message/],
  [
    "no end of a user message",
    (l) => remove(l, "message_end", hasRole("user")),
    /message_start within a message/,
  ],
  [
    "a message that changed",
    (l) => (find(l, "message_end", hasRole("user")).message.content = "x"),
    /differs from its/,
  ],
  ["no text_start", (l) => remove(l, "message_update", isStep("text_start")), /did not start/],
  [
    "no text_delta",
    (l) => remove(l, "message_update", ({ assistantMessageEvent }) => assistantMessageEvent.delta === "He"),
    /deltas add up to/,
  ],
  ["no text_end", (l) => remove(l, "message_update", isStep("text_end")), /has no end/],
  ["text_end twice", (l) => duplicate(l, "message_update", isStep("text_end")), /has ended/],
  ["no toolcall_delta", (l) => remove(l, "message_update", isStep("toolcall_delta")), /arguments of call_a/],
  [
    "a delta of another kind",
    (l) => (find(l, "message_update", isStep("thinking_delta")).assistantMessageEvent.type = "text_delta"),
    /which is thinking/,
  ],
  [
    "a contentIndex out of turn",
    (l) => (find(l, "message_update", isStep("text_start")).assistantMessageEvent.contentIndex = 7),
    /out of turn/,
  ],
  [
    "a final text that the deltas are not",
    (l) => (find(l, "message_end", hasRole("assistant")).message.content[0].text = "x"),
    /block 0 of the message is not what its deltas/,
  ],
  [
    "another model in the end",
    (l) => (find(l, "message_end", hasRole("assistant")).message.model = "x"),
    /model changed/,
  ],
  [
    "an error that does not say why",
    (l) =>
      delete find(l, "message_end", ({ message }) => message.stopReason === "error").message.errorMessage,
    /does not say why/,
  ],
  ["no tool_execution_start", (l) => remove(l, "tool_execution_start"), /without its start/],
  ["tool_execution_start twice", (l) => duplicate(l, "tool_execution_start"), /run twice/],
  [
    "starts out of order",
    (l) =>
      move(
        l,
        find(l, "tool_execution_start", ofCall("call_b")),
        find(l, "tool_execution_start", ofCall("call_a")),
      ),
    /starts after call_b/,
  ],
  ["no tool_execution_end", (l) => remove(l, "tool_execution_end"), /comes before its tool_execution_end/],
  ["an execution of no call", (l) => (find(l, "tool_execution_start").toolCallId = "x"), /did not call/],
  [
    "an execution of another tool",
    (l) => (find(l, "tool_execution_start").toolName = "x"),
    /names another tool/,
  ],
  ["other arguments", (l) => (find(l, "tool_execution_start").args = {}), /other arguments/],
  [
    "an execution after a result",
    (l) =>
      move(l, find(l, "tool_execution_start", ofCall("call_b")), find(l, "message_end", ofCall("call_b"))),
    /within a message|after a toolResult/,
  ],
  [
    "no result of a call",
    (l) => {
      remove(l, "message_start", ofCall("call_b"));
      remove(l, "message_end", ofCall("call_b"));
    },
    /2 calls have 1 toolResults/,
  ],
  [
    "results out of order",
    (l) => {
      const first = find(l, "message_start", ofCall("call_a"));
      move(l, find(l, "message_start", ofCall("call_b")), first);
      move(l, find(l, "message_end", ofCall("call_b")), first);
    },
    /not the next in call order/,
  ],
  [
    "a result unlike its execution",
    (l) => (find(l, "tool_execution_end").isError = true),
    /differs from its tool_exec/,
  ],
  ["a turn_end with another message", (l) => (find(l, "turn_end").message.model = "x"), /turn_end.message/],
  [
    "a turn_end without its results",
    (l) => find(l, "turn_end", (line) => line.toolResults.length > 0).toolResults.pop(),
    /turn_end.toolResults/,
  ],
  [
    "a failed attempt that counts",
    (l) => find(l, "agent_end").messages.splice(1, 0, find(l, "turn_end").message),
    /that counted/,
  ],
  ["messages missing at the end", (l) => find(l, "agent_end").messages.pop(), /that counted/],
  [
    "a call id used twice",
    (l) => {
      const cut = JSON.stringify(l).replaceAll("call_c", "call_a");
      l.splice(0, l.length, ...JSON.parse(cut));
    },
    /call_a is used twice/,
  ],
  ["no compaction_start", (l) => remove(l, "compaction_start"), /without compaction_start/],
  ["no compaction_end", (l) => remove(l, "compaction_end"), /within a compaction/],
  [
    "a compaction in a turn",
    (l) => move(l, find(l, "compaction_start"), find(l, "turn_end")),
    /within a turn/,
  ],
  ["another compaction reason", (l) => (find(l, "compaction_end").reason = "manual"), /another reason/],
  ["a compaction without result", (l) => delete find(l, "compaction_end").result, /exactly when/],
  ["no auto_retry_start", (l) => remove(l, "auto_retry_start"), /without auto_retry_start/],
  ["no auto_retry_end", (l) => remove(l, "auto_retry_end"), /within a retry series/],
  ["a wrong attempt", (l) => (find(l, "auto_retry_start").attempt = 2), /out of turn/],
  ["a failed series without its error", (l) => (find(l, "auto_retry_end").success = false), /finalError/],
  ["the same action twice", (l) => duplicate(l, "session_action_update"), /the same twice/],
  ["a wrong count", (l) => (find(l, "session_action_update").actions.queuedCount = 2), /what is queued/],
  [
    "something active at the end",
    (l) => ((l.at(-2) as Line).actions.active = { kind: "turn", phase: "running" }),
    /without active/,
  ],
];

const plainOnly: readonly [string, (lines: Line[]) => void, RegExp][] = [
  [
    "a partial unlike its message",
    (l) => (find(l, "message_update").assistantMessageEvent.partial.model = "x"),
    /partial differs/,
  ],
  [
    "a message that runs ahead",
    (l) => {
      const line = find(l, "message_update", isStep("text_delta"));
      line.message.content[0].text += "!";
      line.assistantMessageEvent.partial.content[0].text += "!";
    },
    /block 0 of message is not what its deltas/,
  ],
];

const deltasOnly: readonly [string, (lines: Line[]) => void, RegExp][] = [
  ["a wrong messageId", (l) => (find(l, "message_update").messageId = 5), /messageId is 5, not 1/],
  [
    "a messageId that does not count",
    (l) => (l.filter(hasRole("assistant"))[3] as Line).messageId++,
    /messageId is/,
  ],
];

test.each([...breaks, ...plainOnly])("%s is found in a plain stream", (_, breakIt, expected) => {
  const lines = sample(false);
  breakIt(lines);
  expect(checkStream(lines).join("\n")).toMatch(expected);
});

test.each([...breaks, ...deltasOnly])("%s is found in a delta stream", (_, breakIt, expected) => {
  const lines = sample(true);
  breakIt(lines);
  expect(checkStream(lines, { deltas: true }).join("\n")).toMatch(expected);
});
