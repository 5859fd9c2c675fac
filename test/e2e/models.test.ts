import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { anyReply, anyScript, everyApi } from "../support/any-wire.ts";
import type { LoggedRequest, Script } from "../support/provider-server.ts";
import type { Line } from "../support/run-cli.ts";
import { createBench } from "../support/with-provider.ts";

const done = anyScript([{ text: "done" }]);
const oneLine = /^base-context: [^\n]+\n$/;

/** Answers model lists with these ids, and prompts with `done`. */
function listing(...ids: string[]): Script[] {
  const list = { object: "list", data: ids.map((id) => ({ id, object: "model", type: "model" })) };
  return [
    (request: LoggedRequest) =>
      request.method === "GET"
        ? { type: "application/json", body: JSON.stringify(list) }
        : anyReply(request, { text: "done" }),
  ];
}

/** Provider and model of a run's answer. */
function asked(lines: readonly Line[]): string {
  const message = lines.at(-1)?.messages.at(-1);
  return `${message.provider}/${message.model}`;
}

describe("which model a name means", () => {
  const env = { OPENAI_API_KEY: "sk-openai" };
  const providers = (url: string) => ({
    one: { baseUrl: `${url}/v1`, models: [{ id: "shared" }, { id: "only-one" }, { id: "vendor/deep:free" }] },
    two: { baseUrl: `${url}/v1`, apiKey: "$TWO_KEY", models: [{ id: "shared" }, { id: "big-fast" }] },
    three: { baseUrl: `${url}/v1`, models: [{ id: "small-fast" }, { id: "tiny:high" }] },
  });

  test.each<[string, string[], Record<string, string>, string]>([
    ["an id that one provider has", ["--model", "only-one"], {}, "one/only-one"],
    ["a provider and an id", ["--model", "three/small-fast"], {}, "three/small-fast"],
    ["an id of two providers, one of them with a key", ["--model", "shared"], {}, "one/shared"],
    ["a part of one usable model", ["--model", "fast"], {}, "three/small-fast"],
    ["an id with a slash and a colon", ["--model", "vendor/deep:free"], {}, "one/vendor/deep:free"],
    ["an id that ends like a level", ["--model", "tiny:high"], {}, "three/tiny:high"],
    ["an id in other case", ["--model", "Only-One"], {}, "one/only-one"],
    [
      "a provider apart from the id",
      ["--provider", "three", "--model", "small-fast"],
      {},
      "three/small-fast",
    ],
    ["a provider alone: its first model", ["--provider", "three"], {}, "three/small-fast"],
    ["neither: the first provider's first model", [], {}, "one/shared"],
  ])("%s", async (_, args, more, expected) => {
    const { runBare, server, workspace } = await createBench(done);
    workspace.homeFile("models.json", { providers: providers(server.url) });
    const { status, lines, stderr } = await runBare([...args, "--mode", "json", "hi"], { env: more });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(asked(lines)).toBe(expected);
    expect(server.json(0).model).toBe(expected.slice(expected.indexOf("/") + 1));
  });

  test.each<[string, string[], Record<string, string>, RegExp]>([
    ["an id of two usable providers", ["--model", "shared"], { TWO_KEY: "k" }, /one\/shared, two\/shared/],
    [
      "a part of two usable models",
      ["--model", "fast"],
      { TWO_KEY: "k" },
      /two\/big-fast, three\/small-fast/,
    ],
    [
      "a model whose provider has no key",
      ["--model", "two/big-fast"],
      {},
      /no credentials for two: set TWO_KEY/,
    ],
    ["a name that is near", ["--model", "one/only-oen"], {}, /unknown model one\/only-oen.*one\/only-one/],
    ["a provider without an id", ["--model", "two/"], { TWO_KEY: "k" }, /unknown model two\//],
    ["a provider with a level alone", ["--model", "two/:high"], { TWO_KEY: "k" }, /unknown model two\/:high/],
    ["a name that is near nothing", ["--model", "zzzzzzzzzzzz"], {}, /unknown model zzzzzzzzzzzz/],
    ["an unknown provider", ["--provider", "tree", "--model", "x"], {}, /unknown provider tree.*three/],
    [
      "a provider and a model of another",
      ["--provider", "one", "--model", "small-fast"],
      {},
      /unknown model/,
    ],
    ["no name at all", ["--model", ""], {}, /model/],
  ])("%s is refused", async (_, args, more, words) => {
    const { runBare, server, workspace } = await createBench(done);
    workspace.homeFile("models.json", { providers: providers(server.url) });
    workspace.homeFile("settings.json", { defaultProvider: "one", defaultModel: "only-one" });
    const result = await runBare([...args, "--offline", "--mode", "json", "hi"], { env: { ...more } });
    expect(result).toMatchObject({ status: 2, stdout: "" });
    expect(result.stderr).toMatch(oneLine);
    expect(result.stderr).toMatch(words);
    expect(server.requests).toEqual([]);
  });

  test("a default of the settings counts, and is refused when it does not exist", async () => {
    const { runBare, server, workspace } = await createBench(done);
    workspace.homeFile("models.json", { providers: providers(server.url) });
    workspace.homeFile("settings.json", { defaultProvider: "three", defaultModel: "small-fast" });
    expect(asked((await runBare(["--mode", "json", "hi"])).lines)).toBe("three/small-fast");
    workspace.homeFile("settings.json", { defaultModel: "nothing-like-it" });
    const result = await runBare(["--offline", "hi"], { env });
    expect(result.status).toBe(2);
    expect(result.stderr).toMatch(/default model of settings.json: unknown model nothing-like-it/);
  });

  test("a session that goes on keeps its model; a named one comes before it", async () => {
    const { runBare, server, workspace } = await createBench(done);
    workspace.homeFile("models.json", { providers: providers(server.url) });
    await runBare(["--model", "three/small-fast", "hi"]);
    expect(asked((await runBare(["-c", "--mode", "json", "hi"])).lines)).toBe("three/small-fast");
    expect(asked((await runBare(["-c", "--model", "only-one", "--mode", "json", "hi"])).lines)).toBe(
      "one/only-one",
    );
    expect((await runBare(["-c", "--model", "no/such", "--offline", "hi"])).status).toBe(2);
  });
});

describe("thinking levels", () => {
  const levelOf = async (args: string[], model: object) => {
    const { runBare, server, workspace } = await createBench(done);
    workspace.homeFile("models.json", {
      providers: { fake: { baseUrl: `${server.url}/v1`, models: [{ id: "m", ...model }] } },
    });
    const { status, stderr } = await runBare([...args, "hi"]);
    return { status, stderr, effort: server.json(0).reasoning_effort };
  };

  test.each([
    [["--model", "fake/m:high"], "high"],
    [["--model", "m:low"], "low"],
    [["--model", "fake/m:max"], "high"],
    [["--model", "fake/m", "--thinking", "minimal"], "low"],
    [["--model", "fake/m:high", "--thinking", "low"], "low"],
    [["--model", "fake/m"], "medium"],
    [["--model", "fake/m:off"], "none"],
  ])("%j asks for %s", async (args, effort) => {
    expect(await levelOf(args, { reasoning: true })).toEqual({ status: 0, stderr: "", effort });
  });

  test("a model that does not reason warns and goes on", async () => {
    const { status, stderr, effort } = await levelOf(["--model", "fake/m:high"], { reasoning: false });
    expect({ status, effort }).toEqual({ status: 0, effort: undefined });
    expect(stderr).toMatch(/^base-context: fake\/m does not reason[^\n]*\n$/);
  });
});

describe("a model that nobody listed", () => {
  test("is taken at a server that lists none, without asking", async () => {
    const { runBare, server, workspace } = await createBench(done);
    workspace.homeFile("models.json", {
      providers: { ollama: { baseUrl: `${server.url}/v1` }, mine: { baseUrl: `${server.url}/v1` } },
    });
    for (const model of ["ollama/qwen3:8b", "mine/any/thing"]) {
      const { status, lines } = await runBare(["--model", model, "--mode", "json", "hi"]);
      expect(status).toBe(0);
      expect(asked(lines)).toBe(model);
    }
    expect(server.requests.map(({ method }) => method)).toEqual(["POST", "POST"]);
  });

  test.each([
    ["openai", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1", "/v1/models"],
    ["anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "", "/v1/models?limit=1000"],
  ])("is asked of %s itself", async (provider, key, base, path, url) => {
    const { runBare, server } = await createBench(listing("new-model"));
    const env = { [key]: "sk-test-1234", [base]: server.url + path };
    const found = await runBare(["--model", `${provider}/new-model`, "--mode", "json", "hi"], { env });
    expect(found).toMatchObject({ status: 0, stderr: "" });
    expect(asked(found.lines)).toBe(`${provider}/new-model`);
    expect(server.requests.map((request) => `${request.method} ${request.url}`)).toEqual([
      `GET ${url}`,
      expect.stringContaining("POST"),
    ]);
    const refused = await runBare(["--model", `${provider}/newer-model`, "hi"], { env });
    expect(refused).toMatchObject({ status: 2, stdout: "" });
    expect(refused.stderr).toMatch(/unknown model .*does not list it either/);
    const before = server.requests.length;
    const offline = await runBare(["--offline", "--model", `${provider}/new-model`, "hi"], { env });
    expect(offline).toMatchObject({ status: 2, stdout: "" });
    expect(server.requests).toHaveLength(before);
  });

  test("is asked of a server of one's own that lists some", async () => {
    const { runBare, server, workspace } = await createBench(listing("other", "m"));
    workspace.homeFile("models.json", { providers: everyApi(server.url) });
    const { status, lines } = await runBare(["--model", "completions/other", "--mode", "json", "hi"]);
    expect(status).toBe(0);
    expect(asked(lines)).toBe("completions/other");
  });

  test("a server that cannot be asked is named, without the key", async () => {
    const { runBare } = await createBench([
      ({ headers }) => ({ status: 401, type: "text/plain", body: `bad: ${headers.authorization}` }),
    ]);
    const { server } = await createBench(done);
    const env = { OPENAI_API_KEY: "sk-test-1234", OPENAI_BASE_URL: `${server.url}/v1` };
    await server.close();
    const result = await runBare(["--model", "openai/new-model", "hi"], { env });
    expect(result.status).toBe(2);
    expect(result.stderr).toMatch(/openai could not be asked for its models: cannot connect/);
    expect(result.stderr).not.toContain("sk-test");
  });
});

describe("a mistake in models.json", () => {
  const good = (url: string) => ({ baseUrl: `${url}/v1`, models: [{ id: "m" }] });
  test.each<[string, object, RegExp]>([
    ["an empty id", { models: [{ id: "" }] }, /models\.json:\d+:\d+: providers\.bad\.models\[0\]\.id/],
    ["a misspelt key", { baseURL: "http://127.0.0.1:1" }, /providers\.bad\.baseURL: unknown key.*baseUrl/],
    ["an unknown api", { api: "openai" }, /providers\.bad\.api/],
    ["a misspelt switch", { compat: { supportStore: true } }, /supportStore.*supportsStore/],
  ])("%s spoils its own provider only", async (_, mistake, words) => {
    const { runBare, server, workspace } = await createBench(done);
    const bad = { ...good(server.url), ...mistake };
    workspace.homeFile("models.json", { providers: { fine: good(server.url), bad } });
    const fine = await runBare(["--model", "fine/m", "hi"]);
    expect(fine).toMatchObject({ status: 0, stdout: "done\n" });
    expect(fine.stderr).toMatch(oneLine);
    expect(fine.stderr).toMatch(words);
    const before = server.requests.length;
    const broken = await runBare(["--model", "bad/m", "hi"]);
    expect(broken).toMatchObject({ status: 2, stdout: "" });
    expect(broken.stderr).toMatch(words);
    expect(server.requests).toHaveLength(before);
  });

  test("a built-in provider with a mistake is not asked at its public address", async () => {
    const { runBare, workspace } = await createBench(done);
    workspace.homeFile("models.json", { providers: { openai: { baseUrl: "ftp://x" } } });
    const result = await runBare(["--model", "openai/gpt-5.5", "hi"], {
      env: { OPENAI_API_KEY: "sk-test-1234" },
    });
    expect(result).toMatchObject({ status: 2, stdout: "" });
    expect(result.stderr).toMatch(/providers\.openai\.baseUrl/);
  });

  test.each([
    ["no JSON", '{"providers": {', /models\.json/],
    ["an unknown key", '{"provider": {}}', /models\.json.*provider/],
    ["a list", "[]", /models\.json/],
  ])("a file that is %s is refused", async (_, text, words) => {
    const { run, workspace } = await createBench(done);
    workspace.homeFile("models.json", text);
    const result = await run(["hi"]);
    expect(result).toMatchObject({ status: 2, stdout: "" });
    expect(result.stderr).toMatch(oneLine);
    expect(result.stderr).toMatch(words);
  });
});

describe("base-context models", () => {
  test("lists what can be asked, as a table and as JSON", async () => {
    const { runBare, server, workspace } = await createBench(done, {
      model: { name: "My model", reasoning: true, cost: { input: 1, output: 2 } },
    });
    const table = await runBare(["models", "fake"]);
    expect(table).toMatchObject({ status: 0, stderr: "" });
    expect(table.stdout).toMatch(/^MODEL .*KEY\nfake\/m .*yes\n$/);
    const { stdout } = await runBare(["models", "fake/m", "--json"]);
    expect(JSON.parse(stdout)).toEqual([
      {
        id: "m",
        name: "My model",
        provider: "fake",
        reasoning: true,
        input: ["text"],
        contextWindow: 128_000,
        maxTokens: 16_384,
        cost: { input: 1, output: 2, cacheRead: 1, cacheWrite: 1 },
        available: true,
      },
    ]);
    expect(JSON.parse((await runBare(["models", "--json"])).stdout).length).toBeGreaterThan(100);
    expect(await runBare(["models", "no such model anywhere"])).toMatchObject({
      status: 0,
      stdout: "no models found\n",
    });
    workspace.homeFile("models.json", { providers: { bad: { baseUrl: server.url, nonsense: 1 } } });
    const warned = await runBare(["models", "gpt-5.5"]);
    expect(warned.status).toBe(0);
    expect(warned.stderr).toMatch(/^base-context: .*nonsense[^\n]*\n$/);
  });

  test("refresh fetches the catalog, and a run then knows its models", async () => {
    const catalog = {
      openai: {
        models: {
          "gpt-new": {
            name: "GPT New",
            tool_call: true,
            reasoning: true,
            modalities: { input: ["text", "image"], output: ["text"] },
            limit: { context: 1000, output: 500 },
            cost: { input: 1, output: 2, cache_read: 0.1 },
          },
        },
      },
    };
    const { runBare, server, workspace } = await createBench([
      (request) =>
        request.url === "/api.json"
          ? { type: "application/json", body: JSON.stringify(catalog) }
          : anyReply(request, { text: "done" }),
    ]);
    const env = { BASE_CONTEXT_CATALOG_URL: `${server.url}/api.json`, OPENAI_API_KEY: "sk-test-1234" };
    const refreshed = await runBare(["models", "refresh"], { env });
    expect(refreshed).toMatchObject({ status: 0, stderr: "" });
    expect(refreshed.stdout).toContain("1 models of 1 providers");
    expect(server.requests[0]?.headers.authorization).toBeUndefined();
    const list = await runBare(["models", "openai/gpt-new", "--json"], { env });
    expect(JSON.parse(list.stdout)).toMatchObject([
      { name: "GPT New", contextWindow: 1000, available: true },
    ]);
    const ran = await runBare(["--offline", "--model", "gpt-new", "--mode", "json", "hi"], {
      env: { ...env, OPENAI_BASE_URL: `${server.url}/v1` },
    });
    expect(asked(ran.lines)).toBe("openai/gpt-new");
    const path = join(workspace.home, "catalog.json");
    const before = readFileSync(path, "utf8");
    await server.close();
    const failed = await runBare(["models", "refresh"], { env });
    expect(failed).toMatchObject({ status: 1, stdout: "" });
    expect(failed.stderr).toMatch(/^base-context: http:\/\/127\.[^\n]*cannot be fetched: [^\n]+\n$/);
    expect(readFileSync(path, "utf8")).toBe(before);
    expect(existsSync(`${path}.tmp`)).toBe(false);
  });
});

test("a signal ends the wait for a provider's list of models", async () => {
  const { runBare, server } = await createBench([{ end: "hang", type: "application/json" }]);
  const { status, stderr } = await runBare(["--model", "fake/other", "hi"], {
    // The list itself is waited for longer.
    timeoutMs: 9_000,
    onStart: (child) => void server.received(1).then(() => child.kill("SIGINT")),
  });
  expect({ status, stderr }).toEqual({ status: 130, stderr: "base-context: ended by SIGINT\n" });
});
