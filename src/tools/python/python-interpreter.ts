import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { isJsonObject, type JsonObject } from "../../contract/json.ts";
import { describeExit, type ProcessExit } from "../shell/process-exit.ts";
import { type StartedProcess, startProcess } from "../shell/shell.ts";
import { type OnOutput, type OutputStream, watchLimits } from "../shell/watch-limits.ts";
import bridge from "./ipython-bridge.py";
import { createMarkerScanner, type MarkerScanner } from "./marker-scanner.ts";

/** A Python process that runs one cell after the other in one namespace. */
export type Interpreter = {
  readonly process: StartedProcess;
  hasExited(): boolean;
  /** Runs a cell; resolves with whether it succeeded, and never when the process dies. */
  execute(code: string, onOutput: OnOutput): Promise<boolean>;
  /** Asks it to end; resolves when it has or the time is over. */
  quit(limitMs: number): Promise<void>;
};

export type InterpreterOptions = {
  readonly python: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};

const startLimitMs = 60_000;
/** How long after a cell's end its last output may take to arrive. */
const lastOutputMs = 1000;
const maxDiagnosisLength = 1000;

/** Starts Python and waits until it takes cells. Throws when that fails, takes too long or is aborted. */
export async function startInterpreter(
  options: InterpreterOptions,
  signal: AbortSignal,
): Promise<Interpreter> {
  const output = createOutputSwitch();
  const process = await startProcess({
    file: options.python,
    args: ["-c", bridge],
    cwd: options.cwd,
    env: { MPLBACKEND: "Agg", ...options.env },
    onOutput: output.take,
    realPipes: 2,
    channel: true,
  });
  let exit: ProcessExit | undefined;
  const exited = process.exited.then((end) => {
    exit = end;
  });
  const answers = createAnswers(process);
  const ready = Promise.race([answers.next(), process.exited.then(describeExit)]);
  const problem = await whyNotReady(process, ready, { output, signal });
  if (problem !== undefined) throw new Error(`${options.python} could not be started: ${problem}`);
  output.direct(undefined);
  process.attend(false);
  return {
    process,
    hasExited: () => exit !== undefined,
    async execute(code, onOutput) {
      process.attend(true);
      const marker = `\0${randomUUID()}\0`;
      const ended = output.until(Buffer.from(marker), onOutput);
      process.channel?.input.write(`${JSON.stringify({ code, marker })}\n`);
      const answer = await answers.next();
      await Promise.race([ended, sleep(lastOutputMs, undefined, { ref: false })]);
      output.direct(undefined);
      process.attend(false);
      return answer.ok === true;
    },
    async quit(limitMs) {
      process.attend(true);
      process.channel?.input.end();
      await Promise.race([exited, sleep(limitMs, undefined, { ref: false })]);
    },
  };
}

type OutputSwitch = ReturnType<typeof createOutputSwitch>;

/**
 * Waits for Python's first answer. What comes instead is why there is none: the process is ended then. Throws the
 * signal's reason on abort.
 *
 * @param ready resolves with the answer, or with a text that says how the process ended
 */
async function whyNotReady(
  process: StartedProcess,
  ready: Promise<JsonObject | string>,
  { output, signal }: { output: OutputSwitch; signal: AbortSignal },
): Promise<string | undefined> {
  let diagnosis = "";
  output.direct((chunk) => {
    if (diagnosis.length < maxDiagnosisLength) diagnosis += Buffer.from(chunk).toString();
  });
  const limits = watchLimits({ signal, timeoutMs: startLimitMs });
  const late = limits.stopped.then(() => `it was not ready after ${startLimitMs / 1000} s`);
  const first = await Promise.race([ready, late]);
  limits.dispose();
  if (typeof first !== "string") return undefined;
  await process.terminate(0);
  await process.drain(lastOutputMs / 10);
  process.release();
  signal.throwIfAborted();
  return [first, diagnosis.trim()].filter(Boolean).join("\n");
}

/** Directs the output of a process to whoever listens at the moment. */
function createOutputSwitch() {
  let scanners: Record<OutputStream, MarkerScanner> | undefined;
  return {
    take: (chunk: Uint8Array, stream: OutputStream): void => scanners?.[stream](chunk),
    direct(onOutput: OnOutput | undefined): void {
      scanners = onOutput && {
        stdout: (chunk) => onOutput(chunk, "stdout"),
        stderr: (chunk) => onOutput(chunk, "stderr"),
      };
    },
    /** Directs it until the marker has come on both streams. */
    async until(marker: Buffer, onOutput: OnOutput): Promise<void> {
      const untilMarker = (stream: OutputStream): [MarkerScanner, Promise<void>] => {
        let onMarker = (): void => undefined;
        const ended = new Promise<void>((resolve) => {
          onMarker = resolve;
        });
        return [createMarkerScanner(marker, (chunk) => onOutput(chunk, stream), onMarker), ended];
      };
      const [stdout, stdoutEnded] = untilMarker("stdout");
      const [stderr, stderrEnded] = untilMarker("stderr");
      scanners = { stdout, stderr };
      await Promise.all([stdoutEnded, stderrEnded]);
    },
  };
}

/** Reads the answers of the bridge. `next` must have been called before the answer comes. */
function createAnswers({ channel }: StartedProcess): { next(): Promise<JsonObject> } {
  let deliver: ((answer: JsonObject) => void) | undefined;
  // The other end may be gone at any time; the exit of the process tells.
  channel?.input.on("error", () => undefined);
  channel?.output.on("error", () => undefined);
  if (channel) {
    createInterface({ input: channel.output }).on("line", (line) => deliver?.(parseAnswer(line)));
  }
  return {
    next: () =>
      new Promise((resolve) => {
        deliver = resolve;
      }),
  };
}

function parseAnswer(line: string): JsonObject {
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
