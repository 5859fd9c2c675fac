import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** The environment as far as a part of the program needs it. */
export type Env = Readonly<Record<string, string | undefined>>;

/** Where the program keeps its things; absolute. */
export type HomePaths = {
  readonly settings: string;
  readonly models: string;
  /** The model catalog that `models refresh` fetched. */
  readonly catalog: string;
  readonly sessions: string;
  readonly runs: string;
};

/** In the working directory: what the project configures. In the user's home: what the user does. */
export const projectFolder = ".base-context";

/** `$BASE_CONTEXT_HOME`, else `~/.base-context`; absolute. */
export function homeFolder(env: Env): string {
  const chosen = env.BASE_CONTEXT_HOME?.trim();
  return chosen ? resolve(expandTilde(chosen, env)) : join(userHome(env), projectFolder);
}

/** The places in a home folder. Nothing is created. */
export function homePaths(home: string): HomePaths {
  return {
    settings: join(home, "settings.json"),
    models: join(home, "models.json"),
    catalog: join(home, "catalog.json"),
    sessions: join(home, "sessions"),
    runs: join(home, "runs"),
  };
}

/** Puts the user's home folder in the place of a leading `~`. */
export function expandTilde(path: string, env: Env): string {
  if (path === "~") return userHome(env);
  return path.startsWith("~/") ? join(userHome(env), path.slice(2)) : path;
}

function userHome(env: Env): string {
  return resolve(env.HOME || homedir());
}
