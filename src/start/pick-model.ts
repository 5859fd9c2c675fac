import { resolve } from "node:path";
import { loadModelsFile } from "../config/models.ts";
import { homePaths } from "../config/paths.ts";
import type { Settings } from "../contract/config.ts";
import type { Model, Provider, ThinkingLevel } from "../contract/provider.ts";
import type { Flags } from "../flags/options.ts";
import type { Host } from "../host.ts";
import type { ProviderFetch } from "../providers/adapter.ts";
import { createFetch } from "../providers/http/fetch.ts";
import { openCatalog } from "../providers/models/catalog.ts";
import { credentialEnvNames, isBuiltIn } from "../providers/models/endpoints.ts";
import { type ChosenModel, chooseModel, type ModelRequest } from "../providers/models/resolve.ts";
import { passOn } from "../providers/pass-on.ts";
import { isSecret } from "../providers/redact.ts";
import { createProvider, type ProviderDeps } from "../providers/registry.ts";
import { withFittingImages } from "./fit-images.ts";
import { runKeyCommand } from "./run-key-command.ts";

/** The model of a run and everything to ask it with. */
export type PickedModel = {
  readonly model: Model;
  readonly provider: Provider;
  readonly thinkingLevel: ThinkingLevel;
  /** What must not leave the process in any text. */
  readonly secrets: readonly string[];
  /** The environment variables that hold keys, so that tools do not get them. */
  readonly credentialEnv: readonly string[];
  /** Finds another model, asked over the same connection. Throws a StartupError when there is none of that name. */
  another(model: string): Promise<Pick<PickedModel, "model" | "provider" | "thinkingLevel" | "secrets">>;
  /** Ends the recording. Throws a PersistenceError when it could not be written. */
  close(): Promise<void>;
};

export type PickModelOptions = {
  readonly flags: Flags;
  readonly host: Host;
  /** The program's home folder. */
  readonly home: string;
  readonly settings: Settings;
  /** What the session that goes on was last held with. */
  readonly saved: ModelRequest["saved"];
  readonly warn: (line: string) => void;
};

/** Chooses the model and makes its provider, which loads its adapter only with its first request. */
export async function pickModel(options: PickModelOptions): Promise<PickedModel> {
  const { flags, host, settings } = options;
  const fetch = createFetch({ env: host.env });
  const replay =
    flags.replay === undefined
      ? undefined
      : await (await import("../providers/cassette/cassette.ts")).openCassette(
          resolve(host.cwd, flags.replay),
          host.signal,
        );
  // A recording knows the model that it was made with, and needs no key.
  const chosen =
    replay !== undefined && isRecorded(flags.model, replay.model)
      ? recorded(replay.model, flags)
      : await choose(options, replay?.fetch ?? fetch);
  const recorder =
    flags.record === undefined
      ? undefined
      : await (await import("../providers/cassette/cassette.ts")).createRecorder(replay?.fetch ?? fetch, {
          path: resolve(host.cwd, flags.record),
          model: chosen.model,
          secrets: chosen.secrets,
        });
  const fetchToUse = recorder?.fetch ?? replay?.fetch ?? fetch;
  return {
    ...withProvider(chosen, fetchToUse, settings),
    credentialEnv: chosen.credentialEnv,
    another: async (model) => {
      const { provider: _, ...rest } = flags;
      const asked = { ...options, flags: { ...rest, model }, saved: undefined };
      // The key on the command line is that of the provider that the run began with.
      // A replay asks no provider for its models, so that a recording must not hold the answer.
      const other = await choose(asked, replay?.fetch ?? fetch, chosen.model.provider);
      recorder?.strip(other.secrets);
      return withProvider(other, fetchToUse, settings);
    },
    close: async () => recorder?.close(),
  };
}

function withProvider(chosen: ChosenModel, fetch: ProviderFetch, { timeouts, images }: Settings) {
  const { model, credentials, thinkingLevel } = chosen;
  // A key like `x` would tear every text apart.
  const secrets = chosen.secrets.filter(isSecret);
  return {
    model,
    thinkingLevel,
    secrets,
    provider: withFittingImages(lazyProvider(model, { credentials, fetch, timeouts, secrets }), images),
  };
}

/** Whether a name is that of the recorded model; no name stands for it, too. */
function isRecorded(name: string | undefined, { provider, id }: Model): boolean {
  return name === undefined || name === `${provider}/${id}`;
}

function recorded(model: Model, { thinking = "off" }: Flags): ChosenModel {
  return { model, credentials: {}, thinkingLevel: thinking, secrets: [], credentialEnv: credentialEnvNames };
}

async function choose(
  { flags, host, home, settings, saved, warn }: PickModelOptions,
  fetch: ProviderFetch,
  apiKeyFor?: string,
) {
  const request: ModelRequest = {
    ...(flags.provider === undefined ? {} : { provider: flags.provider }),
    ...(flags.model === undefined ? {} : { model: flags.model }),
    ...(flags.apiKey === undefined ? {} : { apiKey: flags.apiKey }),
    ...(apiKeyFor === undefined ? {} : { apiKeyFor }),
    ...(flags.thinking === undefined ? {} : { thinking: flags.thinking }),
    ...(saved === undefined ? {} : { saved }),
    offline: flags.offline || flags.replay !== undefined,
    replay: flags.replay !== undefined,
  };
  return chooseModel(request, {
    env: host.env,
    settings,
    modelsFile: await loadModelsFile({ home, isBuiltIn }),
    catalog: openCatalog(homePaths(home).catalog, warn),
    fetch,
    signal: host.signal,
    runCommand: runKeyCommand(host),
    warn,
  });
}

function lazyProvider(model: Model, deps: ProviderDeps): Provider {
  let loading: Promise<Provider> | undefined;
  return {
    stream: (request, signal) =>
      passOn(async () => {
        loading ??= createProvider(model, deps);
        return (await loading).stream(request, signal);
      }),
  };
}
