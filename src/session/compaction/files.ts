import { isJsonObject, type JsonValue } from "../../contract/json.ts";
import type { AgentMessage } from "../../contract/messages.ts";

/** The files that a conversation was about, as the model named them, oldest first. */
export type FileLists = {
  /** Read but not changed. */
  readonly readFiles: readonly string[];
  readonly modifiedFiles: readonly string[];
};

/**
 * Collects the files that calls of `read`, `edit` and `write` worked on without an error, behind those that the
 * details of an earlier compaction tell. Of very many the latest are kept.
 */
export function collectFiles(messages: readonly AgentMessage[], earlier?: JsonValue): FileLists {
  const before = toFileLists(earlier);
  const failed = new Set(
    messages.flatMap((each) => (each.role === "toolResult" && each.isError ? [each.toolCallId] : [])),
  );
  const read = new Set(before.readFiles);
  const modified = new Set(before.modifiedFiles);
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    // The calls of a reply that failed never ran.
    if (message.stopReason === "error" || message.stopReason === "aborted") continue;
    for (const block of message.content) {
      if (block.type !== "toolCall" || failed.has(block.id)) continue;
      const { path } = block.arguments;
      if (typeof path !== "string" || path === "") continue;
      if (readers.has(block.name)) addLast(read, path);
      if (writers.has(block.name)) addLast(modified, path);
    }
  }
  return {
    readFiles: [...read].filter((path) => !modified.has(path)).slice(-maxFiles),
    modifiedFiles: [...modified].slice(-maxFiles),
  };
}

/** Puts the lists behind a summary, where the model sees them. */
export function withFileLists(summary: string, { readFiles, modifiedFiles }: FileLists): string {
  return [
    withoutFileLists(summary),
    ...list("files-read", readFiles),
    ...list("files-changed", modifiedFiles),
  ].join("\n\n");
}

/** Takes the lists off a summary, for the model that brings it up to date. */
export function withoutFileLists(summary: string): string {
  return summary.replace(/\n*<(files-read|files-changed)>\n[\s\S]*?\n<\/\1>/g, "").trim();
}

const readers: ReadonlySet<string> = new Set(["read"]);
const writers: ReadonlySet<string> = new Set(["edit", "write"]);
const maxFiles = 200;

function toFileLists(details: JsonValue | undefined): FileLists {
  if (!isJsonObject(details)) return { readFiles: [], modifiedFiles: [] };
  return { readFiles: strings(details.readFiles), modifiedFiles: strings(details.modifiedFiles) };
}

function strings(value: JsonValue | undefined): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

function addLast(paths: Set<string>, path: string): void {
  paths.delete(path);
  paths.add(path);
}

function list(tag: string, paths: readonly string[]): string[] {
  return paths.length === 0 ? [] : [`<${tag}>\n${paths.join("\n")}\n</${tag}>`];
}
