import { z } from "zod";
import type { JsonObject, JsonValue } from "./json.ts";

// Loading zod takes longer than a whole start may: nothing that a run uses imports this file at its top.

// Whatever JSON.parse gave is a JSON value, so there is nothing to check but that an object is one.
const jsonValue = z.unknown() as z.ZodType<JsonValue>;
const jsonObject = z.record(z.string(), jsonValue) as z.ZodType<JsonObject>;

const contentIndex = z.number().int().nonnegative();
const count = z.number().int().nonnegative();
const dollars = z.number().nonnegative();
const timestampMs = z.number().int().describe("Milliseconds since the epoch.");
const isoTime = z.iso.datetime();

const textContent = z.strictObject({
  type: z.literal("text"),
  text: z.string(),
  textSignature: z.string().exactOptional(),
});
const thinkingContent = z.strictObject({
  type: z.literal("thinking"),
  thinking: z.string(),
  thinkingSignature: z.string().exactOptional(),
  redacted: z.boolean().exactOptional(),
});
const toolCall = z.strictObject({
  type: z.literal("toolCall"),
  id: z.string().min(1),
  name: z.string(),
  arguments: jsonObject.describe("{} until the call is complete, and when the arguments did not parse."),
  thoughtSignature: z.string().exactOptional(),
});
const imageContent = z.strictObject({
  type: z.literal("image"),
  data: z.string().describe("Base64."),
  mimeType: z.string(),
});
const assistantContent = z.discriminatedUnion("type", [textContent, thinkingContent, toolCall]);
const userContent = z.discriminatedUnion("type", [textContent, imageContent]);

const usage = z.strictObject({
  input: count.describe("Input tokens that were neither read from nor written to the provider's cache."),
  output: count,
  cacheRead: count,
  cacheWrite: count,
  totalTokens: count,
  cost: z
    .strictObject({
      input: dollars,
      output: dollars,
      cacheRead: dollars,
      cacheWrite: dollars,
      total: dollars,
    })
    .describe("US dollars."),
});

const userMessage = z.strictObject({
  role: z.literal("user"),
  content: z.union([z.string(), z.array(userContent)]),
  timestamp: timestampMs,
});
const assistantMessage = z.strictObject({
  role: z.literal("assistant"),
  content: z.array(assistantContent),
  api: z.enum(["openai-completions", "openai-responses", "openai-codex-responses", "anthropic-messages"]),
  provider: z.string(),
  model: z.string(),
  responseModel: z.string().exactOptional(),
  responseId: z.string().exactOptional(),
  usage,
  stopReason: z.enum(["stop", "length", "toolUse", "error", "aborted"]),
  stopReasonRaw: z.string().exactOptional(),
  errorMessage: z.string().exactOptional(),
  timestamp: timestampMs,
});
const toolResultMessage = z.strictObject({
  role: z.literal("toolResult"),
  toolCallId: z.string().min(1),
  toolName: z.string(),
  content: z.array(userContent),
  details: jsonValue.exactOptional(),
  isError: z.boolean(),
  timestamp: timestampMs,
});
const bashExecutionMessage = z.strictObject({
  role: z.literal("bashExecution"),
  command: z.string(),
  output: z.string(),
  exitCode: z.number().int().exactOptional(),
  cancelled: z.boolean(),
  truncated: z.boolean(),
  fullOutputPath: z.string().exactOptional(),
  excludeFromContext: z.boolean().exactOptional(),
  timestamp: timestampMs,
});
const customMessage = z.strictObject({
  role: z.literal("custom"),
  customType: z.string(),
  content: z.union([z.string(), z.array(userContent)]),
  display: z.boolean(),
  details: jsonValue.exactOptional(),
  timestamp: timestampMs,
});
const branchSummaryMessage = z.strictObject({
  role: z.literal("branchSummary"),
  summary: z.string(),
  fromId: z.string(),
  timestamp: timestampMs,
});
const compactionSummaryMessage = z.strictObject({
  role: z.literal("compactionSummary"),
  summary: z.string(),
  tokensBefore: count,
  timestamp: timestampMs,
});
const otherMessages = [
  userMessage,
  toolResultMessage,
  bashExecutionMessage,
  customMessage,
  branchSummaryMessage,
  compactionSummaryMessage,
] as const;
const otherMessage = z.discriminatedUnion("role", otherMessages);
const agentMessage = z.discriminatedUnion("role", [assistantMessage, ...otherMessages]);

