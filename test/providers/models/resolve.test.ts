import { describe, expect, test } from "vitest";
import { defaultSettings } from "../../../src/config/settings.ts";
import type { CustomProvider, ModelsFile, Settings } from "../../../src/contract/config.ts";
import { StartupError } from "../../../src/contract/errors.ts";
import type { Catalog, ModelFacts } from "../../../src/providers/models/catalog.ts";
import { chooseModel, type ModelRequest } from "../../../src/providers/models/resolve.ts";

const facts: ModelFacts = {
  name: "M",
  reasoning: true,
  input: ["text"],
  contextWindow: 1000,
  maxTokens: 100,
};

/** A small catalog, so that the cases do not change with the shipped one. */
const listed: Readonly<Record<string, readonly string[]>> = {
  anthropic: ["claude-sonnet-4-6", "claude-opus-4-7"],
  openai: ["gpt-5.5", "gpt-5.5-mini", "shared"],
  openrouter: ["openai/gpt-5.5", "anthropic/claude-sonnet-4.6", "x/free:high", "shared"],
  groq: ["grok-like-fast"],
};
const catalog: Catalog = {
  ids: (provider) => listed[provider] ?? [],
  facts: (provider, id) =>
    listed[provider]?.includes(id) ? { ...facts, name: id, reasoning: !id.includes("mini") } : undefined,
};

type Case = {
  request?: Partial<ModelRequest>;
  env?: Record<string, string>;
  settings?: Partial<Settings>;
  providers?: Record<string, CustomProvider>;
  broken?: ModelsFile["broken"];
  /** What GET /models answers, by URL. */
  lists?: Record<string, unknown>;
};

async function choose({ request, env = {}, settings, providers = {}, broken = new Map(), lists = {} }: Case) {
  const warnings: string[] = [];
  const asked: string[] = [];
  const chosen = await chooseModel(
    { offline: false, ...request },
    {
      env: { HOME: "/nonexistent", ...env },
      settings: { ...defaultSettings, ...settings },
      modelsFile: { providers: new Map(Object.entries(providers)), broken },
      catalog,
      fetch: async (url) => {
        asked.push(String(url));
        const body = lists[String(url)];
        return body === undefined ? new Response("no", { status: 404 }) : Response.json(body);
      },
      runCommand: async () => ({ status: 0, stdout: "from-command\n" }),
      warn: (line) => warnings.push(line),
    },
  );
  const { model, credentials, thinkingLevel } = chosen;
  return {
    name: `${model.provider}/${model.id}`,
    key: credentials.apiKey,
    level: thinkingLevel,
    chosen,
    warnings,
    asked,
  };
}

async function refusal(given: Case): Promise<string> {
  const error = await choose(given).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(StartupError);
  const { message } = error as StartupError;
  expect(message).not.toContain("\n");
  return message;
}

const local = { baseUrl: "http://127.0.0.1:1/v1" };
const openaiKey = { OPENAI_API_KEY: "sk-openai" };
const routerKey = { OPENROUTER_API_KEY: "sk-router" };

