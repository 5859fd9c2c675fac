import * as z from "zod/mini";
import type { CustomProvider } from "../contract/config.ts";

const text = z.string().check(z.regex(/\S/, "it must not be blank"));
const tokens = z.int().check(z.positive());
const price = z.number().check(z.nonnegative());

const compatSchema = z.strictObject({
  maxTokensField: z.exactOptional(z.enum(["max_tokens", "max_completion_tokens"])),
  supportsDeveloperRole: z.exactOptional(z.boolean()),
  supportsReasoningEffort: z.exactOptional(z.boolean()),
  thinkingFormat: z.exactOptional(z.enum(["openai", "openrouter", "zai", "qwen", "deepseek", "none"])),
  supportsStore: z.exactOptional(z.boolean()),
  supportsUsageInStreaming: z.exactOptional(z.boolean()),
  requiresToolResultName: z.exactOptional(z.boolean()),
  reasoningRoundTripField: z.exactOptional(z.enum(["reasoning_content", "reasoning", "reasoning_details"])),
  supportsStrictTools: z.exactOptional(z.boolean()),
  supportsToolResultImages: z.exactOptional(z.boolean()),
});

const modelSchema = z.strictObject({
  id: text,
  name: z.exactOptional(text),
  reasoning: z.exactOptional(z.boolean()),
  input: z.exactOptional(z.array(z.enum(["text", "image"])).check(z.minLength(1))),
  contextWindow: z.exactOptional(tokens),
  maxTokens: z.exactOptional(tokens),
  cost: z.exactOptional(
    z.strictObject({
      input: price,
      output: price,
      cacheRead: z.exactOptional(price),
      cacheWrite: z.exactOptional(price),
    }),
  ),
  compat: z.exactOptional(compatSchema),
});

const baseUrl = z.string().check(
  z.refine((url: string) => isHttpUrl(url), "it has to be an http:// or https:// address"),
  z.refine((url: string) => !hasUserInfo(url), "credentials go into apiKey or headers, not into the address"),
);

const headers = z
  .record(z.string(), z.string().check(z.regex(/^[\t\x20-\x7e\x80-\xff]*$/, "it is no valid header value")))
  .check(
    z.refine(
      (names) => Object.keys(names).every((name) => /^[!#$%&'*+.^_`|~\w-]+$/.test(name)),
      "a header's name is not valid",
    ),
  );

/** What may stand for one provider in `models.json`. */
export const providerSchema = z.strictObject({
  baseUrl: z.exactOptional(baseUrl),
  api: z.exactOptional(
    z.enum(["openai-completions", "openai-responses", "openai-codex-responses", "anthropic-messages"]),
  ),
  apiKey: z.exactOptional(text),
  headers: z.exactOptional(headers),
  compat: z.exactOptional(compatSchema),
  models: z.exactOptional(z.array(modelSchema)),
}) satisfies z.ZodMiniType<CustomProvider>;

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

function hasUserInfo(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { username, password } = new URL(text);
  return username !== "" || password !== "";
}
