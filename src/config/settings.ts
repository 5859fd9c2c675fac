import { existsSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Settings } from "../contract/config.ts";
import { StartupError } from "../contract/errors.ts";
import type { JsonValue } from "../contract/json.ts";
import { check } from "./check.ts";
import { formatPath, type JsonFile, readJsonFile } from "./json-file.ts";
import { type Env, expandTilde, homePaths, projectFolder } from "./paths.ts";
import { type SettingsContent, settingsSchema } from "./settings-schema.ts";
import { trustedPart } from "./trust.ts";

export type SettingsSources = {
  /** The program's home folder. */
  readonly home: string;
  /** The project's folder. */
  readonly cwd: string;
  readonly env: Env;
  /** Takes one line about what was ignored. */
  readonly warn: (line: string) => void;
};

/** The settings where nothing is set. */
export const defaultSettings: Settings = {
  retry: { enabled: true, maxRetries: 3, baseDelayMs: 2000, maxDelayMs: 60_000 },
  timeouts: { firstEventMs: 300_000, idleMs: 120_000 },
  compaction: { enabled: true, reserveTokens: 16_384, keepRecentTokens: 20_000 },
  steeringMode: "one-at-a-time",
  followUpMode: "one-at-a-time",
  shell: {},
  autonomous: { enabled: false, gate: [] },
  runs: { maxEventsBytes: 256 * 1024 * 1024 },
  images: { autoResize: true, block: false },
};

/**
 * The settings of the user, overlaid by what the project may set. Throws a StartupError that names file, line and key
 * for a file that cannot be read, an unknown key or a value that is not allowed.
 */
export function loadSettings(sources: SettingsSources): Settings {
  const { home, cwd } = sources;
  const settings = loadUserSettings(sources);
  const project = isHome(home, cwd) ? undefined : readJsonFile(join(cwd, projectFolder, "settings.json"));
  warnOfProjectModels(sources);
  if (!project) return settings;
  const { content, ignored } = trustedPart(project.content, (key) =>
    Object.hasOwn(settingsSchema.fields ?? {}, key),
  );
  for (const path of ignored) {
    sources.warn(`${project.path}: ${formatPath(path)} is ignored: only your own settings may set it`);
  }
  return overlay(settings, toValidLayer(project, content, sources));
}

/** The settings of the user alone, for what no project has a say in. Throws a StartupError as `loadSettings` does. */
export function loadUserSettings(sources: Pick<SettingsSources, "home" | "env">): Settings {
  const file = readJsonFile(homePaths(sources.home).settings);
  return file ? overlay(defaultSettings, toValidLayer(file, file.content, sources)) : defaultSettings;
}

function toValidLayer(
  file: JsonFile,
  content: JsonValue,
  { home, env }: Pick<SettingsSources, "home" | "env">,
): Partial<Layer> {
  const checked = check(settingsSchema, content);
  if (checked.ok) return toLayer(checked.value, home, env);
  throw new StartupError(file.problem(checked.problem.path, checked.problem.what));
}

/** One file's settings: of every group, what it sets. */
type Layer = { readonly [Key in keyof Settings]: Settings[Key] | Partial<Settings[Key]> };

function toLayer(content: SettingsContent, home: string, env: Env): Partial<Layer> {
  const { sessionDir, shell, autonomous, ...rest } = content;
  return {
    ...rest,
    ...(shell === undefined ? {} : { shell: withShellPath(shell, env) }),
    ...(sessionDir === undefined ? {} : { sessionDir: resolve(home, expandTilde(sessionDir, env)) }),
    ...(autonomous === undefined ? {} : { autonomous: withGateList(autonomous) }),
  };
}

function withShellPath(
  { path, ...rest }: NonNullable<SettingsContent["shell"]>,
  env: Env,
): NonNullable<SettingsContent["shell"]> {
  return path === undefined ? rest : { ...rest, path: expandTilde(path, env) };
}

function withGateList({ gate, ...rest }: NonNullable<SettingsContent["autonomous"]>) {
  return gate === undefined ? rest : { ...rest, gate: typeof gate === "string" ? [gate] : gate };
}

function overlay(base: Settings, layer: Partial<Layer>): Settings {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(layer)) {
    const below = merged[key];
    merged[key] = typeof value === "object" && typeof below === "object" ? { ...below, ...value } : value;
  }
  // Each value has its key's type, which the compiler cannot follow through the loop.
  return merged as Settings;
}

/** In the folder that holds the home folder, the project's file would be the user's own. */
function isHome(home: string, cwd: string): boolean {
  return realPath(join(cwd, projectFolder)) === realPath(home);
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function warnOfProjectModels({ home, cwd, warn }: SettingsSources): void {
  const path = join(cwd, projectFolder, "models.json");
  if (isHome(home, cwd) || !existsSync(path)) return;
  warn(`${path} is ignored: only your own models.json may add providers`);
}