describe("a model that was asked for", () => {
  test.each<[string, Case, string]>([
    ["an id", { request: { model: "gpt-5.5" }, env: openaiKey }, "openai/gpt-5.5 medium"],
    ["provider/id", { request: { model: "openai/gpt-5.5" }, env: openaiKey }, "openai/gpt-5.5 medium"],
    ["a level", { request: { model: "gpt-5.5:high" }, env: openaiKey }, "openai/gpt-5.5 high"],
    ["provider/id:level", { request: { model: "openai/gpt-5.5:off" }, env: openaiKey }, "openai/gpt-5.5 off"],
    [
      "--thinking before the suffix",
      { request: { model: "gpt-5.5:high", thinking: "low" }, env: openaiKey },
      "openai/gpt-5.5 low",
    ],
    [
      "an id that ends like a level",
      { request: { model: "x/free:high" }, env: routerKey },
      "openrouter/x/free:high medium",
    ],
    [
      "such an id with a level",
      { request: { model: "x/free:high:low" }, env: routerKey },
      "openrouter/x/free:high low",
    ],
    [
      "a slash in an id",
      { request: { model: "openai/gpt-5.5" }, env: routerKey },
      "openrouter/openai/gpt-5.5 medium",
    ],
    [
      "the named provider before an id with a slash",
      { request: { model: "openai/gpt-5.5" }, env: { ...openaiKey, ...routerKey } },
      "openai/gpt-5.5 medium",
    ],
    [
      "the provider apart",
      { request: { provider: "openrouter", model: "openai/gpt-5.5" }, env: routerKey },
      "openrouter/openai/gpt-5.5 medium",
    ],
    [
      "the provider twice",
      { request: { provider: "openai", model: "openai/gpt-5.5" }, env: openaiKey },
      "openai/gpt-5.5 medium",
    ],
    [
      "one usable provider of two",
      { request: { model: "shared" }, env: routerKey },
      "openrouter/shared medium",
    ],
    [
      "a part that is unique",
      { request: { model: "opus" }, env: { ANTHROPIC_API_KEY: "k" } },
      "anthropic/claude-opus-4-7 medium",
    ],
    ["another case", { request: { model: "GPT-5.5" }, env: openaiKey }, "openai/gpt-5.5 medium"],
    [
      "the last part of an id",
      { request: { model: "claude-sonnet-4.6" }, env: routerKey },
      "openrouter/anthropic/claude-sonnet-4.6 medium",
    ],
    [
      "a part that is unique where it can be used",
      { request: { model: "fast" }, providers: { mine: { ...local, models: [{ id: "fast-1" }] } } },
      "mine/fast-1 off",
    ],
    ["anything of a local provider", { request: { model: "ollama/qwen3:8b" } }, "ollama/qwen3:8b off"],
    ["a level there", { request: { model: "ollama/qwen3:8b:high" } }, "ollama/qwen3:8b high"],
    [
      "anything of a custom provider",
      { request: { model: "mine/a/b" }, providers: { mine: local } },
      "mine/a/b off",
    ],
    ["--api-key alone", { request: { model: "gpt-5.5", apiKey: " k " } }, "openai/gpt-5.5 medium"],
  ])("may be %s", async (_, given, expected) => {
    const { name, level, warnings, asked } = await choose(given);
    expect(`${name} ${level}`).toBe(expected);
    expect({ warnings, asked }).toEqual({ warnings: [], asked: [] });
  });

  test.each<[string, Case, string]>([
    [
      "is not known",
      { request: { model: "gpt-5.6" }, env: openaiKey },
      "unknown model gpt-5.6: the nearest are openai/gpt-5.5, openai/gpt-5.5-mini, openai/shared",
    ],
    [
      "is not known, without a key anywhere",
      { request: { model: "no/such" } },
      "unknown model no/such: the nearest are ",
    ],
    [
      "has no key",
      { request: { model: "gpt-5.5" } },
      "no credentials for openai: set OPENAI_API_KEY or give --api-key",
    ],
    [
      "has several providers without a key",
      { request: { model: "shared" } },
      "no credentials for openai: set OPENAI_API_KEY or give --api-key; no credentials for openrouter: set OPENROUTER_API_KEY or give --api-key",
    ],
    [
      "has several usable providers",
      { request: { model: "shared" }, env: { ...openaiKey, ...routerKey } },
      "model shared may mean openai/shared, openrouter/shared: name one of them in full",
    ],
    [
      "is part of several",
      { request: { model: "claude" }, env: { ANTHROPIC_API_KEY: "k" } },
      "model claude may mean anthropic/claude-sonnet-4-6, anthropic/claude-opus-4-7: name one of them in full",
    ],
    [
      "is of an unknown provider",
      { request: { provider: "opnai", model: "x" } },
      "unknown provider opnai: did you mean openai?",
    ],
    [
      "has a key of blanks",
      { request: { model: "gpt-5.5" }, env: { OPENAI_API_KEY: "  " } },
      "no credentials for openai: set OPENAI_API_KEY",
    ],
    [
      "needs a variable that models.json names",
      {
        request: { model: "openai/gpt-5.5" },
        env: openaiKey,
        providers: { openai: { ...local, apiKey: "$GATE_KEY" } },
      },
      "no credentials for openai: set GATE_KEY, which models.json names",
    ],
  ])("is refused when it %s", async (_, given, expected) => {
    expect(await refusal(given)).toContain(expected);
  });

  test("never falls back to the saved or the default one", async () => {
    const given: Case = {
      request: { model: "nope-9", saved: { model: { provider: "openai", modelId: "gpt-5.5" } } },
      settings: { defaultModel: "gpt-5.5" },
      env: openaiKey,
    };
    expect(await refusal(given)).toContain("unknown model nope-9");
  });
});

