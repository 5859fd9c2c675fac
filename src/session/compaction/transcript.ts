import type { AgentMessage, AssistantContent, UserContent } from "../../contract/messages.ts";
import { measureText } from "../context/estimate.ts";

/**
 * Writes a conversation as a text of at most `maxTokens` (as `measureText` counts), to be summarised. What is too long
 * is shortened in its middle, tool results first; when that is not enough, messages between the first and the latest
 * are left out. Thinking and images are not in it.
 */
export function serializeForSummary(messages: readonly AgentMessage[], maxTokens: number): string {
  let pieces: string[] = [];
  for (const lengths of levels) {
    pieces = messages.flatMap((message) => piece(message, lengths));
    if (measureText(pieces.join(separator)) <= maxTokens) return pieces.join(separator);
  }
  return fitting(pieces, maxTokens);
}

type Lengths = {
  /** Of a tool result or of a call's arguments, in UTF-16 code units. */
  readonly tool: number;
  /** Of what somebody said. */
  readonly said: number;
};

const levels: readonly Lengths[] = [
  { tool: 4000, said: 40_000 },
  { tool: 2000, said: 20_000 },
  { tool: 600, said: 4000 },
  { tool: 160, said: 1000 },
];
const separator = "\n\n";

function piece(message: AgentMessage, lengths: Lengths): string[] {
  switch (message.role) {
    case "user":
    case "custom":
      return said("User", contentText(message.content), lengths.said);
    case "assistant":
      return message.content.flatMap((block) => assistantPiece(block, lengths));
    case "toolResult": {
      const title = message.isError ? "Tool error" : "Tool result";
      return said(title, contentText(message.content), lengths.tool);
    }
    case "bashExecution":
      if (message.excludeFromContext === true) return [];
      return said("Command of the user", `${message.command}\n${message.output}`, lengths.tool);
    case "branchSummary":
      return said("Summary of a branch that was left", message.summary, lengths.said);
    case "compactionSummary":
      return said("Summary of what came before", message.summary, lengths.said);
  }
}

function assistantPiece(block: AssistantContent, lengths: Lengths): string[] {
  switch (block.type) {
    case "text":
      return said("Agent", block.text, lengths.said);
    case "toolCall":
      return said("Tool call", `${block.name} ${JSON.stringify(block.arguments)}`, lengths.tool);
    case "thinking":
      return [];
  }
}

function said(title: string, text: string, maxLength: number): string[] {
  return text.trim() === "" ? [] : [`[${title}]\n${shorten(text, maxLength)}`];
}

function contentText(content: string | readonly UserContent[]): string {
  if (typeof content === "string") return content;
  return content.map((block) => (block.type === "text" ? block.text : "(an image)")).join("\n");
}

/** Keeps the beginning and the end. */
function shorten(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const half = Math.floor(maxLength / 2);
  const left = text.length - 2 * half;
  return `${wholeCharacters(text.slice(0, half))}\n(… ${left} characters left out …)\n${wholeCharacters(text.slice(-half))}`;
}

/** The first piece says what it was about, the latest what it came to. */
function fitting(pieces: readonly string[], maxTokens: number): string {
  const first = pieces[0] ?? "";
  const kept: string[] = [];
  let tokens = measureText(first) + noteTokens;
  for (const next of pieces.slice(1).reverse()) {
    tokens += measureText(next) + 1;
    if (tokens > maxTokens) break;
    kept.unshift(next);
  }
  const left = pieces.length - 1 - kept.length;
  const text = [first, `(… ${left} messages left out …)`, ...kept].join(separator);
  // A code unit is at most one token.
  return measureText(text) <= maxTokens ? text : wholeCharacters(text.slice(0, maxTokens));
}

const noteTokens = 20;

/** A cut may have gone through a character. */
function wholeCharacters(text: string): string {
  return text.replace(/^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/g, "");
}
