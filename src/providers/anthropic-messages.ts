import { BaseAnthropic } from "@anthropic-ai/sdk/client";
import { transformJSONSchema } from "@anthropic-ai/sdk/lib/transform-json-schema";
import type { JsonObject } from "../contract/json.ts";
import type { ProviderRequest } from "../contract/provider.ts";
import type { AdapterDeps, CreateAdapter } from "./adapter.ts";
import { toProvider } from "./adapter-stream.ts";
import { toDeltas } from "./anthropic-messages-deltas.ts";
import { toAnthropicHeaders } from "./anthropic-messages-headers.ts";
import { toParams } from "./anthropic-messages-params.ts";
import { toRequestBody } from "./request-body.ts";
import { bodyStandIn, createRequestFetch, noTimeoutMs, toRequestHeaders } from "./request-fetch.ts";
import { readServerEvents } from "./sse.ts";

/** Speaks the Messages API of Anthropic and of those who copy it. */
export const createAnthropicMessages: CreateAdapter = (deps) =>
  toProvider(async (request, signal) => {
    const { provider } = request.model;
    const response = await send(deps, request, signal);
    return toDeltas(readServerEvents(response, provider), provider);
  });

function send(deps: AdapterDeps, request: ProviderRequest, signal: AbortSignal): Promise<Response> {
  const { model } = request;
  const { fetch, settle } = createRequestFetch(deps.fetch, signal);
  const headers = toRequestHeaders(model, toAnthropicHeaders(model.baseUrl, deps.credentials.apiKey));
  const body = toRequestBody(toParams(withStrictSchema(request)), "messages");
  const client = new BaseAnthropic({
    // The SDK wants a key, or looks for one in the environment and in files; ours is in the headers.
    apiKey: "none",
    baseURL: model.baseUrl,
    fetch: (url, init) => fetch(url, { ...init, headers, body }),
    maxRetries: 0,
    timeout: noTimeoutMs,
    logLevel: "off",
    openTelemetry: false,
    webhookKey: null,
  });
  // Not `messages.create`: that one writes warnings about old models to the console.
  return settle(client.post("/v1/messages", { body: bodyStandIn, stream: true }).asResponse());
}

/** The API takes a subset of JSON Schema; what cannot be brought to it is left to the check of the answer. */
function withStrictSchema(request: ProviderRequest): ProviderRequest {
  const { outputSchema, ...rest } = request;
  if (outputSchema === undefined) return rest;
  try {
    const strict: JsonObject = transformJSONSchema(outputSchema);
    return { ...rest, outputSchema: strict };
  } catch {
    return rest;
  }
}