describe("a model that is not listed", () => {
  const url = "https://api.openai.com/v1/models";

  test("is asked of the provider", async () => {
    const given: Case = {
      request: { model: "openai/gpt-6:high" },
      env: openaiKey,
      lists: { [url]: { data: [{ id: "gpt-6", context_window: 5000 }] } },
    };
    const { name, level, chosen, asked } = await choose(given);
    expect({ name, level, asked, window: chosen.model.contextWindow }).toEqual({
      name: "openai/gpt-6",
      level: "high",
      asked: [url],
      window: 5000,
    });
  });

  test.each<[string, Case, string]>([
    [
      "does not list it",
      { lists: { [url]: { data: [{ id: "other" }] } } },
      "unknown model openai/gpt-6: openai does not list it either; the nearest are openai/",
    ],
    [
      "answers with something else",
      { lists: { [url]: { error: 1 } } },
      "could not be asked for its models: the answer holds no list of models",
    ],
    ["refuses", {}, "could not be asked for its models: "],
  ])("is refused when the provider %s", async (_, given, expected) => {
    expect(await refusal({ request: { model: "openai/gpt-6" }, env: openaiKey, ...given })).toContain(
      expected,
    );
  });

  test("is refused at once offline", async () => {
    const given: Case = {
      request: { model: "openai/gpt-6", offline: true },
      env: openaiKey,
      lists: { [url]: { data: [{ id: "gpt-6" }] } },
    };
    expect(await refusal(given)).toContain("unknown model openai/gpt-6: the nearest are openai/gpt-5.5");
  });

  test("is asked of Anthropic in its own way", async () => {
    const list = "https://api.anthropic.com/v1/models?limit=1000";
    const { name, asked } = await choose({
      request: { model: "anthropic/claude-next" },
      env: { ANTHROPIC_API_KEY: "k" },
      lists: { [list]: { data: [{ id: "claude-next" }] } },
    });
    expect({ name, asked }).toEqual({ name: "anthropic/claude-next", asked: [list] });
  });

  test.each([
    ["openai", "https://a.test/models?tenant=1"],
    ["anthropic", "https://a.test/v1/models?tenant=1&limit=1000"],
  ])("is asked of %s with the query of its base URL behind the path", async (provider, list) => {
    const { asked } = await choose({
      request: { model: `${provider}/next` },
      providers: { [provider]: { baseUrl: "https://a.test?tenant=1", apiKey: "k" } },
      lists: { [list]: { data: [{ id: "next" }] } },
    });
    expect(asked).toEqual([list]);
  });
});

describe("a run that names no model", () => {
  const mine = { ...local, models: [{ id: "m1" }, { id: "m2" }] };
  test.each<[string, Case, string]>([
    [
      "the session's",
      {
        request: { saved: { model: { provider: "openai", modelId: "gpt-5.5" }, thinkingLevel: "low" } },
        env: { ...openaiKey, ANTHROPIC_API_KEY: "k" },
      },
      "openai/gpt-5.5 low",
    ],
    [
      "the session's, listed or not",
      { request: { saved: { model: { provider: "ollama", modelId: "q:8b" }, thinkingLevel: "high" } } },
      "ollama/q:8b high",
    ],
    [
      "the settings'",
      { settings: { defaultProvider: "openai", defaultModel: "gpt-5.5-mini" }, env: openaiKey },
      "openai/gpt-5.5-mini off",
    ],
    [
      "the settings', with a level",
      { settings: { defaultModel: "openai/gpt-5.5:high" }, env: openaiKey },
      "openai/gpt-5.5 high",
    ],
    [
      "the default of the settings' provider",
      {
        settings: { defaultProvider: "openai", defaultThinkingLevel: "max" },
        env: { ...openaiKey, ANTHROPIC_API_KEY: "k" },
      },
      "openai/gpt-5.5 max",
    ],
    [
      "the default of the provider that was asked for",
      { request: { provider: "openai" }, env: openaiKey },
      "openai/gpt-5.5 medium",
    ],
    ["the first of models.json", { providers: { mine }, env: openaiKey }, "mine/m1 off"],
    ["that of the first key", { env: { ...openaiKey, ...routerKey } }, "openai/gpt-5.5 medium"],
  ])("gets %s", async (_, given, expected) => {
    const { name, level, warnings } = await choose(given);
    expect(`${name} ${level}`).toBe(expected);
    expect(warnings).toEqual([]);
  });

  test.each<[string, Case, string]>([
    [
      "there is nothing",
      {},
      "no model to ask: set ANTHROPIC_API_KEY, OPENAI_API_KEY or another provider's key, or name a model with --model",
    ],
    [
      "the settings' model is unknown",
      { settings: { defaultModel: "nope-9" }, env: openaiKey },
      "the default model of settings.json: unknown model nope-9",
    ],
    [
      "the settings' model has no key",
      { settings: { defaultModel: "gpt-5.5" }, env: routerKey },
      "the default model of settings.json: no credentials for openai",
    ],
    [
      "the session's provider is gone",
      { request: { saved: { model: { provider: "gone", modelId: "m" } } }, env: openaiKey },
      "the session's provider gone is not known any more",
    ],
    [
      "the session's provider lost its key",
      { request: { saved: { model: { provider: "openai", modelId: "gpt-5.5" } } } },
      "no credentials for openai: set OPENAI_API_KEY",
    ],
    [
      "a local provider lists nothing",
      { request: { provider: "ollama" } },
      "ollama has no default model: name one with --model ollama/MODEL",
    ],
  ])("is refused when %s", async (_, given, expected) => {
    expect(await refusal(given)).toContain(expected);
  });
});

