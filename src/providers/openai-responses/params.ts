import { isJsonObject, type JsonObject, type JsonValue } from "../../contract/json.ts";
import type {
  AssistantContent,
  AssistantMessage,
  ModelMessage,
  TextContent,
  ToolResultMessage,
  UserContent,
} from "../../contract/messages.ts";
import type { Model, ProviderRequest, ToolSchema } from "../../contract/provider.ts";
import { imageNote, isOwn, toToolName } from "../history.ts";
import { parseJson } from "../json-values.ts";
import { type Conversion, carryOn, keepTools } from "../kept.ts";
import { isAnswerSchema, isStrict } from "../openai-answer-schema.ts";
import { outputLimit } from "../output-limit.ts";
import { createIdMapper } from "../tool-call-ids.ts";
import { toWellFormedText } from "../well-formed.ts";
import { toReasoning } from "./reasoning.ts";

/** The least that the API takes for `max_output_tokens`. */
const minOutputTokens = 16;

/**
 * Makes the body of a Responses request. Nothing is kept at the provider: the whole conversation is sent, with the
 * model's own reasoning in encrypted form.
 */
export function toParams(request: ProviderRequest): JsonObject {
  const { model, systemPrompt } = request;
  const text = toFormat(request.outputSchema);
  const sendsLimit = request.maxTokens !== undefined || model.compat.sendsMaxTokens;
  const maxTokens = sendsLimit ? outputLimit(request) : undefined;
  const role = model.reasoning && model.compat.supportsDeveloperRole === true ? "developer" : "system";
  const system = systemPrompt.trim() === "" ? [] : [{ role, content: systemPrompt }];
  return {
    ...toSharedParams(request),
    input: [...system, ...toInput(request.messages, model)],
    ...(maxTokens !== undefined && { max_output_tokens: Math.max(minOutputTokens, maxTokens) }),
    ...(text.format !== undefined && { text }),
  };
}

/**
 * Makes the body of a request to the Codex endpoint, which wants `instructions` and takes no bound of the output.
 */
export function toCodexParams(request: ProviderRequest): JsonObject {
  const { outputSchema, systemPrompt } = request;
  return {
    ...toSharedParams(request),
    instructions: systemPrompt.trim() === "" ? "You are a helpful assistant." : systemPrompt,
    input: toInput(request.messages, request.model),
    tool_choice: "auto",
    parallel_tool_calls: true,
    text: { verbosity: "medium", ...toFormat(outputSchema) },
  };
}

function toSharedParams({ model, tools, thinkingLevel, sessionId }: ProviderRequest): JsonObject {
  const reasoning = toReasoning(model, thinkingLevel);
  return {
    model: model.id,
    stream: true,
    ...(model.compat.supportsStore !== false && { store: false }),
    prompt_cache_key: sessionId,
    ...(tools.length > 0 && {
      tools: keepTools(model, tools, () => tools.map((tool) => toTool(tool, model))),
    }),
    ...(reasoning !== undefined && { reasoning }),
    ...(model.reasoning && { include: ["reasoning.encrypted_content"] }),
  };
}

function toTool({ name, description, parameters }: ToolSchema, model: Model): JsonObject {
  // Without a word, the API takes `strict` for true and refuses schemas with optional properties.
  const strict = model.compat.supportsStrictTools === false ? {} : { strict: false };
  return { type: "function", name, description, parameters, ...strict };
}

function toFormat(schema: JsonObject | undefined): { format?: JsonObject } {
  if (schema === undefined || !isAnswerSchema(schema)) return {};
  return { format: { type: "json_schema", name: "answer", schema, strict: isStrict(schema) } };
}

function toInput(messages: readonly ModelMessage[], model: Model): JsonObject[] {
  const { input, waiting } = carryOn(model, messages, conversionFor(model));
  return [...input, ...toUserItems([...waiting])];
}

type Sent = {
  readonly input: JsonObject[];
  /** What results cannot hold; it comes behind the last one, since those of one message must not be parted. */
  readonly waiting: JsonObject[];
  readonly toId: (id: string) => string;
};

