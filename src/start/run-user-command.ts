import type { RpcBashResult } from "../runs/protocol.ts";
import type { ToolsOptions } from "../tools/registry.ts";

/** What the shell of the model's commands is made from; the user's commands get the same. */
export type UserShell = Pick<
  ToolsOptions,
  "env" | "credentialNames" | "secrets" | "passEnv" | "shell" | "spillFolder"
>;

const defaultMaxSpillBytes = 1_000_000_000;

/** Runs a command of the user's as the model's are run, without a limit of time. Never rejects. */
export async function runUserCommand(
  command: string,
  { cwd, signal, shell: options }: { cwd: string; signal: AbortSignal; shell: UserShell },
): Promise<RpcBashResult> {
  const [{ childEnv }, { createOutputBuffer }, { runCommand }] = await Promise.all([
    import("../tools/shell/child-env.ts"),
    import("../tools/shell/output-buffer.ts"),
    import("../tools/shell/shell.ts"),
  ]);
  const { secrets, spillFolder } = options;
  const { path, commandPrefix, maxSpillBytes = defaultMaxSpillBytes } = options.shell;
  const buffer = createOutputBuffer({ toolName: "bash", secrets, spillFolder, maxSpillBytes });
  const end = await runCommand({
    command: commandPrefix ? `${commandPrefix}\n${command}` : command,
    shell: path,
    joinsOutput: true,
    cwd,
    env: childEnv(options.env, options),
    signal,
    maxOutputBytes: maxSpillBytes,
    onOutput: buffer.append,
  });
  const { text, details } = buffer.finish();
  const { fullOutputPath } = details;
  return {
    output: end.errorMessage ?? text,
    ...(end.exitCode === undefined ? {} : { exitCode: end.exitCode }),
    cancelled: end.reason === "abort",
    truncated: details.truncated === true,
    ...(typeof fullOutputPath === "string" ? { fullOutputPath } : {}),
  };
}