describe("a broken provider", () => {
  const broken = new Map([
    ["bad", { problem: "models.json:3:5: providers.bad: baseUrll: unknown key", modelIds: ["b1", "shared"] }],
  ]);
  const brokenOpenai = new Map([
    ["openai", { problem: "models.json:3:5: providers.openai: baseUrll: unknown key", modelIds: [] }],
  ]);

  test("does not stop a run with another, which warns", async () => {
    const { name, warnings } = await choose({ request: { model: "gpt-5.5" }, env: openaiKey, broken });
    expect({ name, warnings }).toEqual({
      name: "openai/gpt-5.5",
      warnings: ["models.json:3:5: providers.bad: baseUrll: unknown key"],
    });
  });

  test.each<[string, Case]>([
    ["by name", { request: { model: "bad/x" } }],
    ["by name and id", { request: { model: "bad/b1" } }],
    ["by its model", { request: { model: "b1" } }],
    ["as provider", { request: { provider: "bad" } }],
    ["by the session", { request: { saved: { model: { provider: "bad", modelId: "b1" } } } }],
  ])("is refused when it is asked for %s", async (_, given) => {
    expect(await refusal({ ...given, env: openaiKey, broken })).toBe(
      "models.json:3:5: providers.bad: baseUrll: unknown key",
    );
  });

  test.each(["gpt-5.5", "openai/gpt-5.5", "openai/new"])(
    "never gives way to the public endpoint for %s",
    async (model) => {
      const given: Case = { request: { model }, env: openaiKey, broken: brokenOpenai };
      expect(await refusal(given)).toBe("models.json:3:5: providers.openai: baseUrll: unknown key");
    },
  );

  test("is told when nothing else is there", async () => {
    expect(await refusal({ broken: brokenOpenai })).toContain(
      "providers.openai: baseUrll: unknown key; no model to ask",
    );
  });
});

