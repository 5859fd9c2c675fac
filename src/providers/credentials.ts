import { readFile } from "node:fs/promises";
import { StartupError } from "../contract/errors.ts";
import type { Credentials } from "./adapter.ts";
import { type KnownProvider, secretHeader } from "./known-providers.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** Runs a shell command of the user's own configuration; a command that is stopped or not found has no status. */
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
  const { env, apiKey } = sources;
  if (apiKey !== undefined) return { apiKey: checkKey(apiKey, "--api-key") };
  if (provider.apiKey !== undefined)
    return { apiKey: await configuredKey(provider, provider.apiKey, sources) };
  if (usesCodexLogin(provider)) {
    const found = await readCodexLogin(env);
    if (found) return found;
  } else {
    const name = provider.keyEnv.find((candidate) => env[candidate]?.trim());
    const value = name === undefined ? undefined : env[name];
    if (name !== undefined && value !== undefined) return { apiKey: checkKey(value, name) };
  }
  if (provider.needsKey) throw new StartupError(missingKey(provider));
  return {};
}

/** Whether a provider could be asked, as far as can be told without running a command. */
export async function hasCredentials(
  provider: KnownProvider,
  { env, apiKey }: Pick<CredentialSources, "env" | "apiKey">,
): Promise<boolean> {
  if (provider.problem !== undefined) return false;
  if (apiKey !== undefined && !usesCodexLogin(provider)) return true;
  if (provider.apiKey !== undefined) return !isUnset(provider.apiKey, env);
  if (!provider.needsKey) return true;
  if (usesCodexLogin(provider)) {
    return (await readCodexLogin(env).catch(() => undefined)) !== undefined;
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
  return [apiKey ?? "", ...headers].map((secret) => secret.trim()).filter((secret) => secret !== "");
}

/** The environment variable that a key of `models.json` names. */
export function namedVariable(key: string): string | undefined {
  return /^\$([A-Za-z_][A-Za-z0-9_]*)$/.exec(key.trim())?.[1];
}

function isUnset(key: string, env: Env): boolean {
  const variable = namedVariable(key);
  return variable !== undefined && !env[variable]?.trim();
}

async function configuredKey(
  provider: KnownProvider,
  configured: string,
  { env, runCommand }: CredentialSources,
): Promise<string> {
  const text = configured.trim();
  const where = `apiKey of ${provider.name} in models.json`;
  const missing = `no credentials for ${provider.name}: the command in ${where}`;
  const variable = namedVariable(text);
  if (variable !== undefined) {
    const value = env[variable]?.trim();
    if (!value) throw new StartupError(missingKey(provider));
    return checkKey(value, variable);
  }
  if (!text.startsWith("!")) return checkKey(text, where);
  const { status, stdout } = await runCommand(text.slice(1), { timeoutMs: commandTimeoutMs });
  if (status !== 0) {
    const how =
      status === undefined
        ? `did not end within ${commandTimeoutMs / 1000} s`
        : `ended with status ${status}`;
    throw new StartupError(`${missing} ${how}`);
  }
  if (stdout.trim() === "") {
    throw new StartupError(`${missing} printed nothing`);
  }
  return checkKey(stdout, where);
}

/** A key travels in a header, which takes neither line breaks nor what is beyond Latin-1. */
function checkKey(key: string, where: string): string {
  const trimmed = key.trim();
  if (!/^[\x20-\x7e]+$/.test(trimmed)) {
    throw new StartupError(
      `${where} holds no usable key: it has line breaks or other special characters in it`,
    );
  }
  return trimmed;
}

function usesCodexLogin({ api, name }: KnownProvider): boolean {
  return name === "openai-codex" && api === "openai-codex-responses";
}

async function readCodexLogin(env: Env): Promise<Credentials | undefined> {
  const { readCodexCredentials } = await import("./openai-codex-credentials.ts");
  return readCodexCredentials(env, (path) => readFile(path, "utf8").catch(() => undefined));
}
