import type { SessionEntry } from "../contract/entries.ts";
import type { AgentMessage, AssistantContent, UserContent } from "../contract/messages.ts";
import { findSavedSession } from "../session/session-index.ts";
import { branchEntries, currentSettings, readSessionFile } from "../session/session-read.ts";

export type ShowSessionOptions = {
  /** Where sessions are kept. */
  readonly folder: string;
  /** The session's id, the unique beginning of one, or its name. */
  readonly id: string;
  readonly json: boolean;
  /** Takes one line. */
  readonly warn: (line: string) => void;
};

/**
 * Prints a session's header and the entries of its branch, oldest first: a line each with its id, or as one JSON
 * object. The session may be in use. Gives the exit status; throws a StartupError when there is no such session.
 */
export function showSession(options: ShowSessionOptions, write: (text: string) => void): number {
  const { path } = findSavedSession(options.folder, options.id, { byName: true });
  return readSessionFile(path, options.warn, (session) => {
    const { type: _, version: __, ...header } = session.header;
    const about = { ...header, path, ...currentSettings(session) };
    if (options.json) writeJson(about, branchEntries(session), write);
    else writeLines(about, branchEntries(session), write);
    return 0;
  });
}

const maxTextLength = 100;

function writeJson(about: object, entries: Iterable<SessionEntry>, write: (text: string) => void): void {
  write(`${JSON.stringify(about).slice(0, -1)},"entries":[`);
  let separator = "\n";
  for (const entry of entries) {
    write(`${separator}${JSON.stringify(entry)}`);
    separator = ",\n";
  }
  write("\n]}\n");
}

function writeLines(about: object, entries: Iterable<SessionEntry>, write: (text: string) => void): void {
  for (const [key, value] of Object.entries(about)) {
    write(`${key.padEnd(13)}  ${printable(typeof value === "string" ? value : modelName(value))}\n`);
  }
  write("\n");
  for (const entry of entries) {
    write(`${entry.id}  ${entry.timestamp}  ${oneLine(describe(entry))}\n`);
  }
}

function modelName({ provider, modelId }: { provider: string; modelId: string }): string {
  return `${provider}/${modelId}`;
}

function describe(entry: SessionEntry): string {
  switch (entry.type) {
    case "message":
      return `${entry.message.role}: ${messageText(entry.message)}`;
    case "custom_message":
      return `${entry.customType}: ${contentText(entry.content)}`;
    case "model_change":
      return `model: ${entry.provider}/${entry.modelId}`;
    case "thinking_level_change":
      return `thinking: ${entry.thinkingLevel}`;
    case "compaction":
    case "branch_summary":
      return `${entry.type}: ${entry.summary}`;
    case "label":
      return `label of ${entry.targetId}: ${entry.label ?? "(none)"}`;
    case "session_info":
      return `name: ${entry.name ?? "(none)"}`;
    case "custom":
      return entry.customType;
  }
}

function messageText(message: AgentMessage): string {
  switch (message.role) {
    case "user":
    case "custom":
      return contentText(message.content);
    case "assistant":
      return `${contentText(message.content)}${message.errorMessage === undefined ? "" : ` (${message.errorMessage})`}`;
    case "toolResult":
      return `${message.toolName}${message.isError ? " failed" : ""}: ${contentText(message.content)}`;
    case "bashExecution":
      return message.command;
    case "branchSummary":
    case "compactionSummary":
      return message.summary;
  }
}

function contentText(content: string | readonly (AssistantContent | UserContent)[]): string {
  return typeof content === "string" ? content : content.map(blockText).join(" ");
}

function blockText(block: AssistantContent | UserContent): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "thinking":
      return "";
    case "toolCall":
      return `${block.name} ${JSON.stringify(block.arguments)}`;
    case "image":
      return `(${block.mimeType})`;
  }
}

function oneLine(text: string): string {
  const line = printable(text.slice(0, 4 * maxTextLength))
    .replace(/\s+/g, " ")
    .trim();
  const characters = [...line];
  return characters.length <= maxTextLength ? line : `${characters.slice(0, maxTextLength).join("")}…`;
}

/** Control characters could make a terminal do something. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cs}]/gu, " ");
}
