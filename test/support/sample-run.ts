import type { AgentSessionEvent, AssistantUpdateEvent, SessionHeader } from "../../src/contract/events.ts";
import {
  type AgentMessage,
  type AssistantContent,
  type AssistantMessage,
  type ToolResultMessage,
  zeroUsage,
} from "../../src/contract/messages.ts";
import type { Sink } from "../../src/contract/sink.ts";

export const sampleHeader: SessionHeader = {
  type: "session",
  version: 3,
  id: "0198c0de-0000-7000-8000-000000000001",
  timestamp: "2026-01-02T03:04:05.678Z",
  cwd: "/work",
};

const timestamp = 1_767_323_045_678;

export function sampleMessage(content: AssistantContent[] = []): AssistantMessage {
  return {
    role: "assistant",
    content,
    api: "openai-completions",
    provider: "local",
    model: "m",
    usage: zeroUsage(),
    stopReason: "stop",
    timestamp,
  };
}

/**
 * A run in which all happens that can: a failed attempt and its retry, thinking, two tool calls side by side, a
 * compaction, an overflow that was recovered, a second prompt and a call that was cut off.
 */
export function emitSampleRun({ emit, header }: Pick<Sink, "emit" | "header">): void {
  header(sampleHeader);
  firstPrompt(emit);
  secondPrompt(emit);
}

type Emit = (event: AgentSessionEvent) => void;

function firstPrompt(emit: Emit): void {
  const messages: AgentMessage[] = [];
  const user: AgentMessage = { role: "user", content: "list \u2028 both", timestamp };
  begin(emit);
  emit({ type: "turn_start" });
  say(emit, user);
  const failed = sampleMessage();
  emit({ type: "message_start", message: failed });
  streamBlock(emit, failed, ["par"]);
  Object.assign(failed, { stopReason: "error", errorMessage: "the connection broke" });
  emit({ type: "message_end", message: failed });
  emit({ type: "turn_end", message: failed, toolResults: [] });
  emit({
    type: "auto_retry_start",
    attempt: 1,
    maxAttempts: 3,
    delayMs: 2000,
    errorMessage: "the connection broke",
  });

  emit({ type: "turn_start" });
  const reply = sampleMessage();
  emit({ type: "message_start", message: reply });
  streamThinking(emit, reply, ["hm", "m"]);
  streamBlock(emit, reply, ["He", "llo 😀"]);
  streamCall(emit, reply, { id: "call_a", path: "a" });
  streamCall(emit, reply, { id: "call_b", path: "b" });
  reply.stopReason = "toolUse";
  emit({ type: "message_end", message: reply });
  emit({ type: "auto_retry_end", success: true, attempt: 1 });
  const results = runCalls(emit);
  emit({ type: "turn_end", message: reply, toolResults: results });

  emit({ type: "compaction_start", reason: "threshold" });
  emit({
    type: "compaction_end",
    reason: "threshold",
    result: { summary: "so far", firstKeptEntryId: "e1", tokensBefore: 90_000, details: { files: ["a"] } },
    aborted: false,
    willRetry: false,
  });
  const last = answer(emit, "done");
  messages.push(user, reply, ...results, last);
  finish(emit, messages);
}

function secondPrompt(emit: Emit): void {
  const user: AgentMessage = { role: "user", content: [{ type: "text", text: "more" }], timestamp };
  begin(emit);
  emit({ type: "turn_start" });
  say(emit, user);
  const overflow = sampleMessage();
  Object.assign(overflow, { stopReason: "error", errorMessage: "too long" });
  say(emit, overflow);
  emit({ type: "turn_end", message: overflow, toolResults: [] });
  emit({ type: "compaction_start", reason: "overflow" });
  emit({
    type: "compaction_end",
    reason: "overflow",
    result: { summary: "so far", firstKeptEntryId: "e2", tokensBefore: 120_000 },
    aborted: false,
    willRetry: true,
  });
  emit({ type: "turn_start" });
  const cut = sampleMessage();
  emit({ type: "message_start", message: cut });
  streamCall(emit, cut, { id: "call_c", cut: true });
  Object.assign(cut, { stopReason: "aborted", errorMessage: "aborted by SIGINT" });
  emit({ type: "message_end", message: cut });
  emit({ type: "turn_end", message: cut, toolResults: [] });
  finish(emit, [user, cut]);
}

