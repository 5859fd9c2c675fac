import type { Api } from "../../contract/messages.ts";

/** A built-in provider: where it is and what proves to it who asks. */
export type Endpoint = {
  readonly api: Api;
  /** What the official SDK of the API takes as its base URL. */
  readonly baseUrl: string;
  /** The environment variables that may hold the key, the first that is set counts. */
  readonly keyEnv: readonly string[];
  /** The variable with which the provider's SDK lets the base URL be set. */
  readonly baseUrlEnv?: string;
  /** A server on one's own machine: it needs no key, and what it serves only it knows. */
  readonly isLocal?: true;
  /** The model for a run that names none. */
  readonly defaultModel?: string;
};

/** The built-in providers, in the order in which a run that names none looks for a key. */
export const endpoints: ReadonlyMap<string, Endpoint> = new Map<string, Endpoint>([
  [
    "anthropic",
    {
      api: "anthropic-messages",
      baseUrl: "https://api.anthropic.com",
      keyEnv: ["ANTHROPIC_API_KEY"],
      baseUrlEnv: "ANTHROPIC_BASE_URL",
      defaultModel: "claude-sonnet-4-6",
    },
  ],
  [
    "openai",
    {
      api: "openai-responses",
      baseUrl: "https://api.openai.com/v1",
      keyEnv: ["OPENAI_API_KEY"],
      baseUrlEnv: "OPENAI_BASE_URL",
      defaultModel: "gpt-5.5",
    },
  ],
  [
    "openai-codex",
    {
      api: "openai-codex-responses",
      baseUrl: "https://chatgpt.com/backend-api/codex",
      keyEnv: ["OPENAI_CODEX_TOKEN"],
      defaultModel: "gpt-5.5",
    },
  ],
  [
    "google",
    chat(
      "https://generativelanguage.googleapis.com/v1beta/openai",
      ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
      "gemini-2.5-pro",
    ),
  ],
  ["openrouter", chat("https://openrouter.ai/api/v1", ["OPENROUTER_API_KEY"], "anthropic/claude-sonnet-4.6")],
  ["xai", chat("https://api.x.ai/v1", ["XAI_API_KEY"], "grok-4.3")],
  ["deepseek", chat("https://api.deepseek.com/v1", ["DEEPSEEK_API_KEY"], "deepseek-v4-pro")],
  ["mistral", chat("https://api.mistral.ai/v1", ["MISTRAL_API_KEY"], "mistral-medium-latest")],
  ["groq", chat("https://api.groq.com/openai/v1", ["GROQ_API_KEY"], "openai/gpt-oss-120b")],
  ["cerebras", chat("https://api.cerebras.ai/v1", ["CEREBRAS_API_KEY"], "gpt-oss-120b")],
  ["together", chat("https://api.together.xyz/v1", ["TOGETHER_API_KEY"])],
  ["fireworks", chat("https://api.fireworks.ai/inference/v1", ["FIREWORKS_API_KEY"])],
  ["moonshotai", chat("https://api.moonshot.ai/v1", ["MOONSHOT_API_KEY"], "kimi-k2.6")],
  ["zai", chat("https://api.z.ai/api/paas/v4", ["ZAI_API_KEY", "ZHIPU_API_KEY"], "glm-5.1")],
  ["huggingface", chat("https://router.huggingface.co/v1", ["HF_TOKEN"], "moonshotai/Kimi-K2.6")],
  ["ollama", local("http://127.0.0.1:11434/v1", ["OLLAMA_API_KEY"])],
  ["lmstudio", local("http://127.0.0.1:1234/v1", ["LMSTUDIO_API_KEY", "LM_API_TOKEN"])],
  ["vllm", local("http://127.0.0.1:8000/v1", ["VLLM_API_KEY"])],
  ["llamacpp", local("http://127.0.0.1:8080/v1", ["LLAMA_API_KEY"])],
]);

/** Every environment variable that holds a key of a built-in provider. */
export const credentialEnvNames: readonly string[] = [
  ...[...endpoints.values()].flatMap(({ keyEnv }) => keyEnv),
  // Not read here, but it is a key of the same providers.
  "ANTHROPIC_AUTH_TOKEN",
];

/** Whether a provider is built in. */
export function isBuiltIn(provider: string): boolean {
  return endpoints.has(provider);
}

function chat(baseUrl: string, keyEnv: readonly string[], defaultModel?: string): Endpoint {
  return {
    api: "openai-completions",
    baseUrl,
    keyEnv,
    ...(defaultModel === undefined ? {} : { defaultModel }),
  };
}

function local(baseUrl: string, keyEnv: readonly string[]): Endpoint {
  return { api: "openai-completions", baseUrl, keyEnv, isLocal: true };
}
