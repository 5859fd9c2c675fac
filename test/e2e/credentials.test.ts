import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { toToken } from "../providers/openai-codex-tokens.ts";
import { anyScript } from "../support/any-wire.ts";
import { type ProviderServer, startProvider } from "../support/provider-server.ts";
import { createBench } from "../support/with-provider.ts";

const done = anyScript([{ text: "done" }]);
const oneLine = /^base-context: [^\n]+\n$/;

function sent(server: ProviderServer, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, server.requests.at(-1)?.headers[name]]));
}

describe("where a key comes from", () => {
  test.each<[string, Record<string, unknown>, string[], Record<string, string>, string | undefined]>([
    ["models.json, trimmed", { apiKey: " literal-key\t" }, [], {}, "Bearer literal-key"],
    [
      "the variable that it names, trimmed",
      { apiKey: "$MY_KEY" },
      [],
      { MY_KEY: " from-env \r\n" },
      "Bearer from-env",
    ],
    ["the command that it holds", { apiKey: "!printf 'from-command\\n'" }, [], {}, "Bearer from-command"],
    ["--api-key before all", { apiKey: "!exit 1" }, ["--api-key", " flag-key "], {}, "Bearer flag-key"],
    ["nowhere: none is sent", { apiKey: undefined }, [], { OPENAI_API_KEY: "sk-other-key" }, undefined],
    [
      "a header of its own",
      { apiKey: undefined, headers: { Authorization: "Basic abcdef" } },
      [],
      {},
      "Basic abcdef",
    ],
  ])("%s", async (_, provider, args, env, authorization) => {
    const { run, server } = await createBench(done, { provider });
    expect(await run([...args, "hi"], { env })).toMatchObject({ status: 0, stderr: "" });
    expect(sent(server, ["authorization"])).toEqual({ authorization });
  });

  test("--api-key is the key of the provider that the run began with, and no other gets it", async () => {
    const { run, server, workspace } = await createBench(done);
    const others = await Promise.all([startProvider(done), startProvider(done)]);
    const [own, none] = others.map(({ url }) => ({ baseUrl: `${url}/v1`, models: [{ id: "o" }] }));
    const { providers } = JSON.parse(readFileSync(join(workspace.home, "models.json"), "utf8"));
    workspace.homeFile("models.json", {
      providers: { ...providers, own: { ...own, apiKey: "key-of-own" }, none },
    });
    const prompts = ["hi", "/model own/o", "hi", "/model none/o", "hi", "/model fake/m", "hi"];
    expect(await run(["--api-key", "flag-key", ...prompts])).toMatchObject({ status: 0, stderr: "" });
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
      "Bearer flag-key",
      "Bearer flag-key",
    ]);
    expect(others.map((each) => each.requests.map(({ headers }) => headers.authorization))).toEqual([
      ["Bearer key-of-own"],
      [undefined],
    ]);
  });

  test("a command is run once, however many requests there are", async () => {
    const { run, server, workspace } = await createBench(
      anyScript([{ calls: [{ name: "ls", args: {} }] }, { text: "done" }]),
      { provider: { apiKey: "!echo x >> $HOME/asked; printf key-of-command" } },
    );
    expect(await run(["hi", "again"])).toMatchObject({ status: 0, stderr: "" });
    expect(server.requests).toHaveLength(3);
    expect(readFileSync(join(workspace.home, "asked"), "utf8")).toBe("x\n");
  });

  test.each<[string, Record<string, unknown>, RegExp]>([
    ["a variable that is not set", { apiKey: "$NOT_SET" }, /set NOT_SET/],
    ["a command that fails", { apiKey: "!echo sk-secret-1; exit 3" }, /ended with status 3/],
    ["a command that prints nothing", { apiKey: "!true" }, /printed nothing/],
    ["a command that there is not", { apiKey: "!no-such-command-here" }, /status 127/],
    ["a key of two lines", { apiKey: "!printf 'a\\nb'" }, /line breaks/],
  ])("%s is status 2 and no request", async (_, provider, words) => {
    const { run, server } = await createBench(done, { provider });
    const result = await run(["--mode", "json", "hi"]);
    expect(result).toMatchObject({ status: 2, stdout: "" });
    expect(result.stderr).toMatch(oneLine);
    expect(result.stderr).toMatch(words);
    expect(result.stderr).not.toContain("sk-secret");
    expect(server.requests).toEqual([]);
  });

  test("a command that a signal ends is not said to have taken too long", async () => {
    const { run } = await createBench(done, { provider: { apiKey: "!kill -9 $$" } });
    expect((await run(["hi"])).stderr).toMatch(
      /the command in apiKey of fake in models.json ended with status 137$/m,
    );
  });

  test("a command that never ends is stopped", async () => {
    const { run, workspace } = await createBench(done, {
      provider: { apiKey: "!sleep 60; touch $HOME/still-there" },
    });
    const result = await run(["hi"], { timeoutMs: 18_000 });
    expect(result).toMatchObject({ status: 2, stdout: "" });
    expect(result.stderr).toMatch(/did not end within 10 s/);
    expect(existsSync(join(workspace.home, "still-there"))).toBe(false);
  });

  test.each([
    ["openai", { OPENAI_API_KEY: " sk-openai\n", OPENAI_BASE_URL: "URL/v1/" }, "/v1/responses"],
    ["anthropic", { ANTHROPIC_API_KEY: "sk-ant-1", ANTHROPIC_BASE_URL: "URL" }, "/v1/messages"],
  ])("%s is asked where its variables say", async (provider, variables, path) => {
    const { runBare, server } = await createBench(done);
    const env = Object.fromEntries(
      Object.entries(variables).map(([name, value]) => [name, value.replace("URL", server.url)]),
    );
    expect(await runBare(["--provider", provider, "hi"], { env })).toMatchObject({
      status: 0,
      stdout: "done\n",
    });
    expect(server.requests.map(({ url }) => url)).toEqual([path]);
    expect(sent(server, ["authorization"])).toEqual({
      authorization: `Bearer ${Object.values(variables)[0]?.trim()}`,
    });
  });

  test.each(["foo", "ftp://host/v1", "localhost:8080"])("a base URL %s is refused", async (url) => {
    const { runBare } = await createBench(done);
    const result = await runBare(["--model", "openai/gpt-5.5", "hi"], {
      env: { OPENAI_API_KEY: "sk-openai", OPENAI_BASE_URL: url },
    });
    expect(result).toMatchObject({
      status: 2,
      stdout: "",
      stderr: "base-context: OPENAI_BASE_URL has to be an http:// or https:// address\n",
    });
  });

  test("headers are sent as they stand", async () => {
    const headers = { "X-Team": "$HOME tools", "User-Agent": "mine" };
    const { run, server } = await createBench(done, { provider: { headers } });
    await run(["hi"]);
    expect(sent(server, ["x-team", "user-agent", "authorization"])).toEqual({
      "x-team": "$HOME tools",
      "user-agent": "mine",
      authorization: "Bearer test-key-12345678",
    });
  });
});

