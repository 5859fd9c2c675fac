import { ProviderError } from "../contract/errors.ts";
import type { ProviderRequest } from "../contract/provider.ts";
import type { CreateAdapter, Credentials } from "./adapter.ts";
import { toProvider } from "./adapter-stream.ts";
import { readCodexToken } from "./openai-codex-credentials.ts";
import { sendOpenAIRequest } from "./openai-request.ts";
import { toDeltas } from "./openai-responses-deltas.ts";
import { toCodexParams } from "./openai-responses-params.ts";
import { toRequestBody } from "./request-body.ts";
import { readServerEvents } from "./sse.ts";

/** Speaks the Responses API of the Codex subscription: other credentials and headers, the same events. */
export const createOpenAICodex: CreateAdapter = ({ credentials, fetch }) =>
  toProvider(async (request, signal) => {
    const { model } = request;
    const own = new AbortController();
    const { apiKey } = credentials;
    const headers = toHeaders(credentials, request);
    const body = toRequestBody(toCodexParams(request), "input");
    const response = await sendOpenAIRequest(
      fetch,
      { model, path: "/responses", apiKey, headers, body },
      AbortSignal.any([signal, own.signal]),
    );
    const events = readServerEvents(response, model.provider);
    return toDeltas(events, { provider: model.provider, abandon: () => own.abort() });
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
    ...(account !== undefined && { "chatgpt-account-id": account }),
    "openai-beta": "responses=experimental",
    originator: "base-context",
    session_id: sessionId,
    accept: "text/event-stream",
  };
}
