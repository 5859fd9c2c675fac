import type { Api } from "../contract/messages.ts";
import type { Model, Provider, Timeouts } from "../contract/provider.ts";
import type { CreateAdapter, Credentials, ProviderFetch } from "./adapter.ts";
import { defaultMaxMs, withStatusCheck } from "./http/status-check.ts";
import { withRedactedReplies } from "./redacted-replies.ts";
import { withinIdle } from "./settle-within.ts";
import { withTimeLimits } from "./time-limits.ts";

export type ProviderDeps = {
  readonly credentials: Credentials;
  readonly fetch: ProviderFetch;
  readonly timeouts: Timeouts;
  /** What must not leave the process in any text. */
  readonly secrets: readonly string[];
};

/** Makes the provider that answers for a model. Loads the adapter of the model's API. */
export async function createProvider(model: Model, deps: ProviderDeps): Promise<Provider> {
  const createAdapter = await adapters[model.api]();
  const { firstEventMs, idleMs } = deps.timeouts;
  // The status of a failed reply must not be lost because its body never ends.
  const bodyMs = withinIdle(defaultMaxMs, firstEventMs);
  const fetch = withStatusCheck(deps.fetch, model.provider, bodyMs);
  const adapter = createAdapter({ credentials: deps.credentials, fetch, idleMs });
  return withRedactedReplies(withTimeLimits(adapter, deps.timeouts), deps.secrets);
}

const adapters: Readonly<Record<Api, () => Promise<CreateAdapter>>> = {
  "openai-completions": async () => (await import("./openai-completions/adapter.ts")).createOpenAICompletions,
  "openai-responses": async () => (await import("./openai-responses/adapter.ts")).createOpenAIResponses,
  "openai-codex-responses": async () => (await import("./openai-responses/codex.ts")).createOpenAICodex,
  "anthropic-messages": async () => (await import("./anthropic-messages/adapter.ts")).createAnthropicMessages,
};
