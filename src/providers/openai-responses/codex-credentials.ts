import { join } from "node:path";
import { StartupError } from "../../contract/errors.ts";
import { isJsonObject, type JsonValue } from "../../contract/json.ts";
import { parseJson } from "../json-values.ts";

export type CodexCredentials = { readonly apiKey: string; readonly accountId?: string };

/** A token that was given for the one run or in `models.json`, and where. */
export type GivenToken = { readonly apiKey: string; readonly source: string };

export type CodexSources = {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Gives a file's text, undefined when there is no such file. */
  readonly readFile: (path: string) => Promise<string | undefined>;
  readonly given?: GivenToken | undefined;
};

/**
 * Finds the credentials of the Codex subscription: a given token, else the environment's, else those that `codex login`
 * left in `$CODEX_HOME/auth.json` (`~/.codex` by default), which is only read. `OPENAI_CODEX_ACCOUNT_ID` comes before
 * the account of the login. Gives undefined when there are none; throws a StartupError when there are some that cannot
 * be used.
 */
export async function findCodexCredentials(sources: CodexSources): Promise<CodexCredentials | undefined> {
  const { env, given } = sources;
  const token = env.OPENAI_CODEX_TOKEN?.trim();
  const found = given ?? (token ? { apiKey: token, source: "OPENAI_CODEX_TOKEN" } : await readLogin(sources));
  if (found === undefined) return undefined;
  const { source, ...credentials } = found;
  refuseExpired(credentials.apiKey, source);
  const accountId = env.OPENAI_CODEX_ACCOUNT_ID?.trim();
  return { ...credentials, ...(accountId && { accountId }) };
}

/** What a token says of itself; a token that is no JWT says nothing. */
export type CodexToken = {
  /** Milliseconds since the epoch. */
  readonly expiresMs?: number;
  readonly accountId?: string;
};

/** Reads a token's claims. Nothing is verified: that is for the server to do. */
export function readCodexToken(token: string): CodexToken {
  const claims = readClaims(token);
  if (!isJsonObject(claims)) return {};
  const auth = claims["https://api.openai.com/auth"];
  const accountId = isJsonObject(auth) ? auth.chatgpt_account_id : undefined;
  return {
    ...(typeof claims.exp === "number" && { expiresMs: claims.exp * 1000 }),
    ...(typeof accountId === "string" && accountId !== "" && { accountId }),
  };
}

async function readLogin({
  env,
  readFile,
}: CodexSources): Promise<(CodexCredentials & GivenToken) | undefined> {
  const folder = env.CODEX_HOME || join(env.HOME || env.USERPROFILE || "", ".codex");
  const source = join(folder, "auth.json");
  const text = await readFile(source);
  const tokens = text === undefined ? undefined : readTokens(text, source);
  return tokens && { ...tokens, source };
}

function refuseExpired(token: string, source: string): void {
  const { expiresMs } = readCodexToken(token);
  if (expiresMs === undefined || expiresMs > Date.now()) return;
  throw new StartupError(
    `the Codex token in ${source} expired at ${new Date(expiresMs).toISOString()}; log in again with \`codex login\``,
  );
}

function readTokens(text: string, path: string): CodexCredentials | undefined {
  const auth = parseJson(text);
  if (!isJsonObject(auth))
    throw new StartupError(`${path} is not a JSON object; log in again with \`codex login\``);
  if (!isJsonObject(auth.tokens)) return undefined;
  const { access_token, account_id } = auth.tokens;
  if (typeof access_token !== "string" || access_token.trim() === "") return undefined;
  return {
    apiKey: access_token.trim(),
    ...(typeof account_id === "string" && account_id !== "" && { accountId: account_id }),
  };
}

function readClaims(token: string): JsonValue | undefined {
  const payload = token.split(".")[1];
  return payload === undefined ? undefined : parseJson(Buffer.from(payload, "base64url").toString("utf8"));
}
