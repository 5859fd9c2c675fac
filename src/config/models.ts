import type { BrokenProvider, CustomProvider, ModelsFile } from "../contract/config.ts";
import { StartupError } from "../contract/errors.ts";
import { isJsonObject, type JsonValue } from "../contract/json.ts";
import { check, type Problem } from "./check.ts";
import { type JsonFile, readJsonFile } from "./json-file.ts";
import { providerSchema } from "./models-schema.ts";
import { homePaths } from "./paths.ts";

export type ModelsFileSources = {
  /** The program's home folder. */
  readonly home: string;
  /** Whether a provider is built in, so that the file needs to say only what differs. */
  readonly isBuiltIn: (provider: string) => boolean;
};

/**
 * Reads `models.json`. Each provider is checked by itself, so that a mistake in one does not take the others away.
 * Throws a StartupError when the file cannot be read, is not JSON or holds no providers.
 */
export function loadModelsFile({ home, isBuiltIn }: ModelsFileSources): ModelsFile {
  const providers = new Map<string, CustomProvider>();
  const broken = new Map<string, BrokenProvider>();
  const file = readJsonFile(homePaths(home).models);
  if (!file) return { providers, broken };
  for (const [name, content] of providerEntries(file)) {
    const checked = check(providerSchema, content);
    const problem = checked.ok ? problemBesidesSchema(name, checked.value, isBuiltIn) : checked.problem;
    if (checked.ok && problem === undefined) {
      providers.set(name, checked.value);
    } else {
      const path = ["providers", name, ...(problem?.path ?? [])];
      broken.set(name, {
        problem: file.problem(path, problem?.what ?? "not valid"),
        modelIds: modelIdsOf(content),
      });
    }
  }
  return { providers, broken };
}

function providerEntries(file: JsonFile): [string, JsonValue][] {
  for (const key of Object.keys(file.content)) {
    if (key !== "providers" && key !== "$schema") {
      throw new StartupError(file.problem([key], "unknown key, the file holds only providers"));
    }
  }
  const { providers } = file.content;
  if (providers === undefined) return [];
  if (!isJsonObject(providers)) throw new StartupError(file.problem(["providers"], "it has to be an object"));
  return Object.entries(providers);
}

function problemBesidesSchema(
  name: string,
  provider: CustomProvider,
  isBuiltIn: (provider: string) => boolean,
): Problem | undefined {
  if (!/^[^\s/]+$/.test(name)) {
    return { path: [], what: "a provider's name has neither white space nor / in it" };
  }
  if (provider.baseUrl === undefined && !isBuiltIn(name)) return { path: [], what: "baseUrl is missing" };
  const ids = new Set<string>();
  for (const [index, { id }] of (provider.models ?? []).entries()) {
    if (ids.has(id)) return { path: ["models", index, "id"], what: "this model is there twice" };
    ids.add(id);
  }
  return undefined;
}

/** The ids that can be told although something is wrong. */
function modelIdsOf(content: JsonValue): string[] {
  const models = isJsonObject(content) ? content.models : undefined;
  if (!Array.isArray(models)) return [];
  return models.flatMap((model: JsonValue) =>
    isJsonObject(model) && typeof model.id === "string" && model.id !== "" ? [model.id] : [],
  );
}
