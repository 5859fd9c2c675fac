import type { CompactionEntry, SessionEntry } from "../../contract/entries.ts";
import type { AgentMessage, AssistantMessage, ModelMessage, UserMessage } from "../../contract/messages.ts";
import { zeroUsage } from "../../contract/messages.ts";
import type { Model } from "../../contract/provider.ts";
import branchFrame from "../prompts/branch-frame.md";
import compactionFrame from "../prompts/compaction-frame.md";
import { forModel } from "./blocks.ts";
import { pairCalls } from "./pairs.ts";

/** What the messages are made for. */
export type ContextTarget = Pick<Model, "api" | "provider" | "id" | "input" | "contextWindow">;

/**
 * Makes the messages of a request from a branch's entries, root first: the only place where they come from.
 *
 * They are valid whatever the entries are. Attempts that were tried again are left out, and a failed one that was not
 * keeps only its text. Every tool call has a unique id and its one result right behind its message, in call order.
 * No message and no block is empty, no text holds half a character, no tool result fills more than a share of the
 * window, the first message is a user's, and opaque data (signatures, hidden thinking) goes only to the model that it
 * came from.
 */
export function toModelMessages(entries: readonly SessionEntry[], target: ContextTarget): ModelMessage[] {
  return withUserFirst(pairCalls(fittingMessages(entries, target)));
}

/** The same before calls and results are paired. */
export function fittingMessages(entries: readonly SessionEntry[], target: ContextTarget): ModelMessage[] {
  return fitAll(withoutSupersededAttempts(contextMessages(entries)), target);
}

/** Makes messages what the target takes, each whatever is around it. */
export function fitAll(messages: readonly AgentMessage[], target: ContextTarget): ModelMessage[] {
  const known = fitted.get(target) ?? new WeakMap<AgentMessage, ModelMessage[]>();
  fitted.set(target, known);
  const fitting: ModelMessage[] = [];
  for (const message of messages) {
    let made = known.get(message);
    if (made === undefined) {
      made = toFitting(message, target);
      known.set(message, made);
    }
    fitting.push(...made);
  }
  return fitting;
}

/** What messages were made into. A message never changes, and all of the history is asked for at every turn. */
const fitted = new WeakMap<ContextTarget, WeakMap<AgentMessage, ModelMessage[]>>();

function toFitting(message: AgentMessage, target: ContextTarget): ModelMessage[] {
  return toModelMessage(textOnlyWhenFailed(message)).flatMap((readable) => forModel(readable, target));
}

/** The messages that stand in the context, oldest first: the latest compaction's summary, what it kept, what came since. */
export function contextMessages(entries: readonly SessionEntry[]): AgentMessage[] {
  const at = entries.findLastIndex((entry) => entry.type === "compaction");
  const compaction = entries[at];
  if (compaction?.type !== "compaction") return toMessages(entries);
  const firstKept = entries.findIndex((entry) => entry.id === compaction.firstKeptEntryId);
  const kept = firstKept < 0 ? [] : entries.slice(firstKept, at);
  const before = [toSummary(compaction), ...toMessages(kept).map(withoutUsage)];
  return toMessages(entries.slice(at + 1), before);
}

/** What entries say, behind what was said before: as flatMap does it, but without an array for each of thousands of entries. */
export function toMessages(entries: readonly SessionEntry[], messages: AgentMessage[] = []): AgentMessage[] {
  for (const entry of entries) {
    if (entry.type === "message") messages.push(entry.message);
    else if (entry.type === "custom" && entry.customType === supersededType) dropFailed(messages);
    else messages.push(...toAgentMessages(entry));
  }
  return messages;
}

/** An entry of this type stands where a failed attempt is tried again with something more to say. */
export const supersededType = "attempt_superseded";

/** Removes the attempts that were made last and failed. */
function dropFailed(messages: AgentMessage[]): void {
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at];
    if (message === undefined || !isSaid(message)) continue;
    if (!isFailed(message)) return;
    messages.splice(at, 1);
  }
}

/** What an entry says in the conversation: at most one message. */
export function toAgentMessages(entry: SessionEntry): AgentMessage[] {
  switch (entry.type) {
    case "message":
      return [entry.message];
    case "custom_message": {
      const { customType, content, display } = entry;
      return [{ role: "custom", customType, content, display, timestamp: timeOf(entry) }];
    }
    case "branch_summary": {
      const { summary, fromId } = entry;
      return [{ role: "branchSummary", summary, fromId, timestamp: timeOf(entry) }];
    }
    default:
      return [];
  }
}

