import { errorMessage } from "../../contract/errors.ts";
import { isJsonObject } from "../../contract/json.ts";
import { within } from "../../contract/timers.ts";
import type { Credentials, ProviderFetch } from "../adapter.ts";
import { toAnthropicHeaders } from "../anthropic-messages/headers.ts";
import { bearer, toUrl } from "../http/post.ts";
import { withStatusCheck } from "../http/status-check.ts";
import { createErrorRedactor } from "../redact.ts";
import type { ModelFacts } from "./catalog.ts";
import type { KnownProvider } from "./known-providers.ts";

/** A model in a provider's own list, with what the list says of it. */
export type ListedModel = { readonly id: string } & Partial<
  Pick<ModelFacts, "name" | "contextWindow" | "maxTokens">
>;

const timeoutMs = 10_000;

type RequestOptions = {
  readonly fetch: ProviderFetch;
  /** Ends the wait for an answer. */
  readonly signal?: AbortSignal | undefined;
};

/**
 * Asks a provider for its models. Throws when it does not answer, refuses, or answers with something else; the message
 * holds none of the secrets.
 */
export async function listModels(
  provider: KnownProvider,
  credentials: Credentials,
  { secrets, ...how }: RequestOptions & { readonly secrets: readonly string[] },
): Promise<readonly ListedModel[]> {
  try {
    return await requestList(provider, credentials, how);
  } catch (error) {
    throw new Error(createErrorRedactor(secrets)(errorMessage(error)));
  }
}

async function requestList(
  provider: KnownProvider,
  credentials: Credentials,
  { fetch, signal }: RequestOptions,
) {
  const { url, headers } = request(provider, credentials);
  const body: unknown = await within(timeoutMs, signal, async (limit) => {
    const response = await withStatusCheck(fetch, provider.name)(url, {
      headers: { accept: "application/json", ...headers, ...provider.headers },
      signal: limit,
    });
    return response.json();
  });
  const list: unknown = isJsonObject(body) ? (body.data ?? body.models) : body;
  if (!Array.isArray(list)) throw new Error("the answer holds no list of models");
  return list.flatMap(toListedModel);
}

function request({ api, baseUrl }: KnownProvider, credentials: Credentials) {
  if (api === "anthropic-messages") {
    const url = toUrl(baseUrl, "/v1/models");
    return {
      url: `${url}${url.includes("?") ? "&" : "?"}limit=1000`,
      headers: toAnthropicHeaders(baseUrl, credentials.apiKey),
    };
  }
  return {
    url: toUrl(baseUrl, "/models"),
    headers: bearer(credentials),
  };
}

function toListedModel(value: unknown): ListedModel[] {
  if (!isJsonObject(value) || typeof value.id !== "string") return [];
  const name = value.display_name ?? value.name;
  const window = count(value.context_length) ?? count(value.context_window) ?? count(value.max_model_len);
  const output = count(value.max_completion_tokens);
  return [
    {
      // Google puts the kind of thing in front.
      id: value.id.replace(/^models\//, ""),
      ...(typeof name === "string" && name !== "" && { name }),
      ...(window !== undefined && { contextWindow: window }),
      ...(output !== undefined && { maxTokens: output }),
    },
  ];
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value > 0 ? value : undefined;
}
