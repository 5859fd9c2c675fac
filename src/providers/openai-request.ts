import { OpenAI } from "openai/client";
import type { Model } from "../contract/provider.ts";
import type { ProviderFetch, RequestBody } from "./adapter.ts";
import { bodyStandIn, createRequestFetch, noTimeoutMs, toRequestHeaders } from "./request-fetch.ts";

/** A request to an endpoint of OpenAI or of those who copy it. */
export type OpenAIRequest = {
  readonly model: Model;
  /** Below the base URL. */
  readonly path: `/${string}`;
  readonly apiKey: string | undefined;
  /** Beside those that every request has. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: RequestBody;
};

/** Sends a request through the SDK; rejects with what the fetch threw, or with the signal's reason. */
export function sendOpenAIRequest(
  fetch: ProviderFetch,
  request: OpenAIRequest,
  signal: AbortSignal,
): Promise<Response> {
  const { model, path, apiKey, body } = request;
  const call = createRequestFetch(fetch, signal);
  const headers = toRequestHeaders(model, {
    ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    ...request.headers,
  });
  const client = new OpenAI({
    // The SDK wants a key, or takes the one that it finds in the environment; ours is in the headers.
    apiKey: "none",
    adminAPIKey: null,
    baseURL: model.baseUrl,
    fetch: (url, init) => call.fetch(url, { ...init, headers, body }),
    maxRetries: 0,
    timeout: noTimeoutMs,
    logLevel: "off",
    webhookSecret: null,
  });
  return call.settle(client.post(path, { body: bodyStandIn, stream: true }).asResponse());
}
