import { afterEach } from "vitest";
import { type ProviderServer, type Script, startProvider } from "./provider-server.ts";
import { type RunOptions, type RunResult, runCli } from "./run-cli.ts";
import { createWorkspace, type ProviderSetup, type Workspace } from "./workspace.ts";

/** A provider with a script, a workspace that knows it as `fake/m`, and the program in it. */
export type Bench = {
  readonly server: ProviderServer;
  readonly workspace: Workspace;
  /** Runs the program with `--model fake/m` in front of the arguments. */
  run(args: readonly string[], options?: RunOptions): Promise<RunResult>;
  /** Runs the program with the arguments as they are. */
  runBare(args: readonly string[], options?: RunOptions): Promise<RunResult>;
};

const open: Bench[] = [];

afterEach(async () => {
  for (const { server, workspace } of open.splice(0)) {
    await server.close();
    workspace.remove();
  }
});

/** Makes a bench that lasts until the end of the test. */
export async function createBench(
  script: readonly Script[],
  setup: Omit<ProviderSetup, "url"> = {},
): Promise<Bench> {
  const server = await startProvider(script);
  const workspace = createWorkspace({ url: server.url, ...setup });
  const runBare = (args: readonly string[], options: RunOptions = {}) =>
    runCli(args, { workspace, ...options });
  const bench: Bench = {
    server,
    workspace,
    runBare,
    run: (args, options) => runBare(["--model", "fake/m", ...args], options),
  };
  open.push(bench);
  return bench;
}
