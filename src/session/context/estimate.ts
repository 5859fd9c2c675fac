import type { SessionEntry } from "../../contract/entries.ts";
import type {
  AgentMessage,
  AssistantContent,
  AssistantMessage,
  ModelMessage,
  UserContent,
} from "../../contract/messages.ts";
import type { ToolSchema } from "../../contract/provider.ts";

/**
 * About how many tokens a request will have: what the provider reported for its last good answer, plus a measure of
 * what came since; a measure of all of it when nothing was reported, or so little that it cannot be true. Never less for
 * more input behind that answer.
 */
export function estimateTokens(
  messages: readonly ModelMessage[],
  systemPrompt: string,
  tools: readonly ToolSchema[],
): number {
  const last = messages.findLastIndex((message) => reportedTokens(message) > 0);
  const reported = messages[last];
  const since = sum(messages.slice(last + 1), measureMessage);
  const before = measureFrame(systemPrompt, tools) + sum(messages.slice(0, last + 1), measureMessage);
  const isTrue = reported !== undefined && reportedTokens(reported) >= before * minPart;
  return (isTrue ? reportedTokens(reported) : before) + since;
}

/** Some servers report the same few tokens for every answer. No real text takes less than this part of its measure. */
const minPart = 0.25;

function measureFrame(systemPrompt: string, tools: readonly ToolSchema[]): number {
  const known = frames.get(tools);
  if (known?.systemPrompt === systemPrompt) return known.tokens;
  const tokens = measureText(systemPrompt) + sum(tools, measureTool);
  frames.set(tools, { systemPrompt, tokens });
  return tokens;
}

/** What a session's requests have in common, by its tools. */
const frames = new WeakMap<readonly ToolSchema[], { systemPrompt: string; tokens: number }>();

/** About how many tokens a message takes. It must not change any more. */
export function measureMessage(message: AgentMessage): number {
  const known = measured.get(message);
  if (known !== undefined) return known;
  const tokens = messageOverheadTokens + measureBody(message);
  measured.set(message, tokens);
  return tokens;
}

/** All of a long history is measured at every turn where a provider reports nothing. */
const measured = new WeakMap<AgentMessage, number>();

/** About how many tokens an entry adds to the context; 0 for those that the model never sees. */
export function measureEntry(entry: SessionEntry): number {
  switch (entry.type) {
    case "message":
      return measureMessage(entry.message);
    case "custom_message":
      return messageOverheadTokens + measureContent(entry.content);
    case "compaction":
    case "branch_summary":
      return messageOverheadTokens + measureText(entry.summary);
    default:
      return 0;
  }
}

/**
 * About how many tokens a text takes, rounded up: a quarter of one for an ASCII or Latin character, half of one for
 * other alphabets, one for each code unit of Chinese, Japanese, Korean and emoji.
 */
export function measureText(text: string): number {
  let quarters = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    quarters += unit < firstNonLatin ? 1 : unit < firstWide ? 2 : 4;
  }
  return Math.ceil(quarters / 4);
}

const firstNonLatin = 0x250;
const firstWide = 0x2e80;
const imageTokens = 1200;
/** Roles and separators. */
const messageOverheadTokens = 4;

/** 0 for what no provider counted, or what it counted in a failed attempt. */
function reportedTokens(message: ModelMessage): number {
  if (message.role !== "assistant" || isFailed(message)) return 0;
  const { input, output, cacheRead, cacheWrite } = message.usage;
  return input + output + cacheRead + cacheWrite;
}

function isFailed({ stopReason }: AssistantMessage): boolean {
  return stopReason === "error" || stopReason === "aborted";
}

function measureBody(message: AgentMessage): number {
  switch (message.role) {
    case "user":
    case "toolResult":
    case "custom":
      return measureContent(message.content);
    case "assistant":
      return sum(message.content, measureAssistantBlock);
    case "bashExecution":
      return measureText(message.command) + measureText(message.output);
    case "branchSummary":
    case "compactionSummary":
      return measureText(message.summary);
  }
}

function measureContent(content: string | readonly UserContent[]): number {
  if (typeof content === "string") return measureText(content);
  return sum(content, (block) => (block.type === "image" ? imageTokens : measureText(block.text)));
}

function measureAssistantBlock(block: AssistantContent): number {
  switch (block.type) {
    case "text":
      return measureText(block.text);
    case "thinking":
      // Hidden thinking comes back as its signature.
      return measureText(block.thinking === "" ? (block.thinkingSignature ?? "") : block.thinking);
    case "toolCall":
      return measureText(block.name) + measureText(JSON.stringify(block.arguments));
  }
}

function measureTool({ name, description, parameters }: ToolSchema): number {
  return measureText(name) + measureText(description) + measureText(JSON.stringify(parameters));
}

function sum<T>(values: readonly T[], measure: (value: T) => number): number {
  return values.reduce((total, value) => total + measure(value), 0);
}
