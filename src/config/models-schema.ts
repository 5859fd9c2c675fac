import type { CustomProvider } from "../contract/config.ts";
import { boolean, list, number, object, oneOf, record, type Schema, string, wholeNumber } from "./check.ts";

const text = string([(value) => value.trim() !== "", "it must not be blank"]);
const tokens = wholeNumber({ above: 0 });
const price = number({ min: 0 });

const compat = object({
  maxTokensField: oneOf(["max_tokens", "max_completion_tokens"]),
  sendsMaxTokens: boolean,
  supportsDeveloperRole: boolean,
  supportsReasoningEffort: boolean,
  thinkingFormat: oneOf(["openai", "openrouter", "zai", "qwen", "deepseek", "none"]),
  supportsStore: boolean,
  supportsUsageInStreaming: boolean,
  requiresToolResultName: boolean,
  reasoningRoundTripField: oneOf(["reasoning_content", "reasoning", "reasoning_details"]),
  supportsStrictTools: boolean,
  supportsToolResultImages: boolean,
});

const model = object(
  {
    name: text,
    reasoning: boolean,
    input: list(oneOf(["text", "image"]), { isEmptyAllowed: false }),
    contextWindow: tokens,
    maxTokens: tokens,
    cost: object({ cacheRead: price, cacheWrite: price }, { input: price, output: price }),
    compat,
  },
  { id: text },
);

const baseUrl = string(
  [isHttpUrl, "it has to be an http:// or https:// address"],
  [hasNoCredentials, "credentials go into apiKey or headers, not into the address"],
);

const headerValue = string([
  (value) => /^[\t\x20-\x7e\x80-\xff]*$/.test(value),
  "it is no valid header value",
]);

/** What may stand for one provider in `models.json`. */
export const providerSchema: Schema<CustomProvider> = object({
  baseUrl,
  api: oneOf(["openai-completions", "openai-responses", "openai-codex-responses", "anthropic-messages"]),
  apiKey: text,
  headers: record(/^[!#$%&'*+.^_`|~\w-]+$/, headerValue),
  compat,
  models: list(model, { isEmptyAllowed: true }),
});

function isHttpUrl(value: string): boolean {
  return URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
}

function hasNoCredentials(value: string): boolean {
  const { username, password } = new URL(value);
  return username === "" && password === "";
}
