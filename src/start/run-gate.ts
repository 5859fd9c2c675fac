import type { GateEnd, RunGate } from "../session/autonomous/gates.ts";
import type { RunGit } from "../session/autonomous/work-tree.ts";
import { childEnv } from "../tools/shell/child-env.ts";
import type { CommandEnd } from "../tools/shell/shell.ts";
import type { UserShell } from "./run-user-command.ts";

/** The most of one gate's output that is kept in a file: a gate may flood for as long as its time lasts. */
const maxSpillBytes = 64 * 1024 * 1024;
const gitTimeoutMs = 30_000;
const maxGitBytes = 64 * 1024 * 1024;

/** Makes what runs gates as the model's commands are run. Nothing is loaded before the first one. */
export function createRunGate(shell: UserShell, cwd: string): RunGate {
  return async (command, { timeoutMs, signal }) => {
    const [{ createOutputBuffer }, { runCommand }] = await Promise.all([
      import("../tools/shell/output-buffer.ts"),
      import("../tools/shell/shell.ts"),
    ]);
    const { secrets, spillFolder, shell: settings } = shell;
    const buffer = createOutputBuffer({ toolName: "gate", secrets, spillFolder, maxSpillBytes });
    const end = await runCommand({
      command: settings.commandPrefix ? `${settings.commandPrefix}\n${command}` : command,
      shell: settings.path,
      joinsOutput: true,
      cwd,
      env: childEnv(shell.env, shell),
      timeoutMs,
      signal,
      endsAll: true,
      onOutput: buffer.append,
    });
    const { fullOutputPath } = buffer.finish().details;
    const text = buffer.soFar().content.map((block) => (block.type === "text" ? block.text : ""));
    const note = typeof fullOutputPath === "string" ? [`[Whole output: ${fullOutputPath}]`] : [];
    return toGateEnd(end, [...text, ...note].join("\n").trim());
  };
}

/** Makes what runs git, such that the repository's own settings make it run nothing else. */
export function createRunGit(shell: UserShell): RunGit {
  return async (args, cwd) => {
    const { runCommand } = await import("../tools/shell/shell.ts");
    const chunks: Uint8Array[] = [];
    const end = await runCommand({
      file: "git",
      args: ["--no-optional-locks", "-c", "core.fsmonitor=false", ...args],
      cwd,
      env: childEnv(shell.env, shell),
      timeoutMs: gitTimeoutMs,
      maxOutputBytes: maxGitBytes,
      onOutput(chunk, stream) {
        if (stream === "stdout") chunks.push(Uint8Array.from(chunk));
      },
    });
    const isWhole = end.reason === "exit" && end.exitCode === 0;
    return isWhole ? Buffer.concat(chunks).toString("utf8") : undefined;
  };
}

function toGateEnd(end: CommandEnd, output: string): GateEnd {
  const { exitCode, signal, errorMessage, durationMs } = end;
  return {
    reason: reasons[end.reason],
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(signal === undefined ? {} : { signal }),
    ...(errorMessage === undefined ? {} : { errorMessage }),
    durationMs,
    output,
  };
}

const reasons: Readonly<Record<CommandEnd["reason"], GateEnd["reason"]>> = {
  exit: "exit",
  timeout: "timeout",
  abort: "abort",
  // There is no ceiling on a gate's output.
  ceiling: "exit",
  spawn_error: "not_started",
};
