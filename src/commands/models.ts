import { randomUUID } from "node:crypto";
import { closeSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { loadModelsFile } from "../config/models.ts";
import { homePaths } from "../config/paths.ts";
import { errorMessage, StartupError } from "../contract/errors.ts";
import type { Model } from "../contract/provider.ts";
import { within } from "../contract/timers.ts";
import type { ProviderFetch } from "../providers/adapter.ts";
import { addressSecrets, cleanUrl } from "../providers/http/address.ts";
import { proxySecrets } from "../providers/http/proxy.ts";
import { withStatusCheck } from "../providers/http/status-check.ts";
import { openCatalog } from "../providers/models/catalog.ts";
import { hasCredentials } from "../providers/models/credentials.ts";
import { isBuiltIn } from "../providers/models/endpoints.ts";
import { type KnownProvider, knownProviders } from "../providers/models/known-providers.ts";
import { fromModelsDev } from "../providers/models/models-dev.ts";
import { createErrorRedactor } from "../providers/redact.ts";
import { createPrivateFile, makePrivateFolder } from "../session/store/private-files.ts";

type Write = (text: string) => void;

export type ListModelsOptions = {
  /** The program's home folder. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly json: boolean;
  /** Only models whose `provider/id` or name holds all of these words. */
  readonly search?: string;
  /** Takes one line. */
  readonly warn?: (line: string) => void;
};

/** One row of the list. */
type ListedModel = Omit<Model, "api" | "headers" | "compat" | "baseUrl"> & {
  /** Whether the provider can be asked: its key is there, or it wants none. */
  readonly available: boolean;
};

/** Prints the models that can be asked, as a table or a JSON array; gives the exit status. */
export async function listModels(options: ListModelsOptions, write: Write): Promise<number> {
  const { home, env, warn = () => undefined } = options;
  const modelsFile = loadModelsFile({ home, isBuiltIn });
  const catalog = openCatalog(homePaths(home).catalog, warn);
  const rows: ListedModel[] = [];
  for (const provider of knownProviders({ env, modelsFile, catalog }).values()) {
    if (provider.problem !== undefined) warn(provider.problem);
    else rows.push(...(await listProvider(provider, options)));
  }
  write(options.json ? `${JSON.stringify(rows, null, 2)}\n` : table(rows));
  return 0;
}

export type RefreshModelsOptions = {
  /** The program's home folder. */
  readonly home: string;
  /** `BASE_CONTEXT_CATALOG_URL` says where the catalog is, when not at its public address. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly fetch: ProviderFetch;
  readonly signal: AbortSignal;
};

const publicUrl = "https://models.dev/api.json";
const timeoutMs = 60_000;

/** Fetches the public catalog and keeps it in the home folder; gives the exit status. Throws a StartupError. */
export async function refreshModels(options: RefreshModelsOptions, write: Write): Promise<number> {
  const { home, env } = options;
  const path = homePaths(home).catalog;
  const catalogUrl = env.BASE_CONTEXT_CATALOG_URL?.trim() || publicUrl;
  const content = await download(catalogUrl, options);
  const catalog = fromModelsDev(content);
  const count = Object.values(catalog).reduce((sum, models) => sum + Object.keys(models).length, 0);
  if (count === 0)
    throw new StartupError(
      `${cleanUrl(catalogUrl)} holds no models that are of use: the old catalog is kept`,
    );
  try {
    makePrivateFolder(home);
    replaceFile(path, `${JSON.stringify(catalog)}\n`);
  } catch (error) {
    throw new StartupError(`${path} cannot be written: ${errorMessage(error)}`);
  }
  write(`${count} models of ${Object.keys(catalog).length} providers are now in ${path}\n`);
  return 0;
}

async function listProvider(provider: KnownProvider, { env, search = "" }: ListModelsOptions) {
  const words = search.toLowerCase().split(/\s+/);
  const available = await hasCredentials(provider, { env });
  return provider
    .modelIds()
    .map((id) => toRow(provider.toModel(id), available))
    .filter((row) => {
      const text = `${row.provider}/${row.id} ${row.name}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
}

function toRow(
  { api: _api, headers: _headers, compat: _compat, baseUrl: _url, ...row }: Model,
  available: boolean,
) {
  return { ...row, available };
}

const columns: readonly (readonly [title: string, cell: (row: ListedModel) => string])[] = [
  ["MODEL", ({ provider, id }) => `${provider}/${id}`],
  ["CONTEXT", ({ contextWindow }) => tokens(contextWindow)],
  ["OUTPUT", ({ maxTokens }) => tokens(maxTokens)],
  ["$/M IN", ({ cost }) => price(cost?.input)],
  ["$/M OUT", ({ cost }) => price(cost?.output)],
  ["THINKS", ({ reasoning }) => (reasoning ? "yes" : "no")],
  ["IMAGES", ({ input }) => (input.includes("image") ? "yes" : "no")],
  ["KEY", ({ available }) => (available ? "yes" : "no")],
];

function table(rows: readonly ListedModel[]): string {
  if (rows.length === 0) return "no models found\n";
  const lines = [columns.map(([title]) => title), ...rows.map((row) => columns.map(([, cell]) => cell(row)))];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => line[index]?.length ?? 0)));
  const format = (line: readonly string[]) =>
    line
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join("  ")
      .trimEnd();
  return `${lines.map(format).join("\n")}\n`;
}

function tokens(count: number): string {
  if (count < 1000) return String(count);
  return count < 1_000_000 ? `${Math.round(count / 1000)}K` : `${Math.round(count / 100_000) / 10}M`;
}

function price(dollars: number | undefined): string {
  return dollars === undefined ? "?" : String(Number(dollars.toPrecision(6)));
}

async function download(
  catalogUrl: string,
  { env, fetch, signal }: Pick<RefreshModelsOptions, "env" | "fetch" | "signal">,
): Promise<unknown> {
  try {
    return await within(timeoutMs, signal, async (limit) => {
      const response = await withStatusCheck(fetch, "the model catalog")(catalogUrl, { signal: limit });
      return response.json();
    });
  } catch (error) {
    signal.throwIfAborted();
    const redact = createErrorRedactor([...addressSecrets(catalogUrl), ...proxySecrets(env)]);
    throw new Error(`${cleanUrl(catalogUrl)} cannot be fetched: ${redact(errorMessage(error))}`);
  }
}

/** Readers see the old content or the new, never a part. */
function replaceFile(path: string, text: string): void {
  const temporary = `${path}.${randomUUID()}`;
  const descriptor = createPrivateFile(temporary);
  try {
    writeFileSync(descriptor, text);
    closeSync(descriptor);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
