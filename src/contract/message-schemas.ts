import { z } from "zod";
import type { JsonObject, JsonValue } from "./json.ts";

/* The parts of a stream's and a session's lines that both have: values, blocks and messages. */

// Whatever JSON.parse gave is a JSON value, so there is nothing to check but that an object is one.
export const jsonValue = z.unknown() as z.ZodType<JsonValue>;
export const jsonObject = z.record(z.string(), jsonValue) as z.ZodType<JsonObject>;

export const contentIndex = z.number().int().nonnegative();
export const count = z.number().int().nonnegative();
const dollars = z.number().nonnegative();
const timestampMs = z.number().int().describe("Milliseconds since the epoch.");
export const isoTime = z.iso.datetime();

export const textContent = z.strictObject({
  type: z.literal("text"),
  text: z.string(),
  textSignature: z.string().exactOptional(),
});
export const thinkingContent = z.strictObject({
  type: z.literal("thinking"),
  thinking: z.string(),
  thinkingSignature: z.string().exactOptional(),
  redacted: z.boolean().exactOptional(),
});
export const toolCall = z.strictObject({
  type: z.literal("toolCall"),
  id: z.string().min(1),
  name: z.string(),
  arguments: jsonObject.describe("{} until the call is complete, and when the arguments did not parse."),
  thoughtSignature: z.string().exactOptional(),
});
export const imageContent = z.strictObject({
  type: z.literal("image"),
  data: z.string().describe("Base64."),
  mimeType: z.string(),
});
const assistantContent = z.discriminatedUnion("type", [textContent, thinkingContent, toolCall]);
export const userContent = z.discriminatedUnion("type", [textContent, imageContent]);

export const usage = z.strictObject({
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

export const userMessage = z.strictObject({
  role: z.literal("user"),
  content: z.union([z.string(), z.array(userContent)]),
  timestamp: timestampMs,
});
export const assistantMessage = z.strictObject({
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
export const toolResultMessage = z.strictObject({
  role: z.literal("toolResult"),
  toolCallId: z.string().min(1),
  toolName: z.string(),
  content: z.array(userContent),
  details: jsonValue.exactOptional(),
  isError: z.boolean(),
  timestamp: timestampMs,
});
export const bashExecutionMessage = z.strictObject({
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
export const customMessage = z.strictObject({
  role: z.literal("custom"),
  customType: z.string(),
  content: z.union([z.string(), z.array(userContent)]),
  display: z.boolean(),
  details: jsonValue.exactOptional(),
  timestamp: timestampMs,
});
export const branchSummaryMessage = z.strictObject({
  role: z.literal("branchSummary"),
  summary: z.string(),
  fromId: z.string(),
  timestamp: timestampMs,
});
export const compactionSummaryMessage = z.strictObject({
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
export const otherMessage = z.discriminatedUnion("role", otherMessages);
export const agentMessage = z.discriminatedUnion("role", [assistantMessage, ...otherMessages]);

export const toolOutput = z.strictObject({
  content: z.array(userContent),
  details: jsonValue.exactOptional(),
});
