import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { CustomProvider } from "../../../src/contract/config.ts";
import { StartupError } from "../../../src/contract/errors.ts";
import type { Catalog } from "../../../src/providers/models/catalog.ts";
import {
  findCredentials,
  hasCredentials,
  type RunKeyCommand,
} from "../../../src/providers/models/credentials.ts";
import { type KnownProvider, knownProviders } from "../../../src/providers/models/known-providers.ts";

const emptyCatalog: Catalog = { ids: () => [], facts: () => undefined };

function known(name: string, custom?: CustomProvider): KnownProvider {
  const modelsFile = { providers: new Map(custom ? [[name, custom]] : []), broken: new Map() };
  const provider = knownProviders({ env: {}, modelsFile, catalog: emptyCatalog }).get(name);
  if (!provider) throw new Error(`no provider ${name}`);
  return provider;
}

type Case = {
  name: string;
  custom?: CustomProvider;
  env?: Record<string, string>;
  apiKey?: string;
  runCommand?: RunKeyCommand;
};

const noCommand: RunKeyCommand = () => Promise.reject(new Error("no command was expected"));

function find({ name, custom, env = {}, apiKey, runCommand = noCommand }: Case) {
  return findCredentials(known(name, custom), {
    env: { HOME: "/nonexistent", ...env },
    runCommand,
    ...(apiKey === undefined ? {} : { apiKey }),
  });
}

const baseUrl = "http://127.0.0.1:1/v1";
const codex = { baseUrl, api: "openai-codex-responses" } as const;
const env = { OPENAI_API_KEY: "from-env", OTHER: "\tfrom-other\n" };

test.each<[string, Case, object]>([
  [
    "--api-key",
    { name: "openai", custom: { apiKey: "literal" }, env, apiKey: " flag\n" },
    { apiKey: "flag" },
  ],
  ["the key of models.json", { name: "openai", custom: { apiKey: " literal " }, env }, { apiKey: "literal" }],
  [
    "the variable that models.json names",
    { name: "openai", custom: { apiKey: "$OTHER" }, env },
    { apiKey: "from-other" },
  ],
  ["a dollar sign that names nothing", { name: "openai", custom: { apiKey: "$1.50" } }, { apiKey: "$1.50" }],
  ["the environment", { name: "openai", env }, { apiKey: "from-env" }],
  [
    "the second variable",
    { name: "google", env: { GEMINI_API_KEY: " ", GOOGLE_API_KEY: "g" } },
    { apiKey: "g" },
  ],
  ["nothing for a local server", { name: "ollama" }, {}],
  ["a key for a local server", { name: "vllm", env: { VLLM_API_KEY: "v" } }, { apiKey: "v" }],
  ["nothing for a custom provider", { name: "mine", custom: { baseUrl }, env }, {}],
  [
    "nothing beside a header that proves enough",
    { name: "openai", custom: { headers: { Authorization: "x" } } },
    {},
  ],
  [
    "the Codex token",
    { name: "openai-codex", env: { OPENAI_CODEX_TOKEN: "t", OPENAI_CODEX_ACCOUNT_ID: "a" } },
    { apiKey: "t", accountId: "a" },
  ],
  [
    "the Codex token for another server of that API",
    { name: "mine", custom: codex, env: { OPENAI_CODEX_TOKEN: "t" } },
    { apiKey: "t" },
  ],
  [
    "its own key for such a server, with the account of the environment",
    {
      name: "mine",
      custom: { ...codex, apiKey: "mine" },
      env: { OPENAI_CODEX_TOKEN: "t", OPENAI_CODEX_ACCOUNT_ID: "a" },
    },
    { apiKey: "mine", accountId: "a" },
  ],
  ["nothing for such a server without a login", { name: "mine", custom: codex }, {}],
])("takes %s", async (_, given, expected) => {
  expect(await find(given)).toEqual(expected);
});

test("runs a command once, for 10 s at most, and takes what it prints", async () => {
  const calls: unknown[] = [];
  const runCommand: RunKeyCommand = async (...call) => {
    calls.push(call);
    return { status: 0, stdout: "key-from-command\r\n" };
  };
  const found = await find({ name: "mine", custom: { baseUrl, apiKey: "!pass show key" }, runCommand });
  expect(found).toEqual({ apiKey: "key-from-command" });
  expect(calls).toEqual([["pass show key", { timeoutMs: 10_000 }]]);
});

const start = "no credentials for mine: the command in apiKey of mine in models.json";
test.each([
  ["fails", { status: 3, stdout: "sk-secret" }, `${start} ended with status 3`],
  ["hangs", { status: undefined, stdout: "sk-secret" }, `${start} did not end within 10 s`],
  ["prints nothing", { status: 0, stdout: " \n" }, `${start} printed nothing`],
  [
    "prints two lines",
    { status: 0, stdout: "sk-secret\nsk-more" },
    "apiKey of mine in models.json holds no usable key: it is empty or has line breaks or other special characters in it",
  ],
])("refuses a command that %s without showing what it printed", async (_, result, message) => {
  const given = { name: "mine", custom: { baseUrl, apiKey: "!pass" }, runCommand: async () => result };
  await expect(find(given)).rejects.toEqual(new StartupError(message));
});

test("takes the login of Codex", async () => {
  const folder = mkdtempSync(join(tmpdir(), "codex-"));
  writeFileSync(
    join(folder, "auth.json"),
    JSON.stringify({ tokens: { access_token: "t", account_id: "a" } }),
  );
  const given = { HOME: "/nonexistent", CODEX_HOME: folder };
  expect(await findCredentials(known("openai-codex"), { env: given, runCommand: noCommand })).toEqual({
    apiKey: "t",
    accountId: "a",
  });
  expect(await hasCredentials(known("openai-codex"), { env: given })).toBe(true);
  rmSync(folder, { recursive: true });
  expect(await hasCredentials(known("openai-codex"), { env: given })).toBe(false);
});

test.each<[string, CustomProvider | undefined, boolean]>([
  ["openai", undefined, false],
  ["openai", { apiKey: "!pass" }, true],
  ["openai", { apiKey: "$UNSET" }, false],
  ["mine", { baseUrl }, true],
  ["mine", { baseUrl, apiKey: "$UNSET" }, false],
  ["llamacpp", undefined, true],
])("tells without a command whether %s %j can be asked", async (name, custom, expected) => {
  expect(await hasCredentials(known(name, custom), { env: { HOME: "/nonexistent" } })).toBe(expected);
});
