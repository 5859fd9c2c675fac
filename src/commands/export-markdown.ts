import type { SessionEntry } from "../contract/entries.ts";
import type { AgentMessage, AssistantContent, ToolCall, UserContent } from "../contract/messages.ts";
import type { ExportSource } from "./export-formats.ts";
import { gateResultOf } from "./gate-result.ts";

/** Writes a session as Markdown, piece by piece. */
export function* toMarkdown({ header, settings, entries }: ExportSource): Generator<string, void, undefined> {
  const name = settings.name === undefined ? "" : `${code(settings.name)}, `;
  yield `# Session ${header.id}\n\n${name}begun ${header.timestamp} in ${code(header.cwd)}\n`;
  for (const entry of entries()) {
    const text = entryText(entry);
    if (text !== "") yield `\n${text}\n`;
  }
}

function entryText(entry: SessionEntry): string {
  switch (entry.type) {
    case "message":
      return messageText(entry.message);
    case "custom_message":
      return section("Note", contentText(entry.content));
    case "compaction":
      return section("Summary of what came before", entry.summary);
    case "branch_summary":
      return section("Summary of a branch that was left", entry.summary);
    case "model_change":
      return `*Model: ${entry.provider}/${entry.modelId}*`;
    case "thinking_level_change":
      return `*Thinking: ${entry.thinkingLevel}*`;
    case "custom": {
      const gate = gateResultOf(entry);
      if (gate === undefined) return "";
      return section(
        "Gate",
        gate.output === "" ? code(gate.words) : `${code(gate.words)}\n\n${fenced(gate.output)}`,
      );
    }
    case "label":
    case "session_info":
      return "";
  }
}

function messageText(message: AgentMessage): string {
  switch (message.role) {
    case "user":
      return section("User", contentText(message.content));
    case "assistant": {
      const failure =
        message.errorMessage === undefined ? [] : [`**${message.stopReason}**: ${message.errorMessage}`];
      return section(
        "Assistant",
        [...message.content.map(blockText), ...failure].filter(Boolean).join("\n\n"),
      );
    }
    case "toolResult":
      return folded(
        `${message.toolName}: ${message.isError ? "error" : "result"}`,
        fenced(contentText(message.content)),
      );
    case "bashExecution":
      return section("User", `${fenced(message.command, "sh")}\n\n${fenced(message.output)}`);
    case "custom":
      return section("Note", contentText(message.content));
    case "branchSummary":
    case "compactionSummary":
      return section("Summary", message.summary);
  }
}

function section(title: string, text: string): string {
  return text.trim() === "" ? "" : `## ${title}\n\n${text}`;
}

function blockText(block: AssistantContent): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "thinking":
      return block.thinking === "" ? "" : folded("thinking", fenced(block.thinking));
    case "toolCall":
      return callText(block);
  }
}

function callText({ name, arguments: args }: ToolCall): string {
  return `${code(name)}\n\n${fenced(JSON.stringify(args, null, 2), "json")}`;
}

function contentText(content: string | readonly UserContent[]): string {
  if (typeof content === "string") return content;
  return content
    .map((block) => (block.type === "text" ? block.text : `(an image, ${block.mimeType})`))
    .join("\n\n");
}

function folded(title: string, text: string): string {
  return `<details><summary>${escapeHtml(title)}</summary>\n\n${text}\n\n</details>`;
}

/** A fence that nothing in the text can close. */
function fenced(text: string, language = ""): string {
  const fence = "`".repeat(Math.max(3, longestRun(text) + 1));
  return `${fence}${language}\n${text}\n${fence}`;
}

function code(text: string): string {
  const ticks = "`".repeat(longestRun(text) + 1);
  return `${ticks}${text}${ticks}`;
}

function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0);
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