describe("the model", () => {
  test.each([
    ["https://a.test", "https://a.test"],
    ["https://a.test//", "https://a.test"],
    ["https://a.test/v1/?tenant=/b/", "https://a.test/v1?tenant=/b/"],
    ["https://a.test/v1?next=/", "https://a.test/v1?next=/"],
  ])("has the base URL %s without slashes at the end of its path", async (baseUrl, expected) => {
    const { chosen } = await choose({
      request: { model: "mine/m" },
      providers: { mine: { baseUrl, models: [{ id: "m" }] } },
    });
    expect(chosen.model.baseUrl).toBe(expected);
  });

  test("has the catalog's facts, overlaid by models.json", async () => {
    const { chosen } = await choose({
      request: { model: "openai/gpt-5.5" },
      env: { ...openaiKey, OPENAI_BASE_URL: "http://elsewhere.test" },
      providers: {
        openai: {
          baseUrl: "https://gateway.test/v1/",
          api: "openai-completions",
          headers: { "x-team": "a" },
          compat: { supportsStore: false },
          models: [
            {
              id: "gpt-5.5",
              contextWindow: 42,
              cost: { input: 1, output: 2 },
              compat: { thinkingFormat: "none" },
            },
          ],
        },
      },
    });
    expect(chosen.model).toEqual({
      id: "gpt-5.5",
      name: "gpt-5.5",
      provider: "openai",
      api: "openai-completions",
      baseUrl: "https://gateway.test/v1",
      headers: { "x-team": "a" },
      reasoning: true,
      input: ["text"],
      contextWindow: 42,
      maxTokens: 100,
      cost: { input: 1, output: 2, cacheRead: 1, cacheWrite: 1 },
      compat: {
        maxTokensField: "max_completion_tokens",
        sendsMaxTokens: false,
        supportsDeveloperRole: true,
        supportsReasoningEffort: true,
        thinkingFormat: "none",
        supportsStore: false,
        supportsUsageInStreaming: true,
        requiresToolResultName: false,
        supportsStrictTools: true,
        supportsToolResultImages: false,
      },
    });
  });

  test("of a custom provider has the documented defaults", async () => {
    const { chosen } = await choose({
      request: { model: "mine/m" },
      providers: { mine: { ...local, models: [{ id: "m" }] } },
    });
    const { compat: _, ...model } = chosen.model;
    expect(model).toEqual({
      id: "m",
      name: "m",
      provider: "mine",
      api: "openai-completions",
      baseUrl: "http://127.0.0.1:1/v1",
      headers: {},
      reasoning: false,
      input: ["text"],
      contextWindow: 128_000,
      maxTokens: 16_384,
    });
  });

  test.each<[string, object, object, boolean | undefined]>([
    ["nothing of the limit", {}, {}, false],
    ["the limit", {}, { maxTokens: 500 }, true],
    ["the field of the limit", { compat: { maxTokensField: "max_tokens" } }, {}, true],
    ["the limit, but not to send it", { compat: { sendsMaxTokens: false } }, { maxTokens: 500 }, false],
  ])("whose configuration states %s says so in its requests or not", async (_, provider, model, sends) => {
    const { chosen } = await choose({
      request: { model: "mine/m" },
      providers: { mine: { ...local, ...provider, models: [{ id: "m", ...model }] } },
    });
    expect(chosen.model.compat.sendsMaxTokens).toBe(sends);
  });

  test.each([
    ["anthropic", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "claude-opus-4-7"],
    ["openai", "OPENAI_BASE_URL", "OPENAI_API_KEY", "gpt-5.5"],
  ])("of %s takes its address from %s", async (_, variable, key, model) => {
    const { chosen } = await choose({
      request: { model },
      env: { [key]: "k", [variable]: " http://127.0.0.1:9/v1/ " },
    });
    expect(chosen.model.baseUrl).toBe("http://127.0.0.1:9/v1");
  });

  test("takes its address from models.json without the blanks around it", async () => {
    const { chosen } = await choose({
      request: { model: "box/any" },
      providers: { box: { baseUrl: " http://127.0.0.1:9/v1/ \n" } },
    });
    expect(chosen.model.baseUrl).toBe("http://127.0.0.1:9/v1");
  });

  test.each([
    [{ thinking: "high" as const }, ["openai/gpt-5.5-mini does not reason: thinking level high is ignored"]],
    [{ thinking: "off" as const }, []],
    [{}, []],
  ])("that does not reason is not made to by %j", async (thinking, warned) => {
    const { level, warnings } = await choose({
      request: { model: "gpt-5.5-mini", ...thinking },
      settings: { defaultThinkingLevel: "max" },
      env: openaiKey,
    });
    expect({ level, warnings }).toEqual({ level: "off", warnings: warned });
  });
});

describe("a replay", () => {
  test("needs no key and takes any model", async () => {
    const replay = { replay: true, offline: true };
    const { name, chosen, asked } = await choose({ request: { ...replay, model: "together/some/model" } });
    expect({ name, credentials: chosen.credentials, asked }).toEqual({
      name: "together/some/model",
      credentials: {},
      asked: [],
    });
    expect((await choose({ request: { ...replay, model: "gpt-5.5" } })).name).toBe("openai/gpt-5.5");
  });
});

test("the secrets and the variables that hold keys are told", async () => {
  const { chosen } = await choose({
    request: { model: "mine/m" },
    env: { MY_KEY: " sk-mine-123 " },
    providers: {
      mine: {
        ...local,
        apiKey: "$MY_KEY",
        headers: { "x-team": "team-name", authorization: "Bearer other-secret" },
      },
    },
  });
  expect(chosen.credentials).toEqual({ apiKey: "sk-mine-123" });
  expect(chosen.secrets).toEqual(["sk-mine-123", "Bearer other-secret", "other-secret"]);
  expect(chosen.credentialEnv).toEqual(
    expect.arrayContaining(["MY_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "HF_TOKEN"]),
  );
});
