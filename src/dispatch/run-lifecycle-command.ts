import { homeFolder, homePaths } from "../config/paths.ts";
import type { LifecycleInvocation } from "../flags/lifecycle-commands.ts";
import type { Host } from "../host.ts";
import type { Console } from "../main.ts";
import { sessionFolder } from "./session-folder.ts";

/** Runs a command about runs; gives its exit status. Throws a StartupError for what is refused. */
export async function runLifecycleCommand(
  invocation: LifecycleInvocation,
  host: Host,
  console: Console,
): Promise<number> {
  const write = (text: string) => console.stdout.write(text);
  const warn = console.stderr.diagnostic;
  const { signal } = host;
  const { runs } = homePaths(homeFolder(host.env));
  const sessions = (chosen?: string) => sessionFolder(host, chosen);
  const places = { runs, sessions: () => sessions(), signal };
  switch (invocation.name) {
    case "list": {
      const { all, json, sessionDir } = invocation;
      const { listCommand } = await import("../commands/list.ts");
      return listCommand(
        { runs, sessions: all ? () => sessions(sessionDir) : undefined, json, signal },
        write,
      );
    }
    case "status": {
      const { id, json, sessionDir } = invocation;
      const { statusCommand } = await import("../commands/status.ts");
      return statusCommand({ runs, sessions: () => sessions(sessionDir), id, json, signal }, write);
    }
    case "attach": {
      const { id, fromNow, deltas, mode = host.stdout.isTerminal ? "text" : "json" } = invocation;
      const { attachCommand } = await import("../commands/attach.ts");
      const { createView } = await import("../serve/attach-view.ts");
      return attachCommand({ ...places, id, fromNow, warn }, createView({ mode, deltas }, host, console));
    }
    case "send":
      return (await import("../commands/send.ts")).sendCommand({ ...invocation, ...places });
    case "stop":
      return (await import("../commands/stop.ts")).stopCommand({ ...invocation, ...places, warn });
    case "wait":
      return (await import("../commands/wait.ts")).waitCommand({ ...places, id: invocation.id, warn });
  }
}
