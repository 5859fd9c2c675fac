import { homeFolder } from "../config/paths.ts";
import type { Invocation } from "../flags/flags.ts";
import type { Host } from "../host.ts";
import type { Console } from "../main.ts";

/** Runs a subcommand; gives its exit status. Throws a StartupError for what is refused. */
export async function runCommand(
  invocation: Extract<Invocation, { kind: "command" }>,
  host: Host,
  console: Console,
): Promise<number> {
  const { stdout, stderr } = console;
  const write = (text: string) => stdout.write(text);
  switch (invocation.name) {
    case "show":
    case "export":
    case "rm":
      return (await import("./run-session-command.ts")).runSessionCommand(invocation, host, console);
    case "list":
    case "attach":
    case "send":
    case "stop":
    case "wait":
    case "status":
      return (await import("./run-lifecycle-command.ts")).runLifecycleCommand(invocation, host, console);
    case "doctor":
      return (await import("./run-doctor-command.ts")).runDoctorCommand(invocation, host, console);
    case "schema":
      return (await import("../commands/schema.ts")).schemaCommand({ deltas: invocation.deltas }, write);
    case "models": {
      const home = homeFolder(host.env);
      const commands = await import("../commands/models.ts");
      const { createFetch } = await import("../providers/http/fetch.ts");
      if (invocation.action === "refresh")
        return commands.refreshModels(
          { home, env: host.env, fetch: createFetch({ env: host.env }), signal: host.signal },
          write,
        );
      return commands.listModels(
        {
          home,
          env: host.env,
          json: invocation.json,
          warn: stderr.diagnostic,
          ...(invocation.search === undefined ? {} : { search: invocation.search }),
        },
        write,
      );
    }
  }
}
