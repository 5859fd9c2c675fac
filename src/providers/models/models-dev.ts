import { isJsonObject, type JsonValue } from "../../contract/json.ts";
import type { ModelFacts } from "./catalog.ts";

/** Our names for the providers of models.dev. */
const providerNames: Readonly<Record<string, string>> = {
  anthropic: "anthropic",
  openai: "openai",
  google: "google",
  openrouter: "openrouter",
  xai: "xai",
  deepseek: "deepseek",
  mistral: "mistral",
  groq: "groq",
  cerebras: "cerebras",
  togetherai: "together",
  "fireworks-ai": "fireworks",
  moonshotai: "moonshotai",
  zai: "zai",
  huggingface: "huggingface",
};

/**
 * Translates the public catalog (`https://models.dev/api.json`) into ours: models of built-in providers that write text
 * and call tools. What does not look like a model is left out.
 */
export function fromModelsDev(content: unknown): Record<string, Record<string, ModelFacts>> {
  if (!isJsonObject(content)) return {};
  const catalog: [string, Record<string, ModelFacts>][] = [];
  for (const [theirs, ours] of Object.entries(providerNames)) {
    const provider = content[theirs];
    const models = isJsonObject(provider) && isJsonObject(provider.models) ? provider.models : {};
    const facts = Object.entries(models).flatMap(([id, model]) => {
      const known = toFacts(id, model);
      return known ? [[id, known] as const] : [];
    });
    if (facts.length > 0) catalog.push([ours, Object.fromEntries(facts)]);
  }
  return Object.fromEntries(catalog);
}

function toFacts(id: string, model: JsonValue): ModelFacts | undefined {
  if (!isJsonObject(model) || model.tool_call !== true || model.status === "deprecated") return undefined;
  const modalities = isJsonObject(model.modalities) ? model.modalities : {};
  if (!holds(modalities.output, "text")) return undefined;
  const limit = isJsonObject(model.limit) ? model.limit : {};
  const contextWindow = positive(limit.context);
  const maxTokens = positive(limit.output) ?? contextWindow;
  if (contextWindow === undefined || maxTokens === undefined) return undefined;
  return {
    name: typeof model.name === "string" ? model.name : id,
    reasoning: model.reasoning === true,
    input: holds(modalities.input, "image") ? ["text", "image"] : ["text"],
    contextWindow,
    maxTokens,
    ...toCost(model.cost),
  };
}

function toCost(value: JsonValue | undefined): Pick<ModelFacts, "cost"> {
  if (!isJsonObject(value)) return {};
  const { input, output, cache_read: cacheRead = 0, cache_write: cacheWrite = 0 } = value;
  if (!isPrice(input) || !isPrice(output) || !isPrice(cacheRead) || !isPrice(cacheWrite)) return {};
  return { cost: { input, output, cacheRead, cacheWrite } };
}

function isPrice(value: JsonValue | undefined): value is number {
  return typeof value === "number" && value >= 0;
}

function positive(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value > 0 ? value : undefined;
}

function holds(list: JsonValue | undefined, item: string): boolean {
  return Array.isArray(list) && list.includes(item);
}