function conversionFor(model: Model): Conversion<Sent> {
  return {
    start: () => ({ input: [], waiting: [], toId: createIdMapper("responses") }),
    take({ input, waiting, toId }, message) {
      if (message.role !== "toolResult") input.push(...toUserItems(waiting.splice(0)));
      switch (message.role) {
        case "user":
          input.push(...toUserItems(toParts(message.content, model)));
          break;
        case "assistant":
          input.push(...toAssistantItems(message, model, toId));
          break;
        case "toolResult":
          input.push(toOutputItem(message, model, toId));
          if (model.compat.supportsToolResultImages === false) waiting.push(...toImages(message, model));
      }
    },
  };
}

function toUserItems(content: readonly JsonObject[]): JsonObject[] {
  return content.length === 0 ? [] : [{ role: "user", content }];
}

function toParts(content: string | readonly UserContent[], model: Model): JsonObject[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "input_text", text: content }];
  return content.flatMap((block): JsonObject[] => {
    if (block.type === "text") return block.text === "" ? [] : [{ type: "input_text", text: block.text }];
    if (!model.input.includes("image")) {
      return [{ type: "input_text", text: imageNote }];
    }
    const url = `data:${block.mimeType};base64,${block.data}`;
    return [{ type: "input_image", detail: "auto", image_url: url }];
  });
}

function toOutputItem(message: ToolResultMessage, model: Model, toId: (id: string) => string): JsonObject {
  return {
    type: "function_call_output",
    call_id: toId(message.toolCallId),
    output: toOutput(message, model),
  };
}

function toOutput(message: ToolResultMessage, model: Model): JsonValue {
  const parts = toParts(message.content, model);
  const texts = parts.flatMap((part) => (part.type === "input_text" ? [part.text] : []));
  const hasImages = texts.length < parts.length;
  if (hasImages && model.compat.supportsToolResultImages !== false) return parts;
  return texts.join("\n") || (hasImages ? "(see the attached image)" : "(no output)");
}

function toImages({ content }: ToolResultMessage, model: Model): JsonObject[] {
  const images = content.filter((block) => block.type === "image");
  return toParts(images, model).filter((part) => part.type === "input_image");
}

function toAssistantItems(
  message: AssistantMessage,
  model: Model,
  toId: (id: string) => string,
): JsonObject[] {
  const own = isOwn(message, model);
  const items = message.content.flatMap((block) => toAssistantItem(block, own, toId));
  // Reasoning without the item that it led to is refused.
  const last = items.findLastIndex((item) => item.type !== "reasoning");
  return items.slice(0, last + 1);
}

function toAssistantItem(block: AssistantContent, own: boolean, toId: (id: string) => string): JsonObject[] {
  switch (block.type) {
    case "text":
      return block.text === "" ? [] : [toMessageItem(block, own)];
    case "thinking":
      return own ? toReasoningItems(block.thinkingSignature) : [];
    case "toolCall":
      return [
        {
          type: "function_call",
          call_id: toId(block.id),
          name: toToolName(block.name),
          // Made well-formed first: as JSON text it no longer shows half a character.
          arguments: toWellFormedText(block.arguments),
        },
      ];
  }
}

function toMessageItem({ text, textSignature }: TextContent, own: boolean): JsonObject {
  const phase = own ? parseObject(textSignature)?.phase : undefined;
  return {
    type: "message",
    role: "assistant",
    content: [{ type: "output_text", text }],
    ...(typeof phase === "string" && { phase }),
  };
}

/** Only encrypted reasoning can be sent back: the provider knows nothing of an id that it did not store. */
function toReasoningItems(signature: string | undefined): JsonObject[] {
  const item = parseObject(signature);
  if (item?.type !== "reasoning" || typeof item.encrypted_content !== "string") return [];
  return [item];
}

function parseObject(text: string | undefined): JsonObject | undefined {
  const value = parseJson(text);
  return isJsonObject(value) ? value : undefined;
}
