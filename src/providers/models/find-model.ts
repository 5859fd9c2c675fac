import { StartupError } from "../../contract/errors.ts";
import { type ThinkingLevel, thinkingLevels } from "../../contract/provider.ts";
import { nearest } from "../../contract/spelling.ts";
import type { KnownProvider } from "./known-providers.ts";
import type { ListedModel } from "./list-models.ts";

/** A model by its names. */
export type FoundModel = {
  readonly provider: KnownProvider;
  readonly id: string;
  /** What stood behind the last colon. */
  readonly level?: ThinkingLevel;
  /** What the provider's own list says of a model that we do not list; empty where there is no such list. */
  readonly unlisted?: ListedModel;
};

export type ModelSearch = {
  /** Where to look. */
  readonly providers: readonly KnownProvider[];
  /** Whether there are credentials for a provider, or it wants none. */
  readonly isUsable: (provider: KnownProvider, how: { readonly isNamed: boolean }) => Promise<boolean>;
  /** What is wrong with the credentials of a provider that is not usable, and what to do about it. */
  readonly whyUnusable: (provider: KnownProvider) => Promise<string>;
  /**
   * Asks the provider itself for its models; undefined where that must not be done. Throws a StartupError when there
   * are no credentials, another error when there is no answer.
   */
  readonly ask: (provider: KnownProvider) => Promise<readonly ListedModel[] | undefined>;
  /** Whether a provider's word is taken for a model that we do not list. */
  readonly takesAnyModel: (provider: KnownProvider) => boolean;
};

/**
 * Finds the model that a person named: `id` or `provider/id`, either with `:level`. Ids have slashes and colons of
 * their own, so that an exact id comes first, then what the named provider says, then the one usable model that the
 * name is part of. Throws a StartupError for a model that is unknown, ambiguous or without credentials.
 */
export async function findModel(spec: string, search: ModelSearch): Promise<FoundModel> {
  const readings = readingsOf(spec);
  for (const reading of readings) {
    const own = await ownMatch(reading, search);
    if (own) return { ...own, ...levelOf(reading) };
    const exact = exactMatches(reading, search.providers);
    if (exact.length > 0) return { ...(await choose(spec, exact, search)), ...levelOf(reading) };
  }
  const [named] = search.providers.filter(
    ({ name }) => spec.startsWith(`${name}/`) && spec.length > name.length + 1,
  );
  const scope = named ? [named] : search.providers;
  let why = "";
  if (named) {
    refuseBroken(named);
    const asked = await findUnlisted(named, readings, search);
    if (typeof asked !== "string") return asked;
    why = asked;
  }
  for (const reading of readings) {
    const partial = await partialMatch(reading.text, scope, search);
    if (partial) return { ...partial, ...levelOf(reading) };
  }
  throw await unknownModel(spec, why, scope, search);
}

/** The name of a model as a person writes it. */
export function fullName({ provider, id }: Pick<FoundModel, "provider" | "id">): string {
  return `${provider.name}/${id}`;
}

/** One way to read what was typed. */
type Reading = { readonly text: string; readonly level?: ThinkingLevel };
type Match = Pick<FoundModel, "provider" | "id"> & { readonly isNamed: boolean };

function readingsOf(spec: string): Reading[] {
  const colon = spec.lastIndexOf(":");
  const suffix = spec.slice(colon + 1).toLowerCase();
  const level = thinkingLevels.find((candidate) => candidate === suffix);
  if (colon < 1 || level === undefined) return [{ text: spec }];
  return [{ text: spec }, { text: spec.slice(0, colon), level }];
}

function levelOf({ level }: Reading): { level?: ThinkingLevel } {
  return level === undefined ? {} : { level };
}

/** A usable model of the named provider comes before all others; what models.json lists is found without the catalog. */
async function ownMatch({ text }: Reading, { providers, isUsable }: ModelSearch): Promise<Match | undefined> {
  const provider = providers.find(({ name }) => text.startsWith(`${name}/`));
  const id = text.slice((provider?.name.length ?? 0) + 1);
  if (provider === undefined || provider.problem !== undefined || !provider.ownModelIds.includes(id))
    return undefined;
  return (await isUsable(provider, { isNamed: true })) ? { provider, id, isNamed: true } : undefined;
}

function exactMatches({ text }: Reading, providers: readonly KnownProvider[]): Match[] {
  return providers.flatMap((provider) => {
    const ids = provider.modelIds();
    const rest = text.startsWith(`${provider.name}/`) ? text.slice(provider.name.length + 1) : undefined;
    return [
      ...(ids.includes(text) ? [{ provider, id: text, isNamed: false }] : []),
      ...(rest !== undefined && ids.includes(rest) ? [{ provider, id: rest, isNamed: true }] : []),
    ];
  });
}

