import { ProviderError } from "../contract/errors.ts";
import type { ProviderRequest } from "../contract/provider.ts";
import type { CreateAdapter, Credentials } from "./adapter.ts";
import { toProvider } from "./adapter-stream.ts";
import { readCodexToken } from "./openai-codex-credentials.ts";
import { toDeltas } from "./openai-responses-deltas.ts";
import { toCodexParams } from "./openai-responses-params.ts";
import { bearer, post } from "./post.ts";
import { toRequestBody } from "./request-body.ts";
import { readServerEvents } from "./sse.ts";

/** Speaks the Responses API of the Codex subscription: other credentials and headers, the same events. */
export const createOpenAICodex: CreateAdapter = ({ credentials, fetch }) =>
  toProvider(async (request, signal) => {
    const { model } = request;
    const response = await post(
      fetch,
      model,
      {
        path: "/responses",
        headers: toHeaders(credentials, request),
        body: toRequestBody(toCodexParams(request), "input"),
      },
      signal,
    );
    return toDeltas(readServerEvents(response, model.provider), { provider: model.provider });
  });

/** Throws a ProviderError of kind `auth` when the token has expired: there is no point in asking. */
function toHeaders(
  { apiKey, accountId }: Credentials,
  { model, sessionId }: ProviderRequest,
): Record<string, string> {
  const token = apiKey === undefined ? {} : readCodexToken(apiKey);
  if (token.expiresMs !== undefined && token.expiresMs <= Date.now()) {
    const when = new Date(token.expiresMs).toISOString();
    throw new ProviderError(
      "auth",
      `${model.provider}: the token expired at ${when}; log in with \`codex login\``,
    );
  }
  const account = accountId ?? token.accountId;
  return {
    ...bearer(apiKey),
    ...(account !== undefined && { "chatgpt-account-id": account }),
    "openai-beta": "responses=experimental",
    originator: "base-context",
    session_id: sessionId,
    accept: "text/event-stream",
  };
}
