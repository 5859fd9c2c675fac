import type { JsonObject } from "../../contract/json.ts";
import type {
  AssistantContent,
  ModelMessage,
  ToolResultMessage,
  UserContent,
} from "../../contract/messages.ts";
import type { Model, ProviderRequest, ToolSchema } from "../../contract/provider.ts";
import { imageNote, isOwn, toToolName } from "../history.ts";
import { type Conversion, carryOn, keepTools } from "../kept.ts";
import { outputLimit } from "../output-limit.ts";
import { createIdMapper } from "../tool-call-ids.ts";
import { supportsOutputSchema, toThinkingParams } from "./thinking.ts";

type Block = JsonObject & { readonly type: string };
type Turn = { role: "user" | "assistant"; content: Block[] };

const cacheControl = { type: "ephemeral" } as const;

/**
 * Makes the body of a Messages request. The system prompt, the tools and the conversation so far end in cache marks (at
 * most the four that the API takes), so that every next request of the session reads what this one wrote.
 */
export function toParams(request: ProviderRequest): JsonObject {
  const { model } = request;
  const maxTokens = outputLimit(request);
  const { thinking, effort } = toThinkingParams(model, request.thinkingLevel, maxTokens);
  const { turns } = carryOn(model, request.messages, conversionFor(model));
  const outputConfig = {
    ...(effort !== undefined && { effort }),
    ...(request.outputSchema !== undefined &&
      supportsOutputSchema(model) && { format: { type: "json_schema", schema: request.outputSchema } }),
  };
  return {
    model: model.id,
    max_tokens: maxTokens,
    stream: true,
    ...(request.systemPrompt.trim() !== "" && {
      system: [{ type: "text", text: request.systemPrompt, cache_control: cacheControl }],
    }),
    messages: markUserTurns(turns),
    ...(request.tools.length > 0 && {
      tools: keepTools(model, request.tools, () => toTools(request.tools)),
    }),
    ...(thinking !== undefined && {
      thinking: thinking.type === "enabled" && startsUnthought(turns) ? { type: "disabled" } : thinking,
    }),
    ...(Object.keys(outputConfig).length > 0 && { output_config: outputConfig }),
  };
}

type Sent = { readonly turns: Turn[]; readonly toId: (id: string) => string };

function conversionFor(model: Model): Conversion<Sent> {
  return {
    start: () => ({ turns: [], toId: createIdMapper("anthropic") }),
    take({ turns, toId }, message) {
      const content = toBlocks(message, model, toId);
      if (content.length === 0) return;
      const role = message.role === "assistant" ? "assistant" : "user";
      const last = turns.at(-1);
      // The API wants all results of one assistant message in the one user message behind it.
      if (last?.role === role) turns[turns.length - 1] = { role, content: [...last.content, ...content] };
      else turns.push({ role, content });
    },
  };
}

function toBlocks(message: ModelMessage, model: Model, toId: (id: string) => string): Block[] {
  switch (message.role) {
    case "user":
      return toUserBlocks(message.content, model);
    case "toolResult":
      return [toToolResult(message, model, toId)];
    case "assistant": {
      const own = isOwn(message, model);
      return message.content.flatMap((block) => toAssistantBlock(block, own, toId));
    }
  }
}

function toUserBlocks(content: string | readonly UserContent[], model: Model): Block[] {
  const blocks = typeof content === "string" ? [{ type: "text", text: content } as const] : content;
  return blocks.flatMap((block): Block[] => {
    // Blank text is refused by the API.
    if (block.type === "text") return block.text.trim() === "" ? [] : [{ type: "text", text: block.text }];
    if (!model.input.includes("image")) return [{ type: "text", text: imageNote }];
    return [{ type: "image", source: { type: "base64", media_type: block.mimeType, data: block.data } }];
  });
}

function toToolResult(message: ToolResultMessage, model: Model, toId: (id: string) => string): Block {
  const content = toUserBlocks(message.content, model);
  return {
    type: "tool_result",
    tool_use_id: toId(message.toolCallId),
    content: content.length > 0 ? content : [{ type: "text", text: "(no output)" }],
    ...(message.isError && { is_error: true }),
  };
}

function toAssistantBlock(block: AssistantContent, own: boolean, toId: (id: string) => string): Block[] {
  switch (block.type) {
    case "text":
      return block.text.trim() === "" ? [] : [{ type: "text", text: block.text }];
    case "thinking":
      if (!own || !block.thinkingSignature) return [];
      return block.redacted
        ? [{ type: "redacted_thinking", data: block.thinkingSignature }]
        : [{ type: "thinking", thinking: block.thinking, signature: block.thinkingSignature }];
    case "toolCall":
      return [{ type: "tool_use", id: toId(block.id), name: toToolName(block.name), input: block.arguments }];
  }
}

function toTools(tools: readonly ToolSchema[]): JsonObject[] {
  return tools.map(({ name, description, parameters }, i) => ({
    name,
    description,
    input_schema: { type: "object", ...parameters },
    ...(i === tools.length - 1 && { cache_control: cacheControl }),
  }));
}

/** Marks the end of this request and of the one before: a mark is looked up only so many blocks back. */
function markUserTurns(turns: readonly Turn[]): Turn[] {
  const users = turns.flatMap((turn, i) => (turn.role === "user" ? [i] : [])).slice(-2);
  return turns.map((turn, i) => (users.includes(i) ? { ...turn, content: markLast(turn.content) } : turn));
}

function markLast(content: readonly Block[]): Block[] {
  return content.map((block, i) => (i === content.length - 1 ? marked(block) : block));
}

function marked(block: Block): Block {
  return { ...block, cache_control: cacheControl };
}

/**
 * Whether the turn that the request continues began without thinking (by another model, or before thinking was
 * turned on): a budget is refused there until the next prompt.
 */
function startsUnthought(turns: readonly Turn[]): boolean {
  const prompt = turns.findLastIndex(
    (turn) => turn.role === "user" && turn.content.some((b) => b.type !== "tool_result"),
  );
  const first = turns.slice(prompt + 1).find((turn) => turn.role === "assistant")?.content[0]?.type;
  return first !== undefined && first !== "thinking" && first !== "redacted_thinking";
}