/** Of several providers that have the model, the usable one; of several usable ones, the one that was named. */
async function choose(spec: string, matches: readonly Match[], search: ModelSearch): Promise<Match> {
  for (const { provider, isNamed } of matches) if (isNamed) refuseBroken(provider);
  const usable = await keepUsable(matches, search);
  const named = usable.find(({ isNamed }) => isNamed);
  const [only, ...others] = named ? [named] : usable;
  if (only && others.length === 0) return only;
  if (only) throw ambiguous(spec, usable);
  for (const { provider } of matches) refuseBroken(provider);
  const meant = matches.filter(({ isNamed }) => isNamed);
  const reasons = await Promise.all(
    (meant.length > 0 ? meant : matches).map(({ provider }) => search.whyUnusable(provider)),
  );
  throw new StartupError([...new Set(reasons)].join("; "));
}

async function keepUsable(matches: readonly Match[], { isUsable }: ModelSearch): Promise<Match[]> {
  const usable = await Promise.all(matches.map(({ provider, isNamed }) => isUsable(provider, { isNamed })));
  return matches.filter((_, index) => usable[index]);
}

function refuseBroken({ problem }: KnownProvider): void {
  if (problem !== undefined) throw new StartupError(problem);
}

function ambiguous(spec: string, matches: readonly Match[]): StartupError {
  const names = matches.map(fullName);
  const shown = names.slice(0, maxCandidates).join(", ");
  const more = names.length > maxCandidates ? ` and ${names.length - maxCandidates} more` : "";
  return new StartupError(`model ${spec} may mean ${shown}${more}: name one of them in full`);
}

/** A model of the named provider that we do not list, or why there is none. */
async function findUnlisted(
  provider: KnownProvider,
  readings: readonly Reading[],
  search: ModelSearch,
): Promise<FoundModel | string> {
  const rests = readings.map((reading) => ({
    ...reading,
    text: reading.text.slice(provider.name.length + 1),
  }));
  if (search.takesAnyModel(provider)) {
    const last = rests.at(-1);
    if (last) return { provider, id: last.text, ...levelOf(last), unlisted: { id: last.text } };
  }
  try {
    const listed = await search.ask(provider);
    if (listed === undefined) return "";
    for (const rest of rests) {
      const model = listed.find(({ id }) => id === rest.text);
      if (model) return { provider, id: model.id, ...levelOf(rest), unlisted: model };
    }
    return `${provider.name} does not list it either`;
  } catch (error) {
    if (error instanceof StartupError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    return `${provider.name} could not be asked for its models: ${reason.replace(/\s+/g, " ")}`;
  }
}

/** From strict to loose: the first that fits anything decides. */
const likenesses: readonly ((id: string, text: string) => boolean)[] = [
  (id, text) => id === text,
  (id, text) => id.endsWith(`/${text}`),
  (id, text) => id.includes(text),
];

async function partialMatch(
  text: string,
  providers: readonly KnownProvider[],
  search: ModelSearch,
): Promise<Match | undefined> {
  const wanted = text.toLowerCase();
  for (const isLike of likenesses) {
    const matches = providers.flatMap((provider) => {
      const isNamed = wanted.startsWith(`${provider.name.toLowerCase()}/`);
      const part = isNamed ? wanted.slice(provider.name.length + 1) : wanted;
      // Nothing is part of everything.
      const ids = provider.problem === undefined && part !== "" ? provider.modelIds() : [];
      return ids.filter((id) => isLike(id.toLowerCase(), part)).map((id) => ({ provider, id, isNamed }));
    });
    const usable = await keepUsable(matches, search);
    const [only, ...others] = usable;
    if (only && others.length === 0) return only;
    if (only) throw ambiguous(text, usable);
  }
  return undefined;
}

const maxCandidates = 5;

async function unknownModel(
  spec: string,
  why: string,
  providers: readonly KnownProvider[],
  search: ModelSearch,
): Promise<StartupError> {
  const all = providers.flatMap((provider) =>
    provider.modelIds().map((id) => ({ provider, id, isNamed: false })),
  );
  const usable = await keepUsable(all, search);
  const candidates = (usable.length > 0 ? usable : all).map(fullName);
  const near = nearest(spec, candidates, 3);
  const hint = near.length > 0 ? `the nearest are ${near.join(", ")}` : "see base-context models";
  return new StartupError(`unknown model ${spec}: ${why === "" ? "" : `${why}; `}${hint}`);
}
