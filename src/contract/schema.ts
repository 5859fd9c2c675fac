import { z } from "zod";
import {
  agentMessage,
  assistantMessage,
  bashExecutionMessage,
  branchSummaryMessage,
  compactionSummaryMessage,
  contentIndex,
  count,
  customMessage,
  imageContent,
  isoTime,
  jsonObject,
  jsonValue,
  otherMessage,
  textContent,
  thinkingContent,
  toolCall,
  toolOutput,
  toolResultMessage,
  usage,
  userContent,
  userMessage,
} from "./message-schemas.ts";

// Loading zod takes longer than a whole start may: nothing that a run uses imports this file at its top.

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
