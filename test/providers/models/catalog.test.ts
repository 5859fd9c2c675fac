import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openCatalog } from "../../../src/providers/models/catalog.ts";
import { endpoints } from "../../../src/providers/models/endpoints.ts";
import { fromModelsDev } from "../../../src/providers/models/models-dev.ts";

let folder: string;
let warnings: string[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "catalog-"));
  warnings = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

const path = () => join(folder, "catalog.json");
const open = () => openCatalog(path(), (line) => warnings.push(line));

test("the shipped catalog has facts for every model that it lists", () => {
  const catalog = open();
  for (const provider of endpoints.keys()) {
    for (const id of catalog.ids(provider))
      expect(catalog.facts(provider, id), `${provider}/${id}`).toBeDefined();
  }
  expect(catalog.facts("openai", "gpt-4.1")).toEqual({
    name: "GPT-4.1",
    reasoning: false,
    input: ["text", "image"],
    contextWindow: 1_047_576,
    maxTokens: 32_768,
    cost: { input: 2, output: 8, cacheRead: 0.5, cacheWrite: 0 },
  });
});

test("every default model is in it", () => {
  const catalog = open();
  const missing = [...endpoints].filter(
    ([name, { defaultModel }]) => defaultModel !== undefined && !catalog.ids(name).includes(defaultModel),
  );
  expect(missing).toEqual([]);
});

test("a refreshed catalog comes first, model by model", () => {
  const model = { name: "N", reasoning: true, input: ["text"], contextWindow: 5, maxTokens: 4 };
  writeFileSync(
    path(),
    JSON.stringify({ openai: { "gpt-4.1": model, "gpt-9": model, bad: { name: 1 } }, x: 1 }),
  );
  const catalog = open();
  expect(catalog.facts("openai", "gpt-9")).toEqual(model);
  expect(catalog.facts("openai", "gpt-4.1")).toEqual(model);
  expect(catalog.facts("openai", "gpt-4o")).toMatchObject({ name: "GPT-4o" });
  expect(catalog.facts("openai", "bad")).toBeUndefined();
  expect(catalog.facts("openai", "constructor")).toBeUndefined();
  expect(catalog.ids("openai")).toEqual(expect.arrayContaining(["gpt-9", "gpt-4o"]));
  expect(warnings).toEqual([]);
});

test.each(["{", "[]"])("a refreshed catalog that holds %s is passed over with a warning", (text) => {
  writeFileSync(path(), text);
  expect(open().ids("openai").length).toBeGreaterThan(10);
  expect(warnings).toEqual([
    `${path()} is ignored, it cannot be read as a model catalog: run base-context models refresh`,
  ]);
});

test("the public catalog is translated, and what is of no use left out", () => {
  const model = {
    id: "m",
    name: "Model",
    reasoning: true,
    tool_call: true,
    modalities: { input: ["text", "image", "pdf"], output: ["text"] },
    limit: { context: 1000, output: 100 },
    cost: { input: 1, output: 2, cache_read: 0.1 },
  };
  const content = {
    togetherai: {
      models: {
        "a/m": model,
        "no-tools": { ...model, tool_call: false },
        speech: { ...model, modalities: { input: ["text"], output: ["audio"] } },
        old: { ...model, status: "deprecated" },
        "no-window": { ...model, limit: { context: 0, output: 0 } },
        "no-price": {
          ...model,
          cost: undefined,
          reasoning: false,
          modalities: { input: ["text"], output: ["text"] },
        },
        odd: 3,
      },
    },
    nobody: { models: { m: model } },
    openai: 7,
  };
  const facts = { name: "Model", contextWindow: 1000, maxTokens: 100 };
  expect(fromModelsDev(content)).toEqual({
    together: {
      "a/m": {
        ...facts,
        reasoning: true,
        input: ["text", "image"],
        cost: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 0 },
      },
      "no-price": { ...facts, reasoning: false, input: ["text"] },
    },
  });
  expect(fromModelsDev([])).toEqual({});
});
