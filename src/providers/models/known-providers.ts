import type { CustomModel, CustomProvider, ModelsFile } from "../../contract/config.ts";
import type { Api } from "../../contract/messages.ts";
import type { Model } from "../../contract/provider.ts";
import type { Catalog, ModelFacts } from "./catalog.ts";
import { resolveCompat } from "./compat.ts";
import { type Endpoint, endpoints } from "./endpoints.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** A provider that can be asked: built in, from `models.json`, or built in and changed by it. */
export type KnownProvider = {
  readonly name: string;
  readonly api: Api;
  readonly baseUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  /** As `models.json` has it. */
  readonly apiKey?: string;
  /** The environment variables that may hold the key. */
  readonly keyEnv: readonly string[];
  /** Whether it refuses who has no key. */
  readonly needsKey: boolean;
  /** Whether any model may be asked of it when it lists none. */
  readonly takesAnyModel: boolean;
  readonly defaultModel?: string;
  /** Why it must not be used. */
  readonly problem?: string;
  /** The ids in `models.json`; of a broken provider those that can be told. */
  readonly ownModelIds: readonly string[];
  /** All ids, `models.json` first. */
  modelIds(): readonly string[];
  /** `known` are facts from elsewhere, for a model that is not listed. */
  toModel(id: string, known?: Partial<ModelFacts>): Model;
};

export type KnownProviderSources = {
  readonly env: Env;
  readonly modelsFile: ModelsFile;
  readonly catalog: Catalog;
};

/** All providers by name: those of `models.json` first, then the built-in ones. */
export function knownProviders(sources: KnownProviderSources): ReadonlyMap<string, KnownProvider> {
  const { providers, broken } = sources.modelsFile;
  const names = new Set([...providers.keys(), ...broken.keys(), ...endpoints.keys()]);
  return new Map(Array.from(names, (name) => [name, toKnownProvider(name, sources)]));
}

const defaultContextWindow = 128_000;
const defaultMaxTokens = 16_384;

function toKnownProvider(name: string, { env, modelsFile, catalog }: KnownProviderSources): KnownProvider {
  const custom: CustomProvider = modelsFile.providers.get(name) ?? {};
  const broken = modelsFile.broken.get(name);
  const endpoint = endpoints.get(name);
  const models = new Map((custom.models ?? []).map((model) => [model.id, model]));
  const ownModelIds = broken?.modelIds ?? [...models.keys()];
  const problem =
    broken?.problem ?? (custom.baseUrl === undefined ? baseUrlProblem(endpoint, env) : undefined);
  const defaultModel = ownModelIds[0] ?? endpoint?.defaultModel;
  const connection = {
    name,
    api: custom.api ?? endpoint?.api ?? "openai-completions",
    baseUrl: baseUrlOf(custom, endpoint, env),
    headers: custom.headers ?? {},
  };
  return {
    ...connection,
    ...(custom.apiKey === undefined ? {} : { apiKey: custom.apiKey }),
    keyEnv: endpoint?.keyEnv ?? [],
    needsKey: endpoint !== undefined && !endpoint.isLocal && !provesByHeader(connection.headers),
    takesAnyModel: endpoint === undefined || endpoint.isLocal === true,
    ...(defaultModel === undefined ? {} : { defaultModel }),
    ...(problem !== undefined && { problem }),
    ownModelIds,
    modelIds: () => [...new Set([...ownModelIds, ...(endpoint ? catalog.ids(name) : [])])],
    toModel: (id, known) => {
      const own = models.get(id);
      const facts = { ...known, ...(endpoint && catalog.facts(name, id)) };
      const compat = resolveCompat({
        ...connection,
        provider: name,
        modelId: id,
        overrides: [
          statesLimit(custom, own) ? { sendsMaxTokens: true } : undefined,
          custom.compat,
          own?.compat,
        ],
      });
      return { id, provider: name, ...withoutName(connection), ...mergeFacts(id, facts, own), compat };
    },
  };
}

function withoutName({
  name: _,
  ...rest
}: {
  name: string;
  api: Api;
  baseUrl: string;
  headers: KnownProvider["headers"];
}) {
  return rest;
}

/** `models.json` comes before the environment: an address there and the key beside it belong together. */
function baseUrlOf(custom: CustomProvider, endpoint: Endpoint | undefined, env: Env): string {
  const fromEnv = endpoint?.baseUrlEnv === undefined ? undefined : env[endpoint.baseUrlEnv]?.trim();
  const baseUrl = custom.baseUrl?.trim() ?? (fromEnv || endpoint?.baseUrl) ?? "";
  // Slashes in a query are its own.
  return baseUrl.replace(/^([^?]*?)\/+(?=\?|$)/, "$1");
}

/** What the environment states is checked here; `models.json` is checked where it is read. */
function baseUrlProblem(endpoint: Endpoint | undefined, env: Env): string | undefined {
  const name = endpoint?.baseUrlEnv;
  const value = name === undefined ? undefined : env[name]?.trim();
  if (!value || (URL.canParse(value) && /^https?:$/.test(new URL(value).protocol))) return undefined;
  return `${name} has to be an http:// or https:// address`;
}

/** Whether the user said how much a model may write, or how to say so. */
function statesLimit({ compat }: CustomProvider, own: CustomModel | undefined): boolean {
  const fields = [own?.compat?.maxTokensField, compat?.maxTokensField];
  return own?.maxTokens !== undefined || fields.some((field) => field !== undefined);
}

function mergeFacts(id: string, known: Partial<ModelFacts>, own: CustomModel | undefined) {
  const contextWindow = own?.contextWindow ?? known.contextWindow ?? defaultContextWindow;
  const maxTokens = own?.maxTokens ?? known.maxTokens ?? Math.min(defaultMaxTokens, contextWindow);
  const cost = own?.cost
    ? { cacheRead: own.cost.input, cacheWrite: own.cost.input, ...own.cost }
    : known.cost;
  return {
    name: own?.name ?? known.name ?? id,
    reasoning: own?.reasoning ?? known.reasoning ?? false,
    input: own?.input ?? known.input ?? (["text"] as const),
    contextWindow,
    maxTokens,
    ...(cost && { cost }),
  };
}

/** Whether a header of `models.json` carries the proof, so that no key is needed. */
function provesByHeader(headers: Readonly<Record<string, string>>): boolean {
  return Object.keys(headers).some((name) => secretHeader.test(name));
}

/** Headers whose values are secrets. */
export const secretHeader = /auth|key|token|secret|cookie|password/i;
