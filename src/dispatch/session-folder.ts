import { resolve } from "node:path";
import { homeFolder, homePaths } from "../config/paths.ts";
import { loadUserSettings } from "../config/settings.ts";
import type { Host } from "../host.ts";

/**
 * The absolute folder that a command looks for sessions in: the one that `--session-dir` names, else the user's settings',
 * else the home folder's. Throws a StartupError for settings that cannot be read.
 */
export function sessionFolder(host: Host, chosen: string | undefined): string {
  if (chosen !== undefined) return resolve(host.cwd, chosen);
  const home = homeFolder(host.env);
  const { sessionDir } = loadUserSettings({ home, env: host.env });
  return resolve(host.cwd, sessionDir ?? homePaths(home).sessions);
}
