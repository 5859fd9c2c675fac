import type { ModelsFile, Settings } from "../../contract/config.ts";
import { errorMessage, StartupError } from "../../contract/errors.ts";
import type { Model, ThinkingLevel } from "../../contract/provider.ts";
import { thinkingLevels } from "../../contract/provider.ts";
import { nearest } from "../../contract/spelling.ts";
import type { Credentials, ProviderFetch } from "../adapter.ts";
import { proxySecrets } from "../http/proxy.ts";
import type { Catalog } from "./catalog.ts";
import {
  type CredentialSources,
  findCredentials,
  hasCredentials,
  missingKey,
  namedVariable,
  secretsOf,
} from "./credentials.ts";
import { credentialEnvNames } from "./endpoints.ts";
import { type FoundModel, findModel, fullName, type ModelSearch } from "./find-model.ts";
import { type KnownProvider, knownProviders } from "./known-providers.ts";
import { listModels } from "./list-models.ts";

/** Which model a run wants. */
export type ModelRequest = {
  readonly provider?: string;
  /** `id` or `provider/id`, either with `:level`. */
  readonly model?: string;
  readonly apiKey?: string;
  /** The provider whose key that is; no other gets to see it. Without a name it is the key of whichever is chosen. */
  readonly apiKeyFor?: string;
  readonly thinking?: ThinkingLevel;
  readonly saved?: SavedChoice;
  /** No provider is asked for its models. */
  readonly offline: boolean;
  /** The replies come from a recording: no key is needed, no command run for one, any model taken. */
  readonly replay?: boolean;
};

/** What a session that goes on used last. */
export type SavedChoice = {
  readonly model?: { readonly provider: string; readonly modelId: string };
  readonly thinkingLevel?: string;
};

export type ModelSources = {
  readonly env: CredentialSources["env"];
  readonly settings: Settings;
  readonly modelsFile: ModelsFile;
  readonly catalog: Catalog;
  readonly fetch: ProviderFetch;
  /** Ends what is waited for. */
  readonly signal?: AbortSignal;
  readonly runCommand: CredentialSources["runCommand"];
  /** Takes one line. */
  readonly warn: (line: string) => void;
};

export type ChosenModel = {
  readonly model: Model;
  readonly credentials: Credentials;
  readonly thinkingLevel: ThinkingLevel;
  /** What must not leave the process in any text. */
  readonly secrets: readonly string[];
  /** The environment variables that hold keys, so that tools do not get them. */
  readonly credentialEnv: readonly string[];
};

/**
 * Chooses the model of a run: the one that was asked for, else the session's, else the settings', else that of the
 * first provider that can be used. Throws a StartupError when that leads to none, and never takes another instead.
 */
export async function chooseModel(request: ModelRequest, sources: ModelSources): Promise<ChosenModel> {
  const providers = knownProviders(sources);
  const search = createSearch(request, sources, [...providers.values()]);
  const found = await findRequested(request, sources, providers, search);
  const credentials = await credentialsFor(found.provider, request, sources);
  const { wanted, isExplicit } = wantedLevel(request, found);
  const model = found.provider.toModel(found.id, {
    ...found.unlisted,
    // Of a model that nothing is known of, whoever asks it to think knows more.
    ...(found.unlisted && { reasoning: wanted !== undefined && wanted !== "off" }),
  });
  const level = wanted ?? sources.settings.defaultThinkingLevel ?? "medium";
  if (!model.reasoning && isExplicit && level !== "off") {
    sources.warn(`${fullName(found)} does not reason: thinking level ${level} is ignored`);
  }
  for (const { problem } of sources.modelsFile.broken.values()) sources.warn(problem);
  return {
    model,
    credentials,
    thinkingLevel: model.reasoning ? level : "off",
    secrets: [...secretsOf(found.provider, credentials), ...proxySecrets(sources.env)],
    credentialEnv: credentialVariables(sources.modelsFile),
  };
}

/** The environment variables that hold keys: those of the built-in providers and those that `models.json` names. */
export function credentialVariables({ providers }: ModelsFile): string[] {
  const named = [...providers.values()].flatMap(({ apiKey }) =>
    apiKey ? (namedVariable(apiKey) ?? []) : [],
  );
  return [...credentialEnvNames, ...named];
}

function createSearch(
  request: ModelRequest,
  sources: ModelSources,
  providers: readonly KnownProvider[],
): ModelSearch {
  const usable = new Map<KnownProvider, Promise<boolean>>();
  const isUsable: ModelSearch["isUsable"] = (provider, { isNamed }) => {
    if (request.replay === true) return Promise.resolve(provider.problem === undefined);
    const { apiKey, ...rest } = toCredentialSources(provider, request, sources);
    // A key is not taken for the subscription's token unless that is what was asked for.
    const isForIt = isNamed || provider.name !== "openai-codex";
    if (apiKey !== undefined && isForIt) return Promise.resolve(provider.problem === undefined);
    const known = usable.get(provider) ?? hasCredentials(provider, rest);
    usable.set(provider, known);
    return known;
  };
  return {
    providers,
    isUsable,
    whyUnusable: (provider) =>
      credentialsFor(provider, request, sources).then(
        () => missingKey(provider),
        (error: unknown) => errorMessage(error),
      ),
    takesAnyModel: (provider) =>
      request.replay === true || (provider.takesAnyModel && provider.modelIds().length === 0),
    ask: async (provider) => {
      if (request.offline || provider.api === "openai-codex-responses") return undefined;
      const credentials = await credentialsFor(provider, request, sources);
      const secrets = [...secretsOf(provider, credentials), ...proxySecrets(sources.env)];
      return listModels(provider, credentials, { fetch: sources.fetch, signal: sources.signal, secrets });
    },
  };
}

