import { OpenAI } from "openai/client";
import type { Model, ProviderRequest } from "../contract/provider.ts";
import type { AdapterDeps, CreateAdapter } from "./adapter.ts";
import { toProviderError } from "./http-error.ts";
import { toDeltas } from "./openai-completions-deltas.ts";
import { toParams } from "./openai-completions-params.ts";
import { createRequestFetch } from "./request-fetch.ts";
import { readServerEvents } from "./sse.ts";

/** Speaks the Chat Completions API of OpenAI and of the many servers that copy it. */
export const createOpenAICompletions: CreateAdapter = (deps) => ({
  async *stream(request, signal) {
    const { provider } = request.model;
    signal.throwIfAborted();
    const own = new AbortController();
    try {
      const response = await send(deps, request, AbortSignal.any([signal, own.signal]));
      const events = readServerEvents(response, provider);
      yield* toDeltas(events, { provider, abandon: () => own.abort() });
    } catch (thrown) {
      signal.throwIfAborted();
      throw toProviderError(thrown, provider);
    }
  },
});

/** The longest time that a timer can hold: the time limits are not the SDK's. */
const noTimeoutMs = 2 ** 31 - 1;

function send(deps: AdapterDeps, request: ProviderRequest, signal: AbortSignal): Promise<Response> {
  const { model } = request;
  const { apiKey } = deps.credentials;
  const headers = toHeaders(model, apiKey);
  const { fetch, settle } = createRequestFetch(deps.fetch, signal);
  const client = new OpenAI({
    // The SDK wants a key, or takes the one that it finds in the environment.
    apiKey: apiKey ?? "none",
    adminAPIKey: null,
    baseURL: model.baseUrl,
    // The SDK's headers tell of this machine, and of the user's organisation and more that the environment holds for
    // OpenAI: not for every provider to know.
    fetch: (url, init) => fetch(url, { ...init, headers }),
    maxRetries: 0,
    timeout: noTimeoutMs,
    logLevel: "off",
  });
  return settle(client.post("/chat/completions", { body: toParams(request), stream: true }).asResponse());
}

function toHeaders(model: Model, apiKey: string | undefined): Record<string, string> {
  const own = Object.entries(model.headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return {
    accept: "application/json",
    "content-type": "application/json",
    "user-agent": "base-context",
    ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    ...Object.fromEntries(own),
  };
}
