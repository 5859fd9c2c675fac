import type { JsonObject, JsonValue } from "../../contract/json.ts";
import type {
  AssistantContent,
  AssistantMessage,
  ModelMessage,
  UserContent,
} from "../../contract/messages.ts";
import type { ContextTarget } from "./context.ts";
import { maxResultTokens, shortenResult } from "./results.ts";

/** Makes a message's blocks what the target takes. Gives no message when nothing is left; a tool result always stays. */
export function forModel(message: ModelMessage, target: ContextTarget): ModelMessage[] {
  switch (message.role) {
    case "user": {
      const content = toContent(message.content, target);
      return content.length === 0 ? [] : [{ ...message, content }];
    }
    case "toolResult": {
      const whole = message.content.flatMap((block) => toUserBlock(block, target));
      const content = shortenResult(whole, maxResultTokens(target));
      return [
        { ...message, content: content.length > 0 ? content : [{ type: "text", text: "(no output)" }] },
      ];
    }
    case "assistant": {
      const content = assistantContent(message, target);
      return content.length === 0 ? [] : [{ ...message, content }];
    }
  }
}

const notJson = /\p{Surrogate}|\0/u;
const allNotJson = /\p{Surrogate}|\0/gu;

/** Half a surrogate pair is refused by every provider's JSON parser, NUL by some. */
function cleanText(text: string): string {
  return notJson.test(text) ? text.replace(allNotJson, "\uFFFD") : text;
}

function cleanValue(value: JsonValue): JsonValue {
  if (typeof value === "string") return cleanText(value);
  if (typeof value !== "object" || value === null) return value;
  return Array.isArray(value) ? value.map(cleanValue) : cleanObject(value as JsonObject);
}

function cleanObject(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [cleanText(key), cleanValue(field)]));
}

function toContent(content: string | UserContent[], target: ContextTarget): string | UserContent[] {
  if (typeof content !== "string") return content.flatMap((block) => toUserBlock(block, target));
  return isBlank(content) ? "" : cleanText(content);
}

function toUserBlock(block: UserContent, target: ContextTarget): UserContent[] {
  if (block.type === "text") return isBlank(block.text) ? [] : [{ ...block, text: cleanText(block.text) }];
  if (block.data === "") return [];
  if (target.input.includes("image")) return [block];
  return [
    { type: "text", text: `(an image, ${block.mimeType}, is left out: this model does not take images)` },
  ];
}

/** Nothing when neither text nor calls are left: thinking alone is no answer. */
function assistantContent(message: AssistantMessage, target: ContextTarget): AssistantContent[] {
  const own =
    message.api === target.api && message.provider === target.provider && message.model === target.id;
  const content = message.content.flatMap((block) =>
    own ? toOwnBlock(block, target) : toForeignBlock(block),
  );
  const end = content.findLastIndex((block) => block.type !== "thinking") + 1;
  return content.slice(0, end);
}

function toOwnBlock(block: AssistantContent, target: ContextTarget): AssistantContent[] {
  switch (block.type) {
    case "text":
      return isBlank(block.text) ? [] : [{ ...block, text: cleanText(block.text) }];
    case "toolCall":
      return [{ ...block, name: callableName(block.name), arguments: cleanObject(block.arguments) }];
    case "thinking":
      return isReturnable(block, target) ? [{ ...block, thinking: cleanText(block.thinking) }] : [];
  }
}

/** Signed thinking is proved by its signature; only chat completions take it as plain text. */
function isReturnable(
  { thinking, thinkingSignature, redacted }: Extract<AssistantContent, { type: "thinking" }>,
  target: ContextTarget,
): boolean {
  if (thinkingSignature !== undefined && thinkingSignature !== "") return true;
  return target.api === "openai-completions" && redacted !== true && !isBlank(thinking);
}

function toForeignBlock(block: AssistantContent): AssistantContent[] {
  switch (block.type) {
    case "text":
      return isBlank(block.text) ? [] : [{ type: "text", text: cleanText(block.text) }];
    case "toolCall":
      return [
        {
          type: "toolCall",
          id: block.id,
          name: callableName(block.name),
          arguments: cleanObject(block.arguments),
        },
      ];
    case "thinking":
      return [];
  }
}

/** Every API refuses a whole request for a name that it would not take in a tool's definition. */
function callableName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "unknown";
}

function isBlank(text: string): boolean {
  return !/\S/.test(text);
}
