import { expect, test } from "vitest";
import type { AgentSessionEvent } from "../../../src/contract/events.ts";
import { type AssistantMessage, type ToolCall, zeroUsage } from "../../../src/contract/messages.ts";
import { describeCall } from "../../../src/runs/acp/tool-call.ts";
import { createUpdateMaker, replayUpdates } from "../../../src/runs/acp/updates.ts";

const call: ToolCall = { type: "toolCall", id: "c1", name: "bash", arguments: { command: "ls\npwd" } };
const message: AssistantMessage = {
  role: "assistant",
  content: [{ type: "text", text: "I look." }, call],
  api: "openai-completions",
  provider: "p",
  model: "m",
  usage: zeroUsage(),
  stopReason: "toolUse",
  timestamp: 0,
};
const shown = {
  title: "ls …",
  kind: "execute",
  locations: [],
  content: [],
  rawInput: { command: "ls\npwd" },
};
const output = { content: [{ type: "text" as const, text: "a.txt" }] };
const told = [{ type: "content", content: { type: "text", text: "a.txt" } }];
const starts: AgentSessionEvent = {
  type: "message_update",
  message,
  assistantMessageEvent: { type: "toolcall_start", contentIndex: 1, partial: message },
};

test("a call is told from its first word to its result", () => {
  const toUpdates = createUpdateMaker("/w");
  const about = { toolCallId: "c1", toolName: "bash" };
  const events: AgentSessionEvent[] = [
    starts,
    {
      type: "message_update",
      message,
      assistantMessageEvent: { type: "toolcall_end", contentIndex: 1, toolCall: call, partial: message },
    },
    { type: "message_end", message },
    { type: "tool_execution_start", ...about, args: call.arguments },
    { type: "tool_execution_update", ...about, args: call.arguments, partialResult: output },
    { type: "tool_execution_end", ...about, result: output, isError: false },
    {
      type: "message_end",
      message: { role: "toolResult", ...about, ...output, isError: false, timestamp: 0 },
    },
  ];
  const update = { sessionUpdate: "tool_call_update", toolCallId: "c1" };
  expect(events.flatMap(toUpdates)).toEqual([
    { sessionUpdate: "tool_call", toolCallId: "c1", title: "bash", kind: "execute", status: "pending" },
    { ...update, ...shown },
    { ...update, status: "in_progress" },
    { ...update, content: told },
    { ...update, status: "completed", content: told, rawOutput: output },
  ]);
});

test("a call of a message that was cut, and one that was not run, have failed", () => {
  const cut = createUpdateMaker("/w");
  cut(starts);
  expect(cut({ type: "message_end", message: { ...message, stopReason: "aborted" } })).toEqual([
    { sessionUpdate: "tool_call_update", toolCallId: "c1", status: "failed" },
  ]);
  const refused = createUpdateMaker("/w");
  refused(starts);
  const result = {
    role: "toolResult",
    toolCallId: "c1",
    toolName: "bash",
    ...output,
    isError: true,
  } as const;
  expect(refused({ type: "message_end", message: { ...result, timestamp: 0 } })).toEqual([
    {
      sessionUpdate: "tool_call_update",
      toolCallId: "c1",
      status: "failed",
      content: told,
      rawOutput: output,
    },
  ]);
});

test("an earlier conversation is told with its calls and what came of them", () => {
  const updates = replayUpdates(
    [
      { role: "user", content: "What is here?", timestamp: 0 },
      { ...message, content: [{ type: "thinking", thinking: "Hm." }, ...message.content] },
      { role: "toolResult", toolCallId: "c1", toolName: "bash", ...output, isError: false, timestamp: 0 },
      { ...message, content: [{ ...call, id: "c2" }], stopReason: "aborted" },
      { role: "custom", customType: "x", content: "for the model alone", display: false, timestamp: 0 },
    ],
    "/w",
  );
  expect(updates).toEqual([
    { sessionUpdate: "user_message_chunk", content: { type: "text", text: "What is here?" } },
    { sessionUpdate: "agent_thought_chunk", content: { type: "text", text: "Hm." } },
    { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "I look." } },
    { sessionUpdate: "tool_call", toolCallId: "c1", ...shown, status: "pending" },
    {
      sessionUpdate: "tool_call_update",
      toolCallId: "c1",
      status: "completed",
      content: told,
      rawOutput: output,
    },
    { sessionUpdate: "tool_call", toolCallId: "c2", ...shown, status: "pending" },
    { sessionUpdate: "tool_call_update", toolCallId: "c2", status: "failed" },
  ]);
});

test.each([
  ["read", { path: "a", offset: 3 }, "Read a", "read", [{ path: "/w/a", line: 3 }], []],
  ["grep", { pattern: "x" }, "Search for x", "search", [], []],
  [
    "write",
    { path: "/b", content: "new" },
    "Write /b",
    "edit",
    [{ path: "/b" }],
    [{ type: "diff", path: "/b", oldText: null, newText: "new" }],
  ],
  [
    "edit",
    { path: "a", oldText: "1", newText: "2" },
    "Edit a",
    "edit",
    [{ path: "/w/a" }],
    [{ type: "diff", path: "/w/a", oldText: "1", newText: "2" }],
  ],
  ["edit", { edits: "no" }, "edit", "edit", [], []],
  ["unheard_of", { path: 1 }, "unheard_of", "other", [], []],
])("%s %j is shown as %s", (name, args, title, kind, locations, content) => {
  expect(describeCall({ name, arguments: args }, "/w")).toEqual({
    title,
    kind,
    locations,
    content,
    rawInput: args,
  });
});
