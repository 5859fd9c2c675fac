import { readFile } from "node:fs/promises";
import { StartupError } from "../../contract/errors.ts";
import type { Credentials } from "../adapter.ts";
import { addressSecrets } from "../http/address.ts";
import { type KnownProvider, secretHeader } from "./known-providers.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Runs a shell command of the user's own configuration; a command that is stopped has no status. */
export type RunKeyCommand = (
  command: string,
  options: { readonly timeoutMs: number },
) => Promise<{ readonly status: number | undefined; readonly stdout: string }>;

export type CredentialSources = {
  readonly env: Env;
  /** `--api-key`. */
  readonly apiKey?: string;
  readonly runCommand: RunKeyCommand;
};

/** How long a `!command` may take to print a key. */
const commandTimeoutMs = 10_000;

/**
 * Finds what proves to a provider who asks: `--api-key`, else what `models.json` says, else the environment. Throws a
 * StartupError that says what to set when there is nothing and the provider wants something.
 */
export async function findCredentials(
  provider: KnownProvider,
  sources: CredentialSources,
): Promise<Credentials> {
  const given = await givenKey(provider, sources);
  const found = usesCodexLogin(provider)
    ? await findCodexLogin(sources.env, given)
    : (given ?? environmentKey(provider, sources.env));
  if (found === undefined && provider.needsKey) throw new StartupError(missingKey(provider));
  const { source: _, ...credentials }: Credentials & { source?: string } = found ?? {};
  return credentials;
}

/** Whether a provider could be asked, as far as can be told without running a command. */
export async function hasCredentials(
  provider: KnownProvider,
  { env, apiKey }: Pick<CredentialSources, "env" | "apiKey">,
): Promise<boolean> {
  if (provider.problem !== undefined) return false;
  if (apiKey !== undefined) return true;
  if (provider.apiKey !== undefined) return !isUnset(provider.apiKey, env);
  if (!provider.needsKey) return true;
  if (usesCodexLogin(provider)) {
    return (await findCodexLogin(env).catch(() => undefined)) !== undefined;
  }
  return provider.keyEnv.some((name) => env[name]?.trim());
}

/** What to do about a missing key, in words. */
export function missingKey({ name, keyEnv, apiKey }: KnownProvider): string {
  const variable = apiKey === undefined ? undefined : namedVariable(apiKey);
  if (variable !== undefined) return `no credentials for ${name}: set ${variable}, which models.json names`;
  const login = name === "openai-codex" ? ", log in with `codex login`" : "";
  return `no credentials for ${name}: set ${keyEnv.join(" or ")}${login} or give --api-key`;
}

/** Every secret that is known for a provider: what must not leave the process in any text. */
export function secretsOf(provider: KnownProvider, { apiKey }: Credentials): string[] {
  const headers = Object.entries(provider.headers).flatMap(([name, value]) =>
    // A scheme in front (`Bearer ...`) is no part of the secret.
    secretHeader.test(name) ? [value, value.replace(/^\w+\s+/, "")] : [],
  );
  const all = [apiKey ?? "", ...headers, ...addressSecrets(provider.baseUrl)];
  return all.map((secret) => secret.trim()).filter((secret) => secret !== "");
}

/** The environment variable that a key of `models.json` names. */
export function namedVariable(key: string): string | undefined {
  return /^\$([A-Za-z_][A-Za-z0-9_]*)$/.exec(key.trim())?.[1];
}

function isUnset(key: string, env: Env): boolean {
  const variable = namedVariable(key);
  return variable !== undefined && !env[variable]?.trim();
}

/** A key, and what to call the place that it came from. */
type SourcedKey = { readonly apiKey: string; readonly source: string };

async function givenKey(
  provider: KnownProvider,
  sources: CredentialSources,
): Promise<SourcedKey | undefined> {
  const { env, apiKey } = sources;
  if (apiKey !== undefined) return toKey(apiKey, "--api-key");
  if (provider.apiKey === undefined) return undefined;
  const text = provider.apiKey.trim();
  const where = `apiKey of ${provider.name} in models.json`;
  if (text.startsWith("!")) return toKey(await commandKey(provider, where, sources), where);
  const variable = namedVariable(text);
  if (variable === undefined) return toKey(text, where);
  const value = env[variable]?.trim();
  if (!value) throw new StartupError(missingKey(provider));
  return toKey(value, variable);
}

function environmentKey({ keyEnv }: KnownProvider, env: Env): SourcedKey | undefined {
  const name = keyEnv.find((candidate) => env[candidate]?.trim());
  return name === undefined ? undefined : toKey(env[name] ?? "", name);
}

/** What the `!command` of a provider prints. */
async function commandKey(
  { name, apiKey = "" }: KnownProvider,
  where: string,
  { runCommand }: CredentialSources,
): Promise<string> {
  const { status, stdout } = await runCommand(apiKey.trim().slice(1), { timeoutMs: commandTimeoutMs });
  const failed = `no credentials for ${name}: the command in ${where}`;
  if (status === undefined)
    throw new StartupError(`${failed} did not end within ${commandTimeoutMs / 1000} s`);
  if (status !== 0) throw new StartupError(`${failed} ended with status ${status}`);
  if (stdout.trim() === "") throw new StartupError(`${failed} printed nothing`);
  return stdout;
}

/** A key travels in a header, which takes neither line breaks nor what is beyond Latin-1. */
function toKey(text: string, source: string): SourcedKey {
  const apiKey = text.trim();
  if (/^[\x20-\x7e]+$/.test(apiKey)) return { apiKey, source };
  throw new StartupError(
    `${source} holds no usable key: it is empty or has line breaks or other special characters in it`,
  );
}

function usesCodexLogin({ api }: KnownProvider): boolean {
  return api === "openai-codex-responses";
}

async function findCodexLogin(env: Env, given?: SourcedKey): Promise<Credentials | undefined> {
  const { findCodexCredentials } = await import("../openai-responses/codex-credentials.ts");
  return findCodexCredentials({
    env,
    given,
    readFile: (path) => readFile(path, "utf8").catch(() => undefined),
  });
}
