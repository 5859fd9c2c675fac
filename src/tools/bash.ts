import { assertNever, type JsonObject } from "../contract/json.ts";
import type { Tool, ToolResult } from "../contract/tool.ts";
import description from "./bash.md";
import { defineTool, errorResult, textResult } from "./define-tool.ts";
import type { CommandEnd } from "./shell/shell.ts";

/** What the tools that run processes are made from. */
export type ProcessToolOptions = {
  /** The whole environment of the processes. */
  readonly env: Readonly<Record<string, string>>;
  /** Replaced by `[redacted]` in output and spill files. */
  readonly secrets: readonly string[];
  /** Where output goes that is more than the model sees. Made when needed. */
  readonly spillFolder: string;
  /** Output beyond this ends a command. */
  readonly maxSpillBytes: number;
};

export type BashOptions = ProcessToolOptions & {
  /** The shell's program; bash where there is one, otherwise sh. */
  readonly shellPath?: string | undefined;
  /** Put before every command, on a line of its own. */
  readonly commandPrefix?: string | undefined;
};

const defaultTimeoutSeconds = 600;

export function createBashTool(options: BashOptions): Tool {
  return defineTool({
    name: "bash",
    description,
    parameters: {
      type: "object",
      properties: {
        command: { type: "string", minLength: 1 },
        timeout: {
          type: "number",
          exclusiveMinimum: 0,
          description: `Seconds until it and all that it started are killed. Default ${defaultTimeoutSeconds}.`,
        },
      },
      required: ["command"],
    },
    readOnly: false,
    async run({ command, timeout = defaultTimeoutSeconds }, { cwd, signal, onUpdate }) {
      const [{ runCommand }, { createOutputBuffer }, { createLiveUpdates }] = await Promise.all([
        import("./shell/shell.ts"),
        import("./shell/output-buffer.ts"),
        import("./shell/live-updates.ts"),
      ]);
      const buffer = createOutputBuffer({ toolName: "bash", ...options });
      const updates = createLiveUpdates(onUpdate, buffer.soFar);
      const { commandPrefix, shellPath, env, maxSpillBytes } = options;
      const end = await runCommand({
        command: commandPrefix ? `${commandPrefix}\n${command}` : command,
        shell: shellPath,
        joinsOutput: true,
        cwd,
        env,
        signal,
        timeoutMs: timeout * 1000,
        maxOutputBytes: maxSpillBytes,
        onOutput(chunk, stream) {
          buffer.append(chunk, stream);
          updates.touch();
        },
      });
      updates.stop();
      return toResult(end, buffer.finish(), { timeout, maxSpillBytes });
    },
  });
}

type Limits = { readonly timeout: number; readonly maxSpillBytes: number };

function toResult(
  end: CommandEnd,
  output: { readonly text: string; readonly details: JsonObject },
  limits: Limits,
): ToolResult {
  const failure = describeFailure(end, limits);
  const notes = [failure, describeSurvivors(end.survivors)].filter((note) => note !== undefined);
  const { exitCode, signal, durationMs } = end;
  const details = {
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(signal === undefined ? {} : { signal }),
    durationMs,
    ...output.details,
  };
  const shown = output.text || (failure === undefined ? "(no output)" : "");
  const text = notes.length === 0 ? shown : [shown.replace(/\n$/, ""), ...notes].filter(Boolean).join("\n\n");
  return failure === undefined ? textResult(text, details) : errorResult(text, details);
}

function describeFailure(end: CommandEnd, { timeout, maxSpillBytes }: Limits): string | undefined {
  switch (end.reason) {
    case "exit":
      if (end.signal !== undefined) return `Command was killed by ${end.signal}`;
      return end.exitCode === 0 ? undefined : `Command exited with code ${end.exitCode}`;
    case "timeout":
      return `Command timed out after ${timeout} s and was killed`;
    case "abort":
      return "Command aborted";
    case "ceiling":
      return `Command was killed: its output exceeded the limit of ${maxSpillBytes} bytes`;
    case "spawn_error":
      return `Command could not be started: ${end.errorMessage}`;
    default:
      return assertNever(end.reason);
  }
}

/** Says what the command left running. */
export function describeSurvivors(pids: readonly number[]): string | undefined {
  if (pids.length === 0) return undefined;
  const some = pids.slice(0, 5).join(", ");
  const all = pids.length > 5 ? `${some}, ...` : some;
  return `[Still running in the background: ${pids.length} process${pids.length === 1 ? "" : "es"}, pid ${all}. Further output of theirs is not shown.]`;
}
