import { resolve } from "node:path";
import { homeFolder, homePaths } from "../config/paths.ts";
import type { SessionCommandInvocation } from "../flags/session-commands.ts";
import type { Host } from "../host.ts";
import type { Console } from "../main.ts";
import { sessionFolder } from "./session-folder.ts";

/** Runs a command about one saved session; gives its exit status. Throws a StartupError for what is refused. */
export async function runSessionCommand(
  invocation: SessionCommandInvocation,
  host: Host,
  { stdout, stderr }: Console,
): Promise<number> {
  const warn = stderr.diagnostic;
  const { id } = invocation;
  const folder = sessionFolder(host, invocation.sessionDir);
  switch (invocation.name) {
    case "show": {
      const { showSession } = await import("../commands/show.ts");
      return showSession({ folder, id, json: invocation.json, signal: host.signal, warn }, stdout);
    }
    case "export": {
      const { exportSession } = await import("../commands/export.ts");
      const { format, output } = invocation;
      const file = output === undefined ? {} : { file: resolve(host.cwd, output) };
      return exportSession({ folder, id, format, ...file, signal: host.signal, warn }, stdout);
    }
    case "rm":
      return (await import("../commands/rm.ts")).removeSession({
        folder,
        runs: homePaths(homeFolder(host.env)).runs,
        id,
        pid: host.pid,
      });
  }
}
