import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach } from "vitest";
import type { NewEntry, SessionEntry } from "../../src/contract/entries.ts";
import {
  type AgentMessage,
  type AssistantContent,
  type AssistantMessage,
  type ToolResultMessage,
  zeroUsage,
} from "../../src/contract/messages.ts";

/** Makes folders that are removed after each test. */
export function useFolders(): () => string {
  const folders: string[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });
  return () => {
    const folder = mkdtempSync(join(tmpdir(), "session-test-"));
    folders.push(folder);
    return folder;
  };
}

/** A user's message. */
export function user(content: string): AgentMessage {
  return { role: "user", content, timestamp: 1 };
}

/** An answer of the model `m` at the provider `p`. */
export function assistant(
  content: AssistantContent[],
  fields: Partial<AssistantMessage> = {},
): AssistantMessage {
  return {
    role: "assistant",
    content,
    api: "openai-completions",
    provider: "p",
    model: "m",
    usage: zeroUsage(),
    stopReason: "stop",
    timestamp: 2,
    ...fields,
  };
}

/** A text block. */
export function text(words: string): AssistantContent {
  return { type: "text", text: words };
}

/** A tool call. */
export function call(id: string, name = "ls"): AssistantContent {
  return { type: "toolCall", id, name, arguments: {} };
}

/** A tool's result. */
export function result(toolCallId: string, words = `result of ${toolCallId}`): ToolResultMessage {
  return {
    role: "toolResult",
    toolCallId,
    toolName: "ls",
    content: [{ type: "text", text: words }],
    isError: false,
    timestamp: 3,
  };
}

/** The entry that a store would make of a message. */
export function message(content: AgentMessage): NewEntry {
  return { type: "message", message: content };
}

/** Entries in a line, with the ids e0, e1 and so on. */
export function chain(entries: readonly NewEntry[]): SessionEntry[] {
  return entries.map((entry, index) => {
    const place = {
      id: `e${index}`,
      parentId: index === 0 ? null : `e${index - 1}`,
      timestamp: new Date(index).toISOString(),
    };
    return { ...entry, ...place } as SessionEntry;
  });
}