const toolOutput = z.strictObject({ content: z.array(userContent), details: jsonValue.exactOptional() });

/** Line 1 of a stream and of a session file. */
export const sessionHeaderSchema = z.strictObject({
  type: z.literal("session"),
  version: z.literal(3),
  id: z.string().min(1),
  timestamp: isoTime,
  cwd: z.string(),
  parentSession: z.string().exactOptional(),
});

const actions = z.strictObject({
  queuedCount: count,
  steering: z.array(z.string()),
  followUps: z.array(z.string()),
  active: z
    .strictObject({
      kind: z.enum(["turn", "session_command"]),
      phase: z.enum(["preparing", "committing", "running"]),
      label: z.string().exactOptional(),
    })
    .exactOptional(),
});
const compactionReason = z.enum(["manual", "threshold", "overflow"]);
const compactionResult = z.strictObject({
  summary: z.string(),
  firstKeptEntryId: z.string(),
  tokensBefore: count,
  details: jsonValue.exactOptional(),
});

/** The lines that are the same in both kinds of stream, but for the header. */
const commonEvents = [
  z.strictObject({ type: z.literal("agent_start") }),
  z.strictObject({ type: z.literal("agent_end"), messages: z.array(agentMessage) }),
  z.strictObject({ type: z.literal("turn_start") }),
  z.strictObject({
    type: z.literal("turn_end"),
    message: agentMessage,
    toolResults: z.array(toolResultMessage),
  }),
  z.strictObject({
    type: z.literal("tool_execution_start"),
    toolCallId: z.string().min(1),
    toolName: z.string(),
    args: jsonObject,
  }),
  z.strictObject({
    type: z.literal("tool_execution_update"),
    toolCallId: z.string().min(1),
    toolName: z.string(),
    args: jsonObject,
    partialResult: toolOutput,
  }),
  z.strictObject({
    type: z.literal("tool_execution_end"),
    toolCallId: z.string().min(1),
    toolName: z.string(),
    result: toolOutput,
    isError: z.boolean(),
  }),
  z.strictObject({ type: z.literal("session_action_update"), actions }),
  z.strictObject({ type: z.literal("compaction_start"), reason: compactionReason }),
  z.strictObject({
    type: z.literal("compaction_end"),
    reason: compactionReason,
    // Undefined is how a line without it reads: JSON has no undefined.
    result: compactionResult.optional(),
    aborted: z.boolean(),
    willRetry: z.boolean(),
    errorMessage: z.string().exactOptional(),
  }),
  z.strictObject({
    type: z.literal("auto_retry_start"),
    attempt: z.number().int().positive(),
    maxAttempts: z.number().int().positive(),
    delayMs: z.number().nonnegative(),
    errorMessage: z.string(),
  }),
  z.strictObject({
    type: z.literal("auto_retry_end"),
    success: z.boolean(),
    attempt: z.number().int().positive(),
    finalError: z.string().exactOptional(),
  }),
] as const;