function toSummary(entry: CompactionEntry): AgentMessage {
  const { summary, tokensBefore } = entry;
  return { role: "compactionSummary", summary, tokensBefore, timestamp: timeOf(entry) };
}

function timeOf({ timestamp }: SessionEntry): number {
  return Date.parse(timestamp) || 0;
}

/** What was reported before a compaction says nothing about the context after it. */
function withoutUsage(message: AgentMessage): AgentMessage {
  return message.role === "assistant" ? { ...message, usage: zeroUsage() } : message;
}

/** A failed message that another assistant message follows was tried again, and the last one of all is about to be. */
export function withoutSupersededAttempts(messages: readonly AgentMessage[]): AgentMessage[] {
  return messages.filter((message, index) => {
    if (!isFailed(message)) return true;
    const next = nextSaid(messages, index);
    return next !== undefined && next.role !== "assistant";
  });
}

/** What the model is shown, for others to see: each message as it was said, the last one also when it failed for good. */
export function shownMessages(entries: readonly SessionEntry[]): AgentMessage[] {
  return contextMessages(entries).filter((message, index, messages) => {
    if (message.role === "bashExecution") return message.excludeFromContext !== true;
    return !isFailed(message) || nextSaid(messages, index)?.role !== "assistant";
  });
}

function nextSaid(messages: readonly AgentMessage[], index: number): AgentMessage | undefined {
  return messages.slice(index + 1).find(isSaid);
}

/** Whether it says anything of how an attempt went on: a command that the user ran meanwhile does not. */
export function isSaid({ role }: AgentMessage): boolean {
  return role !== "toolResult" && role !== "bashExecution";
}

export function isFailed(message: AgentMessage): message is AssistantMessage {
  return message.role === "assistant" && (message.stopReason === "error" || message.stopReason === "aborted");
}

/** What a failed message thought and called is not whole. */
function textOnlyWhenFailed(message: AgentMessage): AgentMessage {
  if (!isFailed(message)) return message;
  const content = message.content.flatMap((block) =>
    block.type === "text" ? [{ type: "text" as const, text: block.text }] : [],
  );
  return { ...message, content };
}

function toModelMessage(message: AgentMessage): ModelMessage[] {
  switch (message.role) {
    case "user":
    case "assistant":
    case "toolResult":
      return [message];
    case "custom":
      return [{ role: "user", content: message.content, timestamp: message.timestamp }];
    case "branchSummary":
      return [framed(branchFrame, message)];
    case "compactionSummary":
      return [framed(compactionFrame, message)];
    case "bashExecution":
      return message.excludeFromContext === true ? [] : [userText(bashText(message), message.timestamp)];
  }
}

function framed(frame: string, { summary, timestamp }: { summary: string; timestamp: number }): UserMessage {
  return userText(
    frame.trimEnd().replace("{{summary}}", () => summary),
    timestamp,
  );
}

function userText(text: string, timestamp: number): UserMessage {
  return { role: "user", content: text, timestamp };
}

function bashText(message: Extract<AgentMessage, { role: "bashExecution" }>): string {
  const { command, output, cancelled, exitCode, truncated, fullOutputPath } = message;
  const ending = cancelled ? "It was cancelled." : exitCode === undefined ? "It was killed." : "";
  const status = exitCode === undefined || exitCode === 0 ? "" : `It exited with status ${exitCode}.`;
  const rest =
    truncated && fullOutputPath !== undefined
      ? `This is part of its output; all of it: ${fullOutputPath}`
      : "";
  const notes = [ending || status, rest].filter((note) => note !== "").join(" ");
  return `The user ran the command:\n${command}\nIts output:\n${output || "(none)"}${notes && `\n${notes}`}`;
}

/** Some APIs refuse a conversation that an answer begins. */
function withUserFirst(messages: readonly ModelMessage[]): ModelMessage[] {
  const [first] = messages;
  if (first === undefined || first.role === "user") return [...messages];
  return [userText("(The beginning of this conversation is not shown.)", first.timestamp), ...messages];
}