function begin(emit: Emit): void {
  emit({ type: "agent_start" });
  emit({
    type: "session_action_update",
    actions: {
      queuedCount: 1,
      steering: [],
      followUps: ["later"],
      active: { kind: "turn", phase: "running" },
    },
  });
}

function finish(emit: Emit, messages: AgentMessage[]): void {
  emit({ type: "session_action_update", actions: { queuedCount: 0, steering: [], followUps: [] } });
  emit({ type: "agent_end", messages });
}

function say(emit: Emit, message: AgentMessage): void {
  emit({ type: "message_start", message });
  emit({ type: "message_end", message });
}

function answer(emit: Emit, text: string): AssistantMessage {
  const message = sampleMessage();
  emit({ type: "turn_start" });
  emit({ type: "message_start", message });
  streamBlock(emit, message, [text]);
  emit({ type: "message_end", message });
  emit({ type: "turn_end", message, toolResults: [] });
  return message;
}

function step(emit: Emit, message: AssistantMessage, assistantMessageEvent: AssistantUpdateEvent): void {
  emit({ type: "message_update", message, assistantMessageEvent });
}

function streamBlock(emit: Emit, message: AssistantMessage, deltas: readonly string[]): void {
  const block = { type: "text" as const, text: "" };
  const at = { contentIndex: message.content.push(block) - 1, partial: message };
  step(emit, message, { type: "text_start", ...at });
  for (const delta of deltas) {
    block.text += delta;
    step(emit, message, { type: "text_delta", delta, ...at });
  }
  step(emit, message, { type: "text_end", content: block.text, ...at });
}

function streamThinking(emit: Emit, message: AssistantMessage, deltas: readonly string[]): void {
  const block = { type: "thinking" as const, thinking: "", thinkingSignature: "" };
  const at = { contentIndex: message.content.push(block) - 1, partial: message };
  step(emit, message, { type: "thinking_start", ...at });
  for (const delta of deltas) {
    block.thinking += delta;
    step(emit, message, { type: "thinking_delta", delta, ...at });
  }
  block.thinkingSignature = "c2ln";
  step(emit, message, { type: "thinking_end", content: block.thinking, ...at });
}

function streamCall(
  emit: Emit,
  message: AssistantMessage,
  { id, path = "", cut = false }: { id: string; path?: string; cut?: boolean },
): void {
  const call = { type: "toolCall" as const, id, name: "ls", arguments: {} };
  const at = { contentIndex: message.content.push(call) - 1, partial: message };
  step(emit, message, { type: "toolcall_start", ...at });
  step(emit, message, { type: "toolcall_delta", delta: '{"path":', ...at });
  if (!cut) {
    step(emit, message, { type: "toolcall_delta", delta: `${JSON.stringify(path)}}`, ...at });
    call.arguments = { path };
  }
  step(emit, message, { type: "toolcall_end", toolCall: call, ...at });
}

function runCalls(emit: Emit): ToolResultMessage[] {
  const output = { content: [{ type: "text" as const, text: "x.txt" }] };
  const about = (toolCallId: string) => ({ toolCallId, toolName: "ls" });
  emit({ type: "tool_execution_start", ...about("call_a"), args: { path: "a" } });
  emit({ type: "tool_execution_start", ...about("call_b"), args: { path: "b" } });
  emit({ type: "tool_execution_update", ...about("call_b"), args: { path: "b" }, partialResult: output });
  emit({ type: "tool_execution_end", ...about("call_b"), result: output, isError: false });
  emit({ type: "tool_execution_end", ...about("call_a"), result: output, isError: true });
  const results = ["call_a", "call_b"].map((id): ToolResultMessage => {
    return { role: "toolResult", ...about(id), ...output, isError: id === "call_a", timestamp };
  });
  for (const message of results) say(emit, message);
  return results;
}
