import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadModelsFile } from "../../src/config/models.ts";
import { StartupError } from "../../src/contract/errors.ts";

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "models-"));
});
afterEach(() => rmSync(home, { recursive: true }));

const file = () => join(home, "models.json");
const load = async () => loadModelsFile({ home, isBuiltIn: (name) => name === "openai" });

describe("loadModelsFile", () => {
  test("finds no providers where no file is", async () => {
    expect(await load()).toEqual({ providers: new Map(), broken: new Map() });
  });

  test("takes providers as they stand", async () => {
    const local = {
      baseUrl: "http://127.0.0.1:8080/v1",
      api: "openai-completions",
      apiKey: "$KEY",
      headers: { "x-a": "b" },
      compat: { supportsStore: false },
      models: [
        {
          id: "m/1:x",
          name: "M",
          reasoning: true,
          input: ["text", "image"],
          contextWindow: 1000,
          maxTokens: 100,
          cost: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 0 },
          compat: { thinkingFormat: "qwen" },
        },
      ],
    };
    writeFileSync(
      file(),
      JSON.stringify({ providers: { local, openai: { baseUrl: "https://gateway.test/v1" } } }),
    );
    expect(await load()).toEqual({
      providers: new Map<string, unknown>([
        ["local", local],
        ["openai", { baseUrl: "https://gateway.test/v1" }],
      ]),
      broken: new Map(),
    });
  });

  test.each([
    [
      '{"baseUrl": "http://x", "models": [{"id": "ok"}, {"id": ""}]}',
      "models[1].id: it must not be blank",
      54,
    ],
    ['{"baseUrl": "http://x", "contxtWindow": 1}', "contxtWindow: unknown key, did you mean", 28],
    [
      '{"baseUrl": "http://x", "models": [{"id": "a", "contxtWindow": 1}]}',
      "models[0].contxtWindow: unknown key, did you mean contextWindow?",
      51,
    ],
    ['{"baseUrll": "http://x"}', "baseUrll: unknown key, did you mean baseUrl?", 5],
    ['{"baseUrl": "127.0.0.1:80"}', "baseUrl: it has to be an http:// or https:// address", 5],
    [
      '{"baseUrl": "http://u:p@x"}',
      "baseUrl: credentials go into apiKey or headers, not into the address",
      5,
    ],
    ["{}", "baseUrl is missing", 3],
    ["[]", "it has to be an object, not an array", 3],
    ['{"baseUrl": "http://x", "models": [{"name": "a"}]}', "models[0].id: it is missing", 39],
    [
      '{"baseUrl": "http://x", "models": [{"id": "a"}, {"id": "a"}]}',
      "models[1].id: this model is there twice",
      53,
    ],
    ['{"baseUrl": "http://x", "headers": {"a b": "c"}}', 'headers."a b": this name is not valid', 40],
    ['{"baseUrl": "http://x", "headers": {"a": "b\\nc"}}', "headers.a: it is no valid header value", 40],
    ['{"baseUrl": "http://x", "api": "grpc"}', "api: it has to be one of", 28],
    [
      '{"baseUrl": "http://x", "compat": {"supportStore": true}}',
      "compat.supportStore: unknown key, did you mean supportsStore?",
      39,
    ],
  ])("sets only the provider %s aside", async (provider, problem, column) => {
    writeFileSync(
      file(),
      `{"providers": {\n  "good": {"baseUrl": "http://127.0.0.1:1"},\n"bad": ${provider}}}`,
    );
    const { providers, broken } = await load();
    expect([...providers.keys()]).toEqual(["good"]);
    expect([...broken.keys()]).toEqual(["bad"]);
    expect(broken.get("bad")?.problem).toContain(problem);
    expect(
      broken.get("bad")?.problem.startsWith(`${file()}:3:${column === 3 ? 1 : column + 4}: providers.bad`),
    ).toBe(true);
  });

  test("tells which models a broken provider would have had", async () => {
    writeFileSync(
      file(),
      '{"providers": {"bad": {"models": [{"id": "a"}, {"id": 3}, {"id": "b", "x": 1}]}}}',
    );
    expect((await load()).broken.get("bad")?.modelIds).toEqual(["a", "b"]);
  });

  test.each([
    ["{", ":1:2: not valid JSON"],
    ['{"provider": {}}', ":1:2: provider: unknown key, the file holds only providers"],
    ['{"providers": []}', ":1:2: providers: it has to be an object"],
    ["", " is empty"],
  ])("refuses the file %j", async (text, problem) => {
    writeFileSync(file(), text);
    const error = await load().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StartupError);
    expect(String(error)).toContain(`${file()}${problem}`);
  });
});
