import { expect, test } from "vitest";
import { StartupError } from "../../../src/contract/errors.ts";
import {
  findCodexCredentials,
  type GivenToken,
} from "../../../src/providers/openai-responses/codex-credentials.ts";
import { toToken } from "../openai-codex-tokens.ts";

const later = toToken({ expires: new Date(Date.now() + 3_600_000) });
const expired = toToken({ expires: new Date("2020-01-02T03:04:05Z") });

function read(env: Record<string, string>, files: Record<string, string> = {}, given?: GivenToken) {
  return findCodexCredentials({ env, readFile: async (path) => files[path], given });
}

function auth(tokens: unknown): string {
  return JSON.stringify({ OPENAI_API_KEY: null, tokens });
}

test.each([
  [
    "the environment",
    { OPENAI_CODEX_TOKEN: " t\n", OPENAI_CODEX_ACCOUNT_ID: "a" },
    {},
    { apiKey: "t", accountId: "a" },
  ],
  ["the environment, without an account", { OPENAI_CODEX_TOKEN: "t" }, {}, { apiKey: "t" }],
  [
    "the login's file in the home folder",
    { HOME: "/home/me" },
    { "/home/me/.codex/auth.json": auth({ access_token: later, account_id: "a" }) },
    { apiKey: later, accountId: "a" },
  ],
  [
    "the login's file in CODEX_HOME",
    { HOME: "/home/me", CODEX_HOME: "/codex" },
    { "/codex/auth.json": auth({ access_token: later }), "/home/me/.codex/auth.json": "{" },
    { apiKey: later },
  ],
  [
    "the login's file, with another account",
    { CODEX_HOME: "/codex", OPENAI_CODEX_ACCOUNT_ID: "b" },
    { "/codex/auth.json": auth({ access_token: later, account_id: "a" }) },
    { apiKey: later, accountId: "b" },
  ],
  ["nowhere: no file", { HOME: "/home/me" }, {}, undefined],
  [
    "nowhere: a login with a key only",
    { CODEX_HOME: "/codex" },
    { "/codex/auth.json": auth(null) },
    undefined,
  ],
])("credentials come from %s", async (_, env, files, expected) => {
  expect(await read(env, files)).toEqual(expected);
});

test("a given token comes before all others, with the account of the environment", async () => {
  const env = { OPENAI_CODEX_TOKEN: "t", OPENAI_CODEX_ACCOUNT_ID: "b" };
  const given = { apiKey: "g", source: "--api-key" };
  expect(await read(env, {}, given)).toEqual({ apiKey: "g", accountId: "b" });
  expect(await read({}, {}, given)).toEqual({ apiKey: "g" });
  await expect(read({}, {}, { apiKey: expired, source: "--api-key" })).rejects.toThrow(
    "--api-key expired at 2020-01-02",
  );
});

test.each([
  [
    "an expired token in the environment",
    { OPENAI_CODEX_TOKEN: expired },
    {},
    "OPENAI_CODEX_TOKEN expired at 2020-01-02",
  ],
  [
    "an expired token in the file",
    { CODEX_HOME: "/codex" },
    { "/codex/auth.json": auth({ access_token: expired }) },
    "/codex/auth.json expired at 2020-01-02",
  ],
  [
    "a file that is no JSON",
    { CODEX_HOME: "/codex" },
    { "/codex/auth.json": "{" },
    "/codex/auth.json is not",
  ],
])("%s is a clear error", async (_, env, files, words) => {
  const thrown = await read(env, files).catch((error: unknown) => error);
  expect(thrown).toBeInstanceOf(StartupError);
  expect(String(thrown)).toContain(words);
});
