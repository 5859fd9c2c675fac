import { expect, test } from "vitest";
import { ProviderError } from "../../src/contract/errors.ts";
import type { Api } from "../../src/contract/messages.ts";
import type { Model } from "../../src/contract/provider.ts";
import { createProvider } from "../../src/providers/registry.ts";

const paths: Readonly<Record<Api, string>> = {
  "openai-completions": "/v1/chat/completions",
  "openai-responses": "/v1/responses",
  "openai-codex-responses": "/v1/responses",
  "anthropic-messages": "/v1/v1/messages",
};

test.each(Object.entries(paths) as [Api, string][])(
  "%s is asked at %s, once, and a refusal is an error",
  async (api, path) => {
    const asked: string[] = [];
    const model: Model = {
      id: "m",
      name: "m",
      provider: "mine",
      api,
      baseUrl: "http://127.0.0.1:1/v1",
      reasoning: false,
      input: ["text"],
      contextWindow: 1000,
      maxTokens: 100,
      headers: {},
      compat: {},
    };
    const provider = await createProvider(model, {
      credentials: { apiKey: "k" },
      secrets: [],
      timeouts: { firstEventMs: 5000, idleMs: 5000 },
      fetch: async (url) => {
        asked.push(url instanceof Request ? url.url : String(url));
        return Response.json({ error: { message: "wrong key" } }, { status: 401 });
      },
    });
    const request = {
      model,
      systemPrompt: "s",
      messages: [{ role: "user" as const, content: "hi", timestamp: 0 }],
      tools: [],
      thinkingLevel: "off" as const,
      sessionId: "s",
    };
    const error = await provider
      .stream(request, new AbortController().signal)
      .next()
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({ kind: "auth", status: 401 });
    expect(asked).toEqual([`http://127.0.0.1:1${path}`]);
  },
);
