import { assertNever, type JsonObject } from "../contract/json.ts";
import { monotonicMs } from "../contract/monotonic.ts";
import type { Tool, ToolContext, ToolResult } from "../contract/tool.ts";
import { describeSurvivors, type ProcessToolOptions } from "./bash.ts";
import { defineTool, errorResult, textResult } from "./define-tool.ts";
import description from "./ipython.md";
import type { CellEnd, PythonSession } from "./python/python-session.ts";
import { describeExit } from "./shell/process-exit.ts";

export type IpythonOptions = ProcessToolOptions & {
  /** The interpreter's program. */
  readonly python: string;
  /** An earlier run of the session has run code: the model is told that its state is gone. */
  readonly ranBefore?: boolean;
};

const defaultTimeoutSeconds = 600;

/** Makes the tool that runs Python. The process is started by the first call and ended by `close`. */
export function createIpythonTool(options: IpythonOptions): Tool {
  let session: PythonSession | undefined;
  let hadInterpreter = options.ranBefore ?? false;

  async function runCell(
    code: string,
    timeout: number,
    { cwd, signal, onUpdate }: ToolContext,
  ): Promise<ToolResult> {
    const [{ createPythonSession }, { createOutputBuffer }, { createLiveUpdates }] = await Promise.all([
      import("./python/python-session.ts"),
      import("./shell/output-buffer.ts"),
      import("./shell/live-updates.ts"),
    ]);
    session ??= createPythonSession({ python: options.python, cwd, env: options.env, hadInterpreter });
    const buffer = createOutputBuffer({ toolName: "ipython", ...options });
    const updates = createLiveUpdates(onUpdate, buffer.soFar);
    const startedAt = monotonicMs();
    try {
      const end = await session.run({
        code,
        signal,
        timeoutMs: timeout * 1000,
        maxOutputBytes: options.maxSpillBytes,
        onOutput(chunk, stream) {
          buffer.append(chunk, stream);
          updates.touch();
        },
      });
      const durationMs = Math.round(monotonicMs() - startedAt);
      return toResult(end, buffer.finish(), { timeout, durationMs, maxSpillBytes: options.maxSpillBytes });
    } finally {
      updates.stop();
    }
  }

  return defineTool({
    name: "ipython",
    description,
    parameters: {
      type: "object",
      properties: {
        code: { type: "string" },
        timeout: {
          type: "number",
          exclusiveMinimum: 0,
          description: `Seconds until the code is stopped. Default ${defaultTimeoutSeconds}.`,
        },
      },
      required: ["code"],
    },
    readOnly: false,
    run: ({ code, timeout = defaultTimeoutSeconds }, context) => runCell(code, timeout, context),
    async close() {
      const closing = session;
      // A later call is one of another session, perhaps in another folder.
      session = undefined;
      hadInterpreter = false;
      await closing?.close();
    },
  });
}

type Facts = { readonly timeout: number; readonly durationMs: number; readonly maxSpillBytes: number };

function toResult(
  end: CellEnd,
  output: { readonly text: string; readonly details: JsonObject },
  facts: Facts,
): ToolResult {
  const failure = describeFailure(end, facts);
  const restarted =
    "[A new Python process was started: variables, imports and definitions of earlier calls are gone.]";
  const notes = [
    failure,
    end.isRestarted ? restarted : undefined,
    end.kind === "done" ? describeSurvivors(end.survivors) : undefined,
  ].filter((note) => note !== undefined);
  const text = output.text.replace(/\n$/, "") || (failure === undefined ? "(no output)" : "");
  const all = [text, ...notes].filter(Boolean).join("\n\n");
  const details = { durationMs: facts.durationMs, ...output.details };
  const isError = failure !== undefined || (end.kind === "done" && end.isError);
  return isError ? errorResult(all, details) : textResult(all, details);
}

function describeFailure(end: CellEnd, { timeout, maxSpillBytes }: Facts): string | undefined {
  switch (end.kind) {
    case "done":
      return undefined;
    case "not_started":
      return end.problem;
    case "died":
      return `The Python process died: ${describeExit(end.exit)}. ${stateIsGone}`;
    case "stopped": {
      const whatHappened = {
        timeout: `The code timed out after ${timeout} s`,
        abort: "The code was aborted",
        ceiling: `The code was stopped: its output exceeded the limit of ${maxSpillBytes} bytes`,
      }[end.reason];
      return end.isStateKept
        ? `${whatHappened} and was interrupted; the state of the process is kept.`
        : `${whatHappened}; the Python process was killed. ${stateIsGone}`;
    }
    default:
      return assertNever(end);
  }
}

const stateIsGone = "Its state is gone; the next call starts a new one. Nothing is run again by itself.";
