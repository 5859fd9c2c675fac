import { isJsonObject, type JsonObject, type JsonValue } from "../../contract/json.ts";
import {
  type AgentMessage,
  type Api,
  type AssistantContent,
  type AssistantMessage,
  type BashExecutionMessage,
  type StopReason,
  type ToolResultMessage,
  type Usage,
  type UserContent,
  zeroUsage,
} from "../../contract/messages.ts";

/**
 * Reads a message of a session file: what is not understood (a block of an unknown kind, a field of the wrong type) is
 * left out or gets its default, so that a file of a relative of this program opens too. `timestampMs` is for messages
 * without their own. Undefined when it is no message that a session can hold.
 */
export function toMessage(value: JsonValue | undefined, timestampMs: number): AgentMessage | undefined {
  if (!isJsonObject(value) || typeof value.role !== "string") return undefined;
  const read = readers.get(value.role);
  return read?.(value, number(value.timestamp, timestampMs));
}

/** Reads the content of a user's or a program's message. */
export function toContent(value: JsonValue | undefined): string | UserContent[] {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.flatMap(toUserBlock) : [];
}

/** The value where it is a string. */
export function string(value: JsonValue | undefined, fallback = ""): string {
  return typeof value === "string" ? value : fallback;
}

/** The value where it is a number. */
export function number(value: JsonValue | undefined, fallback = 0): number {
  return typeof value === "number" ? value : fallback;
}

/** An optional field: an object to spread. */
export function optional<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  const field: { [P in K]?: V } = {};
  if (value !== undefined) field[key] = value;
  return field;
}

type ReadMessage = (value: JsonObject, timestamp: number) => AgentMessage;

const readers: ReadonlyMap<string, ReadMessage> = new Map<string, ReadMessage>([
  ["user", (value, timestamp) => ({ role: "user", content: toContent(value.content), timestamp })],
  ["assistant", toAssistant],
  ["toolResult", toToolResult],
  ["bashExecution", toBashExecution],
  ["custom", toCustom],
  // The name of `custom` in version 2 files.
  ["hookMessage", toCustom],
  [
    "branchSummary",
    (value, timestamp) => ({
      role: "branchSummary",
      summary: string(value.summary),
      fromId: string(value.fromId),
      timestamp,
    }),
  ],
  [
    "compactionSummary",
    (value, timestamp) => ({
      role: "compactionSummary",
      summary: string(value.summary),
      tokensBefore: number(value.tokensBefore),
      timestamp,
    }),
  ],
]);

const apis: readonly string[] = [
  "openai-completions",
  "openai-responses",
  "openai-codex-responses",
  "anthropic-messages",
] satisfies Api[];
const stopReasons: readonly string[] = [
  "stop",
  "length",
  "toolUse",
  "error",
  "aborted",
] satisfies StopReason[];

function isApi(value: JsonValue | undefined): value is Api {
  return typeof value === "string" && apis.includes(value);
}

function isStopReason(value: JsonValue | undefined): value is StopReason {
  return typeof value === "string" && stopReasons.includes(value);
}

function toAssistant(value: JsonObject, timestamp: number): AssistantMessage {
  const known = isApi(value.api);
  const blocks = toAssistantBlocks(value.content);
  return {
    role: "assistant",
    // The opaque data of an API that is not spoken here is of no use to any other.
    content: known ? blocks : blocks.flatMap(withoutSignatures),
    api: isApi(value.api) ? value.api : "openai-completions",
    provider: string(value.provider),
    model: string(value.model),
    ...optional("responseModel", text(value.responseModel)),
    ...optional("responseId", text(value.responseId)),
    usage: toUsage(value.usage),
    stopReason: isStopReason(value.stopReason) ? value.stopReason : "stop",
    ...optional("stopReasonRaw", text(value.stopReasonRaw)),
    ...optional("errorMessage", text(value.errorMessage)),
    timestamp,
  };
}

function toAssistantBlocks(content: JsonValue | undefined): AssistantContent[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.flatMap(toAssistantBlock) : [];
}

function toAssistantBlock(block: JsonValue): AssistantContent[] {
  if (!isJsonObject(block)) return [];
  switch (block.type) {
    case "text":
      return [
        {
          type: "text",
          text: string(block.text),
          ...optional("textSignature", text(block.textSignature)),
        },
      ];
    case "thinking":
      return [
        {
          type: "thinking",
          thinking: string(block.thinking),
          ...optional("thinkingSignature", text(block.thinkingSignature)),
          ...(block.redacted === true ? { redacted: true } : {}),
        },
      ];
    case "toolCall":
      return [
        {
          type: "toolCall",
          id: string(block.id),
          name: string(block.name),
          arguments: isJsonObject(block.arguments) ? block.arguments : {},
          ...optional("thoughtSignature", text(block.thoughtSignature)),
        },
      ];
    default:
      return [];
  }
}

function withoutSignatures(block: AssistantContent): AssistantContent[] {
  switch (block.type) {
    case "text":
      return [{ type: "text", text: block.text }];
    case "thinking":
      return [];
    case "toolCall":
      return [{ type: "toolCall", id: block.id, name: block.name, arguments: block.arguments }];
  }
}

function toUsage(value: JsonValue | undefined): Usage {
  if (!isJsonObject(value)) return zeroUsage();
  const cost = isJsonObject(value.cost) ? value.cost : {};
  return {
    input: number(value.input),
    output: number(value.output),
    cacheRead: number(value.cacheRead),
    cacheWrite: number(value.cacheWrite),
    totalTokens: number(value.totalTokens),
    cost: {
      input: number(cost.input),
      output: number(cost.output),
      cacheRead: number(cost.cacheRead),
      cacheWrite: number(cost.cacheWrite),
      total: number(cost.total),
    },
  };
}

function toToolResult(value: JsonObject, timestamp: number): ToolResultMessage {
  const content = toContent(value.content);
  return {
    role: "toolResult",
    toolCallId: string(value.toolCallId),
    toolName: string(value.toolName),
    content: typeof content === "string" ? [{ type: "text", text: content }] : content,
    ...optional("details", value.details),
    isError: value.isError === true,
    timestamp,
  };
}

function toBashExecution(value: JsonObject, timestamp: number): BashExecutionMessage {
  return {
    role: "bashExecution",
    command: string(value.command),
    output: string(value.output),
    ...(typeof value.exitCode === "number" ? { exitCode: value.exitCode } : {}),
    cancelled: value.cancelled === true,
    truncated: value.truncated === true,
    ...optional("fullOutputPath", text(value.fullOutputPath)),
    ...(value.excludeFromContext === true ? { excludeFromContext: true } : {}),
    timestamp,
  };
}

function toCustom(value: JsonObject, timestamp: number): AgentMessage {
  return {
    role: "custom",
    customType: string(value.customType),
    content: toContent(value.content),
    display: value.display === true,
    ...optional("details", value.details),
    timestamp,
  };
}

function toUserBlock(block: JsonValue): UserContent[] {
  if (!isJsonObject(block)) return [];
  if (block.type === "text") return [{ type: "text", text: string(block.text) }];
  if (block.type === "image" && typeof block.data === "string") {
    return [{ type: "image", data: block.data, mimeType: string(block.mimeType, "image/png") }];
  }
  return [];
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}
