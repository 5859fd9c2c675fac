import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { listModels, refreshModels } from "../../src/commands/models.ts";

let root: string;
let home: string;
let written: string;
let warnings: string[];
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "models-command-"));
  home = join(root, "home");
  written = "";
  warnings = [];
});
afterEach(() => rmSync(root, { recursive: true }));

const write = (text: string) => {
  written += text;
};

function list(options: { json: boolean; search?: string; env?: Record<string, string> }) {
  const { env, ...rest } = options;
  return listModels(
    { home: root, env: { HOME: root, ...env }, warn: (line) => warnings.push(line), ...rest },
    write,
  );
}

function configure(providers: object): void {
  writeFileSync(join(root, "models.json"), JSON.stringify({ providers }));
}

const local = {
  baseUrl: "http://127.0.0.1:1/v1",
  models: [
    {
      id: "tiny",
      reasoning: true,
      input: ["text", "image"],
      contextWindow: 900,
      maxTokens: 100,
      cost: { input: 0.5, output: 1 },
    },
    { id: "big/one", contextWindow: 1_500_000 },
  ],
};

describe("models", () => {
  test("prints a table", async () => {
    configure({ mine: local });
    expect(await list({ json: false, search: "mine/" })).toBe(0);
    expect(written).toBe(`MODEL         CONTEXT  OUTPUT  $/M IN  $/M OUT  THINKS  IMAGES  KEY
mine/tiny     900      100     0.5     1        yes     yes     yes
mine/big/one  1.5M     16K     ?       ?        no      no      yes
`);
  });

  test("prints JSON", async () => {
    configure({ mine: { ...local, apiKey: "$MY_KEY" } });
    expect(await list({ json: true, search: "MINE tiny" })).toBe(0);
    expect(JSON.parse(written)).toEqual([
      {
        id: "tiny",
        provider: "mine",
        name: "tiny",
        reasoning: true,
        input: ["text", "image"],
        contextWindow: 900,
        maxTokens: 100,
        cost: { input: 0.5, output: 1, cacheRead: 0.5, cacheWrite: 0.5 },
        available: false,
      },
    ]);
  });

  test("tells where a key is there", async () => {
    await list({ json: true, search: "anthropic/claude-opus-4-7", env: { ANTHROPIC_API_KEY: "sk-ant" } });
    const rows = JSON.parse(written) as { provider: string; available: boolean }[];
    expect(rows.map(({ provider, available }) => ({ provider, available }))).toEqual([
      { provider: "anthropic", available: true },
    ]);
    expect(written).not.toContain("sk-ant");
  });

  test("lists nothing in words or as an empty array", async () => {
    await list({ json: false, search: "no such model" });
    await list({ json: true, search: "no such model" });
    expect(written).toBe("no models found\n[]\n");
  });

  test("leaves a broken provider out, with a warning", async () => {
    configure({ mine: { ...local, modles: [] } });
    expect(await list({ json: true, search: "mine/" })).toBe(0);
    expect(written).toBe("[]\n");
    expect(warnings).toEqual([
      expect.stringContaining("providers.mine.modles: unknown key, did you mean models?"),
    ]);
  });
});

describe("models refresh", () => {
  const model = {
    tool_call: true,
    modalities: { input: ["text"], output: ["text"] },
    limit: { context: 10, output: 5 },
  };
  const refresh = (response: () => Response, signal = new AbortController().signal) =>
    refreshModels({ home, env: {}, fetch: async () => response(), signal }, write);

  test("keeps the public catalog where only the user can read it", async () => {
    const umask = process.umask(0);
    try {
      expect(await refresh(() => Response.json({ openai: { models: { "gpt-new": model } } }))).toBe(0);
    } finally {
      process.umask(umask);
    }
    const path = join(home, "catalog.json");
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({
      openai: {
        "gpt-new": { name: "gpt-new", reasoning: false, input: ["text"], contextWindow: 10, maxTokens: 5 },
      },
    });
    expect({ file: statSync(path).mode & 0o777, folder: statSync(home).mode & 0o777 }).toEqual({
      file: 0o600,
      folder: 0o700,
    });
    expect(readdirSync(home)).toEqual(["catalog.json"]);
    expect(written).toBe(`1 models of 1 providers are now in ${path}\n`);
  });

  test.each<[string, () => Response, string]>([
    ["is no JSON", () => new Response("<html>"), "https://models.dev/api.json cannot be fetched: "],
    [
      "is an error",
      () => new Response("no", { status: 503 }),
      "https://models.dev/api.json cannot be fetched: ",
    ],
    [
      "holds no models",
      () => Response.json({}),
      "https://models.dev/api.json holds no models that are of use",
    ],
  ])("keeps the old catalog when the answer %s", async (_, response, message) => {
    await refresh(() => Response.json({ openai: { models: { "gpt-new": model } } }));
    const before = readFileSync(join(home, "catalog.json"), "utf8");
    await expect(refresh(response)).rejects.toThrow(message);
    expect(readFileSync(join(home, "catalog.json"), "utf8")).toBe(before);
  });

  test("ends with the signal's reason when the run is aborted", async () => {
    const reason = { kind: "signal", signal: "SIGINT" };
    const fail = () => {
      throw new Error("connection closed");
    };
    await expect(refresh(fail, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});
