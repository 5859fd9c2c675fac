import type { JsonObject, JsonValue } from "./json.ts";

/** The wire protocols that a provider adapter speaks. */
export type Api = "openai-completions" | "openai-responses" | "openai-codex-responses" | "anthropic-messages";

export type TextContent = {
  type: "text";
  text: string;
  /** Opaque provider data that is sent back with this block to the same model. */
  textSignature?: string;
};

export type ThinkingContent = {
  type: "thinking";
  thinking: string;
  /** Opaque provider data (signature, encrypted reasoning) that is sent back with this block to the same model. */
  thinkingSignature?: string;
  /** The provider hid the text; only the signature carries it. */
  redacted?: boolean;
};

export type ToolCall = {
  type: "toolCall";
  /** Unique in the session. */
  id: string;
  name: string;
  /** `{}` until the call is complete, and when the arguments did not parse. */
  arguments: JsonObject;
  /** Opaque provider data that is sent back with this block to the same model. */
  thoughtSignature?: string;
};

export type ImageContent = {
  type: "image";
  /** Base64. */
  data: string;
  /** For instance `image/png`. */
  mimeType: string;
};

export type AssistantContent = TextContent | ThinkingContent | ToolCall;
export type UserContent = TextContent | ImageContent;

/** US dollars. */
export type Cost = {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  total: number;
};

/** Token counts. The four kinds do not overlap; `totalTokens` is their sum. */
export type Usage = {
  /** Input tokens that were neither read from nor written to the provider's cache. */
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  totalTokens: number;
  cost: Cost;
};

export type StopReason = "stop" | "length" | "toolUse" | "error" | "aborted";

/** The one message kind that a person (or an injected prompt) says. */
export type UserMessage = {
  role: "user";
  content: string | UserContent[];
  /** Milliseconds since the epoch, as in all messages. */
  timestamp: number;
};

export type AssistantMessage = {
  role: "assistant";
  content: AssistantContent[];
  api: Api;
  provider: string;
  model: string;
  /** The model name that the provider's reply states, when it differs from `model`. */
  responseModel?: string;
  responseId?: string;
  usage: Usage;
  stopReason: StopReason;
  /** The provider's own word for why it stopped. */
  stopReasonRaw?: string;
  /** With stopReason `error` or `aborted`. */
  errorMessage?: string;
  timestamp: number;
};

export type ToolResultMessage = {
  role: "toolResult";
  toolCallId: string;
  toolName: string;
  content: UserContent[];
  /** Machine-readable facts about the result; never sent to the model. */
  details?: JsonValue;
  isError: boolean;
  timestamp: number;
};

/** A shell command that the user (not the model) ran in the session. */
export type BashExecutionMessage = {
  role: "bashExecution";
  command: string;
  output: string;
  /** Absent when the command was killed. */
  exitCode?: number;
  cancelled: boolean;
  truncated: boolean;
  /** Where the whole output is, when `output` holds only part of it. */
  fullOutputPath?: string;
  /** Kept in the session but not shown to the model. */
  excludeFromContext?: boolean;
  timestamp: number;
};

/** A message that the program adds, told apart by `customType`. */
export type CustomMessage = {
  role: "custom";
  customType: string;
  content: string | UserContent[];
  /** Whether a person should see it. */
  display: boolean;
  details?: JsonValue;
  timestamp: number;
};

/** What was left behind when the conversation branched to an earlier entry. */
export type BranchSummaryMessage = {
  role: "branchSummary";
  summary: string;
  /** The entry that the left branch ended in. */
  fromId: string;
  timestamp: number;
};

/** What stands for the messages that a compaction removed from the context. */
export type CompactionSummaryMessage = {
  role: "compactionSummary";
  summary: string;
  tokensBefore: number;
  timestamp: number;
};

/** The messages that a provider understands. */
export type ModelMessage = UserMessage | AssistantMessage | ToolResultMessage;

/** Every message that a session can hold. */
export type AgentMessage =
  | ModelMessage
  | BashExecutionMessage
  | CustomMessage
  | BranchSummaryMessage
  | CompactionSummaryMessage;

/** Usage of nothing. A new object a call, since the accumulating message owns its usage. */
export function zeroUsage(): Usage {
  return {
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens: 0,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
  };
}
