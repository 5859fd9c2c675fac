import type { Model } from "../../contract/provider.ts";
import type { Credentials, ProviderFetch, RequestBody } from "../adapter.ts";

/** A request to the endpoint of a model. */
export type ModelRequest = {
  /** Below the base URL. */
  readonly path: `/${string}`;
  /** Beside those that every request has, their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: RequestBody;
};

/** Sends a request and resolves with the reply. Rejects with what the fetch threw, or with the signal's reason. */
export function post(
  fetch: ProviderFetch,
  model: Model,
  { path, headers, body }: ModelRequest,
  signal: AbortSignal,
): Promise<Response> {
  return fetch(toUrl(model.baseUrl, path), {
    method: "POST",
    headers: toHeaders(model, headers),
    body,
    signal,
  });
}

/** The address of a path below a base URL, which may end in slashes. Its query stays behind the path. */
export function toUrl(baseUrl: string, path: string): string {
  // A fragment is never sent: left where it is, it would take the path with it.
  const [sent = ""] = baseUrl.split("#", 1);
  const query = sent.indexOf("?");
  const [base, rest] = query < 0 ? [sent, ""] : [sent.slice(0, query), sent.slice(query)];
  return `${base.replace(/\/+$/, "")}${path}${rest}`;
}

/** What the model's configuration states comes last and wins. */
function toHeaders(model: Model, own: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {
    accept: "application/json",
    "content-type": "application/json",
    "user-agent": "base-context",
    ...own,
  };
  for (const [name, value] of Object.entries(model.headers)) headers[name.toLowerCase()] = value.trim();
  return headers;
}

/** What a key proves with to all but Anthropic. */
export function bearer({ apiKey }: Credentials): Readonly<Record<string, string>> {
  return apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
}