async function findRequested(
  request: ModelRequest,
  { settings }: ModelSources,
  providers: ReadonlyMap<string, KnownProvider>,
  search: ModelSearch,
): Promise<FoundModel> {
  const { provider: providerName, model } = request;
  const saved = request.saved?.model;
  const provider = providerName === undefined ? undefined : requireProvider(providerName, providers);
  if (model !== undefined) return provider ? findAt(provider, model, search) : findModel(model, search);
  if (saved && (provider === undefined || provider.name === saved.provider))
    return findSaved(saved, providers);
  if (provider) {
    const isDefault = settings.defaultProvider === provider.name && settings.defaultModel !== undefined;
    return isDefault ? findAt(provider, settings.defaultModel, search) : defaultOf(provider, search);
  }
  return findDefault(settings, providers, search);
}

function requireProvider(name: string, providers: ReadonlyMap<string, KnownProvider>): KnownProvider {
  const provider = providers.get(name);
  if (provider?.problem !== undefined) throw new StartupError(provider.problem);
  if (provider) return provider;
  const near = nearest(name, providers.keys(), 1).join();
  throw new StartupError(`unknown provider ${name}: did you mean ${near}? (base-context models lists all)`);
}

/** A model at a provider, with or without the provider's name in front. */
function findAt(provider: KnownProvider, model: string, search: ModelSearch): Promise<FoundModel> {
  const spec = model.startsWith(`${provider.name}/`) ? model : `${provider.name}/${model}`;
  return findModel(spec, { ...search, providers: [provider] });
}

function findSaved(
  saved: NonNullable<SavedChoice["model"]>,
  providers: ReadonlyMap<string, KnownProvider>,
): FoundModel {
  const provider = providers.get(saved.provider);
  if (provider?.problem !== undefined) throw new StartupError(provider.problem);
  if (!provider) {
    throw new StartupError(
      `the session's provider ${saved.provider} is not known any more: choose another with --model`,
    );
  }
  const isListed = provider.modelIds().includes(saved.modelId);
  return { provider, id: saved.modelId, ...(isListed ? {} : { unlisted: { id: saved.modelId } }) };
}

async function findDefault(
  { defaultProvider, defaultModel }: Settings,
  providers: ReadonlyMap<string, KnownProvider>,
  search: ModelSearch,
): Promise<FoundModel> {
  if (defaultProvider !== undefined || defaultModel !== undefined) {
    return inSettings(async () => {
      if (defaultProvider === undefined) return findModel(defaultModel ?? "", search);
      const provider = requireProvider(defaultProvider, providers);
      return defaultModel === undefined
        ? defaultOf(provider, search)
        : findAt(provider, defaultModel, search);
    });
  }
  for (const provider of providers.values()) {
    // A server on this machine that lists nothing may as well not run.
    if (provider.defaultModel !== undefined && (await search.isUsable(provider, { isNamed: false })))
      return defaultOf(provider, search);
  }
  const broken = [...providers.values()].find(({ problem }) => problem !== undefined)?.problem;
  throw new StartupError(
    `${broken === undefined ? "" : `${broken}; `}no model to ask: set ANTHROPIC_API_KEY, OPENAI_API_KEY or another provider's key, or name a model with --model (see base-context models)`,
  );
}

/** Says where a model came from that nobody typed. */
async function inSettings(find: () => Promise<FoundModel>): Promise<FoundModel> {
  try {
    return await find();
  } catch (error) {
    if (!(error instanceof StartupError)) throw error;
    throw new StartupError(`the default model of settings.json: ${error.message}`);
  }
}

async function defaultOf(provider: KnownProvider, search: ModelSearch): Promise<FoundModel> {
  if (provider.defaultModel !== undefined) return findAt(provider, provider.defaultModel, search);
  throw new StartupError(
    `${provider.name} has no default model: name one with --model ${provider.name}/MODEL`,
  );
}

function credentialsFor(
  provider: KnownProvider,
  request: ModelRequest,
  sources: ModelSources,
): Promise<Credentials> {
  if (request.replay === true) return Promise.resolve({});
  return findCredentials(provider, toCredentialSources(provider, request, sources));
}

function toCredentialSources(
  { name }: KnownProvider,
  { apiKey, apiKeyFor = name }: ModelRequest,
  { env, runCommand }: ModelSources,
): CredentialSources {
  return { env, runCommand, ...(apiKey === undefined || apiKeyFor !== name ? {} : { apiKey }) };
}

/** The level that the command line or the session asks for; the command line's is explicit. */
function wantedLevel({ thinking, saved, model }: ModelRequest, found: FoundModel) {
  const explicit = thinking ?? (model === undefined ? undefined : found.level);
  const savedLevel = thinkingLevels.find((level) => level === saved?.thinkingLevel);
  const wanted = explicit ?? savedLevel ?? found.level;
  return { wanted, isExplicit: explicit !== undefined };
}
