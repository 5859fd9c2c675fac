import { OpenAI } from "openai/client";
import type { JsonObject } from "../contract/json.ts";
import type { Model } from "../contract/provider.ts";
import type { ProviderFetch } from "./adapter.ts";
import { createRequestFetch, noTimeoutMs, toRequestHeaders } from "./request-fetch.ts";
import { toWellFormedText } from "./well-formed.ts";

/** A request to an endpoint of OpenAI or of those who copy it. */
export type OpenAIRequest = {
  readonly model: Model;
  /** Below the base URL. */
  readonly path: `/${string}`;
  readonly apiKey: string | undefined;
  /** Beside those that every request has. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: JsonObject;
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
    fetch: (url, init) => call.fetch(url, { ...init, headers }),
    maxRetries: 0,
    timeout: noTimeoutMs,
    logLevel: "off",
    webhookSecret: null,
  });
  // As bytes the SDK lets it be, and the text is not kept while the reply is awaited.
  const bytes = Buffer.from(toWellFormedText(body));
  return call.settle(client.post(path, { body: bytes, stream: true }).asResponse());
}