describe("the Codex subscription", () => {
  const api = "openai-codex-responses" as const;
  const later = toToken({ account: "of-token", expires: new Date(Date.now() + 3_600_000) });
  const expired = toToken({ account: "of-token", expires: new Date("2020-01-02T03:04:05Z") });
  const names = ["authorization", "chatgpt-account-id"];

  test.each<[string, Record<string, string>, string | undefined, object]>([
    [
      "a token and an account of the environment",
      { OPENAI_CODEX_TOKEN: "tok-opaque", OPENAI_CODEX_ACCOUNT_ID: "of-env" },
      undefined,
      { authorization: "Bearer tok-opaque", "chatgpt-account-id": "of-env" },
    ],
    [
      "a token that names its account",
      { OPENAI_CODEX_TOKEN: later },
      undefined,
      { authorization: `Bearer ${later}`, "chatgpt-account-id": "of-token" },
    ],
    [
      "what a login left",
      {},
      JSON.stringify({ tokens: { access_token: later, account_id: "of-file" } }),
      { authorization: `Bearer ${later}`, "chatgpt-account-id": "of-file" },
    ],
  ])("takes %s", async (_, env, login, expected) => {
    const { runBare, server, workspace } = await createBench(done, { api });
    workspace.homeFile("models.json", {
      providers: { "openai-codex": { baseUrl: `${server.url}/codex` } },
    });
    if (login !== undefined) workspace.homeFile("codex/auth.json", login);
    const result = await runBare(["--model", "openai-codex/gpt-5.5", "hi"], {
      env: { CODEX_HOME: join(workspace.home, "codex"), ...env },
    });
    expect(result).toMatchObject({ status: 0, stdout: "done\n", stderr: "" });
    expect(server.requests.map(({ url }) => url)).toEqual(["/codex/responses"]);
    expect(sent(server, names)).toEqual(expected);
    if (login !== undefined)
      expect(readFileSync(join(workspace.home, "codex/auth.json"), "utf8")).toBe(login);
  });

  test.each<[string, Record<string, string>, object]>([
    ["no account", {}, { authorization: "Bearer test-key-12345678", "chatgpt-account-id": undefined }],
    [
      "the account of the environment",
      { OPENAI_CODEX_ACCOUNT_ID: "of-env" },
      { authorization: "Bearer test-key-12345678", "chatgpt-account-id": "of-env" },
    ],
  ])("another server of that API gets its own key, with %s", async (_, env, expected) => {
    const { run, server } = await createBench(done, { api });
    expect(await run(["hi"], { env })).toMatchObject({ status: 0, stdout: "done\n", stderr: "" });
    expect(sent(server, names)).toEqual(expected);
  });

  test("the key of the command line is the token, where that provider is asked for", async () => {
    const { runBare, server, workspace } = await createBench(done, { api });
    workspace.homeFile("models.json", { providers: { "openai-codex": { baseUrl: server.url } } });
    await runBare(["--model", "openai-codex/gpt-5.5", "--api-key", "tok-given", "hi"]);
    expect(sent(server, names)).toEqual({
      authorization: "Bearer tok-given",
      "chatgpt-account-id": undefined,
    });
  });

  test.each<[string, Record<string, string>, object, string[]]>([
    ["the environment", { OPENAI_CODEX_TOKEN: expired }, {}, []],
    ["models.json", {}, { apiKey: expired }, []],
    ["the command line", {}, {}, ["--api-key", expired]],
  ])("an expired token of %s is told of before any request", async (_, env, provider, args) => {
    const { runBare, server, workspace } = await createBench(done, { api });
    workspace.homeFile("models.json", {
      providers: { "openai-codex": { baseUrl: server.url, ...provider } },
    });
    const result = await runBare([...args, "--model", "openai-codex/gpt-5.5", "hi"], { env });
    expect(result).toMatchObject({ status: 2, stdout: "" });
    expect(result.stderr).toMatch(oneLine);
    expect(result.stderr).toMatch(/expired at 2020-01-02T03:04:05.*codex login/);
    expect(server.requests).toEqual([]);
  });

  test("no login at all says how to get one", async () => {
    const { runBare } = await createBench(done);
    const result = await runBare(["--provider", "openai-codex", "hi"]);
    expect(result).toMatchObject({ status: 2, stdout: "" });
    expect(result.stderr).toMatch(/OPENAI_CODEX_TOKEN.*codex login/);
  });

  test.each([
    ["nested", { error: { message: "Plan is over", code: "plan_over" } }, /plan_over.*Plan is over/],
    [
      "in the response",
      { response: { error: { message: "Plan is over", code: "plan_over" } } },
      /plan_over.*Plan is over/,
    ],
    ["flat", { message: "Plan is over" }, /Plan is over/],
    ["a detail", { detail: "Plan is over" }, /Plan is over/],
    ["an empty error", { error: {} }, /gave no reason/],
    ["nothing", "", /gave no reason/],
    ["no JSON", "upstream said no", /upstream said no/],
  ])("an error that is %s keeps its words", async (_, body, words) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const { run } = await createBench([{ status: 400, type: "application/json", body: text }], { api });
    const result = await run(["hi"]);
    expect(result.status).toBe(1);
    expect(result.stderr).toMatch(oneLine);
    expect(result.stderr).toMatch(words);
  });
});

test("a recording of the subscription is replayed without a login", async () => {
  const { run, runBare, server } = await createBench(done, { api: "openai-codex-responses" });
  await run(["--record", "tape.jsonl", "hi"]);
  await server.close();
  expect(await runBare(["--replay", "tape.jsonl", "hi"])).toMatchObject({ status: 0, stdout: "done\n" });
});
