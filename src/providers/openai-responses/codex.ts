import { ProviderError } from "../../contract/errors.ts";
import type { ProviderRequest } from "../../contract/provider.ts";
import type { Credentials } from "../adapter.ts";
import { createAdapter } from "../create-adapter.ts";
import { bearer } from "../http/post.ts";
import { readCodexToken } from "./codex-credentials.ts";
import { toDeltas } from "./deltas.ts";
import { toCodexParams } from "./params.ts";

/** Speaks the Responses API of the Codex subscription: other credentials and headers, the same events. */
export const createOpenAICodex = createAdapter({
  path: "/responses",
  list: "input",
  toHeaders,
  toParams: toCodexParams,
  toDeltas,
});

/** Throws a ProviderError of kind `auth` when the token has expired: there is no point in asking. */
function toHeaders(credentials: Credentials, { model, sessionId }: ProviderRequest): Record<string, string> {
  const { apiKey, accountId } = credentials;
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
    ...bearer(credentials),
    ...(account !== undefined && { "chatgpt-account-id": account }),
    "openai-beta": "responses=experimental",
    originator: "base-context",
    session_id: sessionId,
    accept: "text/event-stream",
  };
}
