import { OpenAI } from "openai/client";
import type { JsonObject } from "../contract/json.ts";
import type { Model } from "../contract/provider.ts";
import type { ProviderFetch } from "./adapter.ts";
import { createRequestFetch, toRequestHeaders } from "./request-fetch.ts";
import { toWellFormedJson } from "./well-formed.ts";

/** The longest time that a timer can hold: the time limits are not the SDK's. */
const noTimeoutMs = 2 ** 31 - 1;

/** A request to a Responses endpoint. */
export type ResponsesRequest = {
  readonly model: Model;
  /** Beside those that every request has. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: JsonObject;
};

/** Sends a request through the SDK; rejects with what the fetch threw, or with the signal's reason. */
export function sendResponsesRequest(
  fetch: ProviderFetch,
  { model, headers, body }: ResponsesRequest,
  signal: AbortSignal,
): Promise<Response> {
  const call = createRequestFetch(fetch, signal);
  const client = new OpenAI({
    // The SDK wants a key, or takes the one that it finds in the environment; ours is in the headers.
    apiKey: "none",
    adminAPIKey: null,
    baseURL: model.baseUrl,
    fetch: (url, init) => call.fetch(url, { ...init, headers: toRequestHeaders(model, headers) }),
    maxRetries: 0,
    timeout: noTimeoutMs,
    logLevel: "off",
    webhookSecret: null,
  });
  return call.settle(client.post("/responses", { body: toWellFormedJson(body), stream: true }).asResponse());
}
