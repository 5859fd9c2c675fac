import { isJsonObject, type JsonObject, type JsonValue } from "../../contract/json.ts";
import type {
  AssistantMessage,
  ImageContent,
  ModelMessage,
  ThinkingContent,
  ToolCall,
  ToolResultMessage,
  UserContent,
} from "../../contract/messages.ts";
import type { Model } from "../../contract/provider.ts";
import { imageNote, isOwn, toToolName } from "../history.ts";
import { parseJson } from "../json-values.ts";
import { type Conversion, carryOn } from "../kept.ts";
import { createIdMapper } from "../tool-call-ids.ts";
import { toWellFormedText } from "../well-formed.ts";

/** Makes the messages of a request: the system prompt and the conversation, as the model's server takes them. */
export function toMessages(
  systemPrompt: string,
  messages: readonly ModelMessage[],
  model: Model,
): JsonObject[] {
  const role = model.reasoning && model.compat.supportsDeveloperRole ? "developer" : "system";
  const system = systemPrompt.trim() === "" ? [] : [{ role, content: systemPrompt }];
  const { sent, images } = carryOn(model, messages, conversionFor(model));
  return [...system, ...sent, ...toImageMessage(images)];
}

type Sent = {
  readonly sent: JsonObject[];
  /** Of the results so far; they are shown behind the last one. */
  readonly images: ImageContent[];
  readonly toId: (id: string) => string;
};

function conversionFor(model: Model): Conversion<Sent> {
  return {
    start: () => ({ sent: [], images: [], toId: createIdMapper(isMistral(model) ? "mistral" : "openai") }),
    take({ sent, images, toId }, message) {
      if (message.role !== "toolResult") sent.push(...toImageMessage(images.splice(0)));
      switch (message.role) {
        case "user":
          sent.push(...toUserMessage(message.content, model));
          break;
        case "assistant":
          sent.push(...toAssistantMessage(message, model, toId));
          break;
        case "toolResult":
          sent.push(toToolMessage(message, model, toId));
          if (!model.compat.supportsToolResultImages) images.push(...imagesOf(message.content, model));
      }
    },
  };
}

function isMistral(model: Model): boolean {
  return model.provider === "mistral" || /^https?:\/\/[^/]*\bmistral\.ai\b/.test(model.baseUrl);
}

function toUserMessage(content: string | readonly UserContent[], model: Model): JsonObject[] {
  const blocks = typeof content === "string" ? [{ type: "text", text: content } as const] : content;
  const parts = toParts(blocks, model);
  return parts.length === 0 ? [] : [{ role: "user", content: joinTexts(parts) }];
}

/** All results of a message have to follow it, so what they show comes behind the last one. */
function toImageMessage(images: readonly ImageContent[]): JsonObject[] {
  if (images.length === 0) return [];
  const text = { type: "text", text: "The images of the tool results above:" };
  return [{ role: "user", content: [text, ...images.map(toImagePart)] }];
}

function toToolMessage(message: ToolResultMessage, model: Model, toId: (id: string) => string): JsonObject {
  const parts = toParts(message.content, model);
  const texts = parts.filter(({ type }) => type === "text");
  const noText = texts.length < parts.length ? "(see the image)" : "(no output)";
  const shown = model.compat.supportsToolResultImages ? parts : texts;
  return {
    role: "tool",
    tool_call_id: toId(message.toolCallId),
    ...(model.compat.requiresToolResultName && { name: toToolName(message.toolName) }),
    content: shown.length === 0 ? noText : joinTexts(shown),
  };
}

function toParts(blocks: readonly UserContent[], model: Model): JsonObject[] {
  return blocks.flatMap((block): JsonObject[] => {
    if (block.type === "text") return block.text === "" ? [] : [{ type: "text", text: block.text }];
    return [model.input.includes("image") ? toImagePart(block) : { type: "text", text: imageNote }];
  });
}

function imagesOf(blocks: readonly UserContent[], model: Model): ImageContent[] {
  return model.input.includes("image") ? blocks.filter((block) => block.type === "image") : [];
}

function toImagePart({ mimeType, data }: ImageContent): JsonObject {
  return { type: "image_url", image_url: { url: `data:${mimeType};base64,${data}` } };
}

/** Content of texts alone is sent as one text, which every server takes. */
function joinTexts(parts: readonly JsonObject[]): JsonValue {
  const texts = parts.map(({ text }) => text);
  return texts.every((text) => typeof text === "string") ? texts.join("\n") : parts;
}

function toAssistantMessage(
  message: AssistantMessage,
  model: Model,
  toId: (id: string) => string,
): JsonObject[] {
  const own = isOwn(message, model);
  const texts = message.content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  // This API streams one text, which thoughts and calls may have parted.
  const text = texts.join(message.api === model.api ? "" : "\n\n");
  const calls = message.content.filter((block) => block.type === "toolCall");
  if (text === "" && calls.length === 0) return [];
  const thoughts = own ? message.content.filter((block) => block.type === "thinking") : [];
  return [
    {
      role: "assistant",
      content: text === "" ? null : text,
      ...toReasoning(thoughts, model, calls.length > 0),
      ...(calls.length > 0 && { tool_calls: calls.map((call) => toToolCall(call, own, toId)) }),
    },
  ];
}

/** What the model thought, in the field that its server reads it from. */
function toReasoning(thoughts: readonly ThinkingContent[], model: Model, hasCalls: boolean): JsonObject {
  const field = model.compat.reasoningRoundTripField;
  if (field === undefined) return {};
  const plain = thoughts.map(({ thinking }) => thinking).join("");
  if (field !== "reasoning_details") {
    // Thinking DeepSeek refuses a history in which a message with calls lacks the field, whoever wrote the message.
    const isRequired = hasCalls && model.reasoning && model.compat.thinkingFormat === "deepseek";
    return plain === "" && !isRequired ? {} : { [field]: plain };
  }
  const details = thoughts.flatMap(({ thinkingSignature }) => parseArray(thinkingSignature));
  if (details.length > 0) return { reasoning_details: details };
  return plain === "" ? {} : { reasoning: plain };
}

function toToolCall(call: ToolCall, own: boolean, toId: (id: string) => string): JsonObject {
  const extra = own ? parseObject(call.thoughtSignature) : undefined;
  return {
    id: toId(call.id),
    type: "function",
    // Made well-formed first: as JSON text it no longer shows half a character.
    function: {
      name: toToolName(call.name),
      arguments: toWellFormedText(call.arguments),
    },
    ...(extra !== undefined && { extra_content: extra }),
  };
}

function parseArray(text: string | undefined): JsonValue[] {
  const value = parseJson(text);
  return Array.isArray(value) ? value : [];
}

function parseObject(text: string | undefined): JsonValue | undefined {
  const value = parseJson(text);
  return isJsonObject(value) ? value : undefined;
}
