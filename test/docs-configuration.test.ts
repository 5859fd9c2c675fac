import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { check } from "../src/config/check.ts";
import { providerSchema } from "../src/config/models-schema.ts";
import { defaultSettings } from "../src/config/settings.ts";
import { settingsSchema } from "../src/config/settings-schema.ts";
import type { JsonObject } from "../src/contract/json.ts";
import { resolveCompat } from "../src/providers/models/compat.ts";
import { endpoints } from "../src/providers/models/endpoints.ts";

function page(name: string): string {
  return readFileSync(new URL(`../docs/${name}`, import.meta.url), "utf8");
}

function jsonBlocks(text: string): JsonObject[] {
  return [...text.matchAll(/```json\n([\s\S]*?)```/g)].map(([, json = ""]): JsonObject => JSON.parse(json));
}

/** The cells of the table rows that start with a name in backticks. */
function tableRows(text: string): string[][] {
  return [...text.matchAll(/^\|\s*`.*\|$/gm)].map(([row]) =>
    row
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
}

const quoted = (names: readonly string[]) => names.map((name) => `\`${name}\``).join(", ");

describe("docs/configuration.md", () => {
  const text = page("configuration.md");
  const [shown = {}] = jsonBlocks(text);

  test("shows every setting, and only settings", () => {
    expect(check(settingsSchema, shown)).toEqual({ ok: true, value: shown });
    expect(Object.keys(shown)).toEqual(Object.keys(settingsSchema.fields ?? {}));
  });

  test("shows the defaults where there are some", () => {
    const { shell: _shell, autonomous: _autonomous, ...defaults } = defaultSettings;
    expect(shown).toMatchObject(defaults);
  });
});

describe("docs/providers.md", () => {
  const text = page("providers.md");
  const section = (title: string) =>
    text.slice(text.indexOf(`\n${title}\n`)).split("\n## ")[title.startsWith("###") ? 0 : 1] ?? "";

  test("has a row for every built-in provider", () => {
    expect(tableRows(section("## Built-in providers"))).toEqual(
      [...endpoints].map(([name, { api, baseUrl, keyEnv, isLocal, defaultModel }]) => [
        quoted([name]),
        quoted([api]),
        quoted([baseUrl]),
        quoted(keyEnv) + (isLocal ? " (not needed)" : ""),
        defaultModel === undefined ? "" : quoted([defaultModel]),
      ]),
    );
  });

  test("has a row for every compat switch, with the default of an unknown server", () => {
    const compat = resolveCompat({
      api: "openai-completions",
      provider: "x",
      baseUrl: "",
      modelId: "m",
      overrides: [],
    });
    const documented = tableRows(section("### compat")).map(([name = "", value = ""]) => [
      name.replaceAll("`", ""),
      value.replaceAll("`", ""),
    ]);
    const switches = Object.keys(providerSchema.fields?.compat?.fields ?? {});
    expect(documented.map(([name]) => name)).toEqual(switches);
    const defaults = Object.fromEntries(Object.entries(compat).map(([name, value]) => [name, String(value)]));
    expect(Object.fromEntries(documented)).toEqual({ reasoningRoundTripField: "none", ...defaults });
  });

  test("has recipes that are valid", () => {
    const recipes = jsonBlocks(text);
    expect(recipes.length).toBeGreaterThan(2);
    for (const { providers } of recipes) {
      for (const provider of Object.values(providers as JsonObject))
        expect(check(providerSchema, provider)).toMatchObject({ ok: true });
    }
  });
});
