import { readFileSync } from "node:fs";
import { isJsonObject, type JsonObject, type JsonValue } from "../../contract/json.ts";
import type { Prices } from "../../contract/provider.ts";

/** What the catalog knows of a model. */
export type ModelFacts = {
  readonly name: string;
  readonly reasoning: boolean;
  readonly input: readonly ("text" | "image")[];
  /** Tokens. */
  readonly contextWindow: number;
  /** Output tokens. */
  readonly maxTokens: number;
  /** Absent when the prices are not known. */
  readonly cost?: Prices;
};

/** The models of the built-in providers. */
export type Catalog = {
  ids(provider: string): readonly string[];
  facts(provider: string, id: string): ModelFacts | undefined;
};

/**
 * Opens the catalog that ships with the program, overlaid by the one that `models refresh` wrote. The files are read
 * when something is first asked for. A refreshed catalog that cannot be used is passed over with a warning.
 */
export function openCatalog(refreshedPath: string, warn: (line: string) => void): Catalog {
  let layers: readonly JsonObject[] | undefined;
  const load = () => {
    layers ??= [readRefreshed(refreshedPath, warn), readShipped()];
    return layers;
  };
  return {
    ids(provider) {
      return [...new Set(load().flatMap((layer) => Object.keys(childOf(layer, provider) ?? {})))];
    },
    facts(provider, id) {
      for (const layer of load()) {
        const facts = toModelFacts(id, ownValue(childOf(layer, provider), id));
        if (facts) return facts;
      }
      return undefined;
    },
  };
}

/** Reads one model of a catalog file; undefined for what is none. */
export function toModelFacts(id: string, value: JsonValue | undefined): ModelFacts | undefined {
  if (!isJsonObject(value)) return undefined;
  const { name, reasoning, input, contextWindow, maxTokens, cost } = value;
  if (!isCount(contextWindow) || !isCount(maxTokens)) return undefined;
  const prices = toPrices(cost);
  return {
    name: typeof name === "string" && name !== "" ? name : id,
    reasoning: reasoning === true,
    input: Array.isArray(input) && input.includes("image") ? ["text", "image"] : ["text"],
    contextWindow,
    maxTokens,
    ...(prices && { cost: prices }),
  };
}

function toPrices(value: JsonValue | undefined): Prices | undefined {
  if (!isJsonObject(value)) return undefined;
  const { input, output, cacheRead = 0, cacheWrite = 0 } = value;
  return isPrice(input) && isPrice(output) && isPrice(cacheRead) && isPrice(cacheWrite)
    ? { input, output, cacheRead, cacheWrite }
    : undefined;
}

function isCount(value: JsonValue | undefined): value is number {
  return typeof value === "number" && Number.isInteger(value) && value > 0;
}

function isPrice(value: JsonValue | undefined): value is number {
  return typeof value === "number" && value >= 0;
}

function childOf(value: JsonObject, key: string): JsonObject | undefined {
  const child = ownValue(value, key);
  return isJsonObject(child) ? child : undefined;
}

function ownValue(value: JsonObject | undefined, key: string): JsonValue | undefined {
  return value !== undefined && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** The build puts the file beside the bundle. */
function readShipped(): JsonObject {
  return toObject(readFileSync(new URL("./models.json", import.meta.url), "utf8"));
}

function readRefreshed(path: string, warn: (line: string) => void): JsonObject {
  try {
    return toObject(readFileSync(path, "utf8"));
  } catch (error) {
    const isMissing = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (!isMissing) {
      warn(`${path} is ignored, it cannot be read as a model catalog: run base-context models refresh`);
    }
    return {};
  }
}

function toObject(text: string): JsonObject {
  const value: unknown = JSON.parse(text);
  if (!isJsonObject(value)) throw new TypeError("not a JSON object");
  return value;
}