/** The steps of a message, each with the further fields that a kind of stream gives it. */
function updateEvents<Shape extends z.core.$ZodLooseShape, CallStart extends z.core.$ZodLooseShape>(
  further: Shape,
  callStart: CallStart,
) {
  const text = { contentIndex, ...further };
  return z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("text_start"), ...text }),
    z.strictObject({ type: z.literal("text_delta"), delta: z.string(), ...text }),
    z.strictObject({ type: z.literal("text_end"), content: z.string(), ...text }),
    z.strictObject({ type: z.literal("thinking_start"), ...text }),
    z.strictObject({ type: z.literal("thinking_delta"), delta: z.string(), ...text }),
    z.strictObject({ type: z.literal("thinking_end"), content: z.string(), ...text }),
    z.strictObject({ type: z.literal("toolcall_start"), ...callStart, ...text }),
    z.strictObject({ type: z.literal("toolcall_delta"), delta: z.string(), ...text }),
    z.strictObject({ type: z.literal("toolcall_end"), toolCall, ...text }),
  ]);
}

const plainEvents = [
  z.strictObject({ type: z.literal("message_start"), message: agentMessage }),
  z.strictObject({
    type: z.literal("message_update"),
    message: assistantMessage,
    assistantMessageEvent: updateEvents({ partial: assistantMessage }, {}),
  }),
  z.strictObject({ type: z.literal("message_end"), message: agentMessage }),
] as const;

const messageId = z.number().int().positive().describe("Counts the assistant messages of the stream from 1.");

function deltaEdge<Type extends "message_start" | "message_end">(type: Type) {
  return z.union([
    z.strictObject({ type: z.literal(type), messageId, message: assistantMessage }),
    z.strictObject({ type: z.literal(type), message: otherMessage }),
  ]);
}

const deltaUpdate = z.strictObject({
  type: z.literal("message_update"),
  messageId,
  assistantMessageEvent: updateEvents({}, { toolCall: toolCall.pick({ id: true, name: true }) }),
});

/** Any line of a `--mode json` stream. */
export const streamLineSchema = z.discriminatedUnion("type", [
  sessionHeaderSchema,
  ...commonEvents,
  ...plainEvents,
]);

/** Any line of a `--mode json --json-deltas` stream. */
export const deltaStreamLineSchema = z.union([
  z.discriminatedUnion("type", [sessionHeaderSchema, ...commonEvents, deltaUpdate]),
  deltaEdge("message_start"),
  deltaEdge("message_end"),
]);

function entry<Type extends string, Shape extends z.core.$ZodLooseShape>(type: Type, shape: Shape) {
  return z.strictObject({
    type: z.literal(type),
    id: z.string().min(1),
    parentId: z.string().nullable(),
    timestamp: isoTime,
    ...shape,
  });
}

/** Any line of a session file after the header. */
export const sessionEntrySchema = z.discriminatedUnion("type", [
  entry("message", { message: agentMessage }),
  entry("model_change", { provider: z.string(), modelId: z.string() }),
  entry("thinking_level_change", { thinkingLevel: z.string() }),
  entry("compaction", {
    summary: z.string(),
    firstKeptEntryId: z.string(),
    tokensBefore: count,
    details: jsonValue.exactOptional(),
  }),
  entry("branch_summary", { fromId: z.string(), summary: z.string(), details: jsonValue.exactOptional() }),
  entry("custom", { customType: z.string(), data: jsonValue.exactOptional() }),
  entry("custom_message", {
    customType: z.string(),
    content: z.union([z.string(), z.array(userContent)]),
    display: z.boolean(),
    details: jsonValue.exactOptional(),
  }),
  entry("label", { targetId: z.string(), label: z.string().exactOptional() }),
  entry("session_info", { name: z.string().exactOptional() }),
]);

/** The names under which a published schema defines its parts once. */
export const schemaParts = {
  AgentMessage: agentMessage,
  AssistantMessage: assistantMessage,
  BashExecutionMessage: bashExecutionMessage,
  BranchSummaryMessage: branchSummaryMessage,
  CompactionSummaryMessage: compactionSummaryMessage,
  CustomMessage: customMessage,
  ImageContent: imageContent,
  TextContent: textContent,
  ThinkingContent: thinkingContent,
  ToolCall: toolCall,
  ToolOutput: toolOutput,
  ToolResultMessage: toolResultMessage,
  Usage: usage,
  UserMessage: userMessage,
} as const;
