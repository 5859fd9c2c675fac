import type { AssistantMessage, ModelMessage, ToolResultMessage } from "../../src/contract/messages.ts";
import { zeroUsage } from "../../src/contract/messages.ts";
import type { Model, ToolSchema } from "../../src/contract/provider.ts";

/** A message of the user. */
export function user(content: Extract<ModelMessage, { role: "user" }>["content"]): ModelMessage {
  return { role: "user", content, timestamp: 0 };
}

/** An answer of this model. */
export function assistant(model: Model, content: AssistantMessage["content"]): AssistantMessage {
  return {
    role: "assistant",
    content,
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage: zeroUsage(),
    stopReason: "stop",
    timestamp: 0,
  };
}

/** The result of a call. */
export function result(
  toolCallId: string,
  content: ToolResultMessage["content"] | string,
  isError = false,
): ToolResultMessage {
  return {
    role: "toolResult",
    toolCallId,
    toolName: "read",
    content: typeof content === "string" ? [{ type: "text", text: content }] : content,
    isError,
    timestamp: 0,
  };
}

export const image = { type: "image", data: "aW1n", mimeType: "image/png" } as const;

/** Two tools, one of them without arguments. */
export const tools: readonly ToolSchema[] = [
  { name: "now", description: "Tells the time.", parameters: { type: "object", properties: {} } },
  {
    name: "read",
    description: "Reads a file.",
    parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  },
];
