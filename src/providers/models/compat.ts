import type { Api } from "../../contract/messages.ts";
import type { Compat } from "../../contract/provider.ts";
import { endpoints } from "./endpoints.ts";

/** What one server's dialect of the API is; a model may differ from the rest. */
type Dialect = Compat & { readonly models?: readonly (readonly [id: RegExp, compat: Compat])[] };

export type CompatSubject = {
  readonly api: Api;
  readonly provider: string;
  readonly baseUrl: string;
  readonly modelId: string;
  /** From `models.json`, the provider's and then the model's: what they set counts. */
  readonly overrides: readonly (Compat | undefined)[];
};

/**
 * Which dialect of its API a model's server speaks: that of the base URL's host where it is known, else that of a
 * provider of the same name, else one that every server takes.
 */
export function resolveCompat({ api, provider, baseUrl, modelId, overrides }: CompatSubject): Compat {
  const { models, ...dialect } = dialects[dialectOfHost(baseUrl) ?? provider] ?? {};
  const ofModel = models?.find(([pattern]) => pattern.test(modelId))?.[1];
  return Object.assign({}, commonDialect, ofApi[api], dialect, ofModel, ...overrides);
}

/** What servers take that promise compatibility and no more. */
const commonDialect: Compat = {
  maxTokensField: "max_tokens",
  // A guess of ours that is too high would be refused.
  sendsMaxTokens: false,
  supportsDeveloperRole: false,
  supportsReasoningEffort: true,
  thinkingFormat: "openai",
  supportsStore: false,
  supportsUsageInStreaming: true,
  requiresToolResultName: false,
  supportsStrictTools: false,
  supportsToolResultImages: false,
};

const openai: Dialect = {
  maxTokensField: "max_completion_tokens",
  supportsDeveloperRole: true,
  supportsStore: true,
  supportsStrictTools: true,
};

/** The other APIs have one server each that sets the rules. */
const ofApi: Readonly<Record<Api, Compat>> = {
  "openai-completions": {},
  "openai-responses": { ...openai, supportsToolResultImages: true },
  "openai-codex-responses": { ...openai, supportsToolResultImages: true },
  "anthropic-messages": { supportsToolResultImages: true },
};

/** Models that take `reasoning_effort` at servers where most do not. */
const onlyGptOss: Dialect = {
  supportsReasoningEffort: false,
  models: [[/gpt-oss/i, { supportsReasoningEffort: true }]],
};

const dialects: Readonly<Record<string, Dialect>> = {
  openai,
  "openai-codex": openai,
  azure: openai,
  openrouter: { thinkingFormat: "openrouter", reasoningRoundTripField: "reasoning_details" },
  groq: {
    ...onlyGptOss,
    maxTokensField: "max_completion_tokens",
    models: [[/gpt-oss|qwen/i, { supportsReasoningEffort: true }]],
  },
  deepseek: { thinkingFormat: "deepseek", reasoningRoundTripField: "reasoning_content" },
  xai: {
    maxTokensField: "max_completion_tokens",
    supportsReasoningEffort: false,
    models: [[/grok-3-mini|grok-4\.[3-9]/i, { supportsReasoningEffort: true }]],
  },
  mistral: {
    supportsUsageInStreaming: false,
    requiresToolResultName: true,
    models: [[/magistral/i, { thinkingFormat: "none", supportsReasoningEffort: false }]],
  },
  // Both cut a reply short when no limit is sent.
  together: { ...onlyGptOss, sendsMaxTokens: true },
  fireworks: { reasoningRoundTripField: "reasoning_content", sendsMaxTokens: true },
  cerebras: { ...onlyGptOss, maxTokensField: "max_completion_tokens" },
  huggingface: onlyGptOss,
  moonshotai: {
    thinkingFormat: "none",
    supportsReasoningEffort: false,
    reasoningRoundTripField: "reasoning_content",
    models: [[/k2\.[5-9]/i, { thinkingFormat: "deepseek" }]],
  },
  zai: {
    thinkingFormat: "zai",
    supportsReasoningEffort: false,
    reasoningRoundTripField: "reasoning_content",
  },
  qwen: { thinkingFormat: "qwen", supportsReasoningEffort: false },
};

/** Hosts that no built-in provider has, by the end of their names. */
const otherHosts: readonly (readonly [end: string, dialect: string])[] = [
  [".openai.azure.com", "azure"],
  [".services.ai.azure.com", "azure"],
  [".aliyuncs.com", "qwen"],
  [".bigmodel.cn", "zai"],
  [".moonshot.cn", "moonshotai"],
  [".openai.com", "openai"],
  [".together.ai", "together"],
];

function dialectOfHost(baseUrl: string): string | undefined {
  if (!URL.canParse(baseUrl)) return undefined;
  const host = new URL(baseUrl).hostname;
  for (const [name, endpoint] of endpoints) {
    if (!endpoint.isLocal && new URL(endpoint.baseUrl).hostname === host) return name;
  }
  return otherHosts.find(([end]) => host.endsWith(end))?.[1];
}
