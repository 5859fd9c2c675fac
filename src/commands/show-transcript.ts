import type { SessionEntry } from "../contract/entries.ts";
import type { AgentMessage, AssistantContent, AssistantMessage, UserContent } from "../contract/messages.ts";
import { gateResultOf } from "./gate-result.ts";

/** An entry for a person at a terminal: a line that says what it is, and its text, indented. */
export function toTranscript(entry: SessionEntry): string {
  const { title, text = "" } = partsOf(entry);
  const body = printable(text).trimEnd();
  const lines = body === "" ? [] : body.split("\n").map((line) => `  ${line}`.trimEnd());
  return [`${entry.id}  ${entry.timestamp}  ${printable(title)}`, ...lines, ""].join("\n");
}

/** Text without what could make a terminal do something; newlines and tabs stay. */
export function printable(text: string): string {
  return text
    .replaceAll("\r\n", "\n")
    .replace(escapeSequences, "")
    .replace(/[^\P{Cc}\n\t]|\p{Cs}/gu, " ");
}

type Parts = { readonly title: string; readonly text?: string | undefined };

// Colours, cursor movements and titles, as programs print them.
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const escapeSequences = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b\n]*(?:\u0007|\u001b\\)|[@-Z\\^_])/g;
/** Of a tool's result: enough to see what it was. */
const maxResultLines = 20;
const maxResultLength = 2_000;

function partsOf(entry: SessionEntry): Parts {
  switch (entry.type) {
    case "message":
      return messageParts(entry.message);
    case "custom_message":
      return { title: entry.customType, text: contentText(entry.content) };
    case "model_change":
      return { title: `model: ${entry.provider}/${entry.modelId}` };
    case "thinking_level_change":
      return { title: `thinking: ${entry.thinkingLevel}` };
    case "compaction":
      return { title: `compaction of ${entry.tokensBefore} tokens`, text: entry.summary };
    case "branch_summary":
      return { title: "summary of a branch that was left", text: entry.summary };
    case "label":
      return { title: `label of ${entry.targetId}: ${entry.label ?? "(none)"}` };
    case "session_info":
      return { title: `name: ${entry.name ?? "(none)"}` };
    case "custom": {
      const gate = gateResultOf(entry);
      return { title: entry.customType, text: gate && `${gate.words}\n${beginning(gate.output)}` };
    }
  }
}

function messageParts(message: AgentMessage): Parts {
  switch (message.role) {
    case "user":
      return { title: "user", text: contentText(message.content) };
    case "assistant":
      return { title: assistantTitle(message), text: contentText(message.content) };
    case "toolResult": {
      const title = `${message.toolName}${message.isError ? " failed" : ""}`;
      return { title, text: beginning(contentText(message.content)) };
    }
    case "bashExecution":
      return { title: "the user ran", text: `$ ${message.command}\n${beginning(message.output)}` };
    case "custom":
      return { title: message.customType, text: contentText(message.content) };
    case "branchSummary":
      return { title: "summary of a branch that was left", text: message.summary };
    case "compactionSummary":
      return { title: `compaction of ${message.tokensBefore} tokens`, text: message.summary };
  }
}

function assistantTitle({ provider, model, stopReason, errorMessage = "" }: AssistantMessage): string {
  const endedWell = stopReason === "stop" || stopReason === "toolUse";
  const end = endedWell ? "" : ` (${[stopReason, errorMessage].filter(Boolean).join(": ")})`;
  return `assistant ${provider}/${model}${end.replaceAll("\n", " ")}`;
}

function contentText(content: string | readonly (AssistantContent | UserContent)[]): string {
  return typeof content === "string" ? content : content.map(blockText).filter(Boolean).join("\n");
}

function blockText(block: AssistantContent | UserContent): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "thinking":
      return block.thinking === "" ? "" : `(thinking) ${block.thinking}`;
    case "toolCall":
      return `> ${block.name} ${JSON.stringify(block.arguments)}`;
    case "image":
      return `(an image, ${block.mimeType})`;
  }
}

function beginning(text: string): string {
  const lines = text.slice(0, maxResultLength).split("\n").slice(0, maxResultLines);
  const shown = lines.join("\n");
  const left = text.length - shown.length;
  return left > 0 ? `${shown}\n… (${left} more characters)` : text;
}
