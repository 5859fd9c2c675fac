import { expect, test } from "vitest";
import type { Compat } from "../../src/contract/provider.ts";
import { resolveCompat } from "../../src/providers/models/compat.ts";
import { endpoints } from "../../src/providers/models/endpoints.ts";

/** What every server takes. */
const common: Compat = {
  maxTokensField: "max_tokens",
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
const openai: Compat = {
  ...common,
  maxTokensField: "max_completion_tokens",
  supportsDeveloperRole: true,
  supportsStore: true,
  supportsStrictTools: true,
};
const mistral: Compat = { ...common, supportsUsageInStreaming: false, requiresToolResultName: true };

type Case = [what: string, provider: string, baseUrl: string, modelId: string, expected: Compat];

test.each<Case>([
  ["an unknown server", "mine", "http://127.0.0.1:8080/v1", "m", common],
  ["an address that is none", "mine", "", "m", common],
  ["a provider by name", "mistral", "http://127.0.0.1:1/v1", "devstral", mistral],
  ["a provider by its host", "mine", "https://api.mistral.ai/v1", "devstral", mistral],
  ["OpenAI by its host", "mine", "https://eu.api.openai.com/v1", "m", openai],
  ["Azure", "mine", "https://x.openai.azure.com/openai/v1", "m", openai],
  ["a host before a name", "openai", "https://api.mistral.ai/v1", "m", mistral],
  ["a host that only looks alike", "mine", "https://api.mistral.ai.evil.test/v1", "m", common],
  [
    "a model that is not like its provider's others",
    "mistral",
    "https://api.mistral.ai/v1",
    "magistral-small",
    { ...mistral, thinkingFormat: "none", supportsReasoningEffort: false },
  ],
])("%s has its dialect", (_, provider, baseUrl, modelId, expected) => {
  const compat = resolveCompat({ api: "openai-completions", provider, baseUrl, modelId, overrides: [] });
  expect(compat).toEqual(expected);
});

test("what models.json says counts, the model's word most", () => {
  const overrides = [
    { supportsStore: true, thinkingFormat: "qwen" as const },
    undefined,
    { thinkingFormat: "zai" as const },
  ];
  const subject = {
    api: "openai-completions" as const,
    provider: "mine",
    baseUrl: "http://127.0.0.1",
    modelId: "m",
  };
  expect(resolveCompat({ ...subject, overrides })).toEqual({
    ...common,
    supportsStore: true,
    thinkingFormat: "zai",
  });
});

test("the Responses API is stateless wherever it is served", () => {
  const subject = { provider: "mine", baseUrl: "http://127.0.0.1", modelId: "m", overrides: [] };
  expect(resolveCompat({ ...subject, api: "openai-responses" })).toEqual({
    ...openai,
    supportsToolResultImages: true,
  });
});

test("every built-in provider has an address, and every remote one a variable for its key", () => {
  for (const [name, { baseUrl, keyEnv, isLocal }] of endpoints) {
    const { protocol, hostname, pathname } = new URL(baseUrl);
    expect({
      name,
      protocol,
      isLoopback: hostname === "127.0.0.1",
      endsInSlash: /.\/$/.test(pathname),
      keys: keyEnv.length > 0,
    }).toEqual({
      name,
      protocol: isLocal ? "http:" : "https:",
      isLoopback: isLocal === true,
      endsInSlash: false,
      keys: true,
    });
  }
});
