import { ProviderError } from "../contract/errors.ts";
import type { AdapterDeps, CreateAdapter } from "./adapter.ts";
import { toProviderError } from "./http-error.ts";
import { readCodexToken } from "./openai-codex-credentials.ts";
import { toDeltas } from "./openai-responses-deltas.ts";
import { toCodexParams } from "./openai-responses-params.ts";
import { sendResponsesRequest } from "./openai-responses-request.ts";
import { readServerEvents } from "./sse.ts";

/** Speaks the Responses API of the Codex subscription: other credentials and headers, the same events. */
export const createOpenAICodex: CreateAdapter = ({ credentials, fetch }) => ({
  async *stream(request, signal) {
    const { model, sessionId } = request;
    signal.throwIfAborted();
    const headers = toHeaders(credentials, { provider: model.provider, sessionId });
    try {
      const body = toCodexParams(request);
      const response = await sendResponsesRequest(fetch, { model, headers, body }, signal);
      yield* toDeltas(readServerEvents(response, model.provider), model.provider);
    } catch (thrown) {
      signal.throwIfAborted();
      throw toProviderError(thrown, model.provider);
    }
  },
});

/** Throws a ProviderError of kind `auth` when the token has expired: there is no point in asking. */
function toHeaders(
  { apiKey, accountId }: AdapterDeps["credentials"],
  { provider, sessionId }: { provider: string; sessionId: string },
): Record<string, string> {
  const token = apiKey === undefined ? {} : readCodexToken(apiKey);
  if (token.expiresMs !== undefined && token.expiresMs <= Date.now()) {
    const when = new Date(token.expiresMs).toISOString();
    throw new ProviderError("auth", `${provider}: the token expired at ${when}; log in with \`codex login\``);
  }
  const account = accountId ?? token.accountId;
  return {
    ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    ...(account !== undefined && { "chatgpt-account-id": account }),
    "openai-beta": "responses=experimental",
    originator: "base-context",
    session_id: sessionId,
    accept: "text/event-stream",
  };
}
