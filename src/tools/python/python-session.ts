import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errorMessage } from "../../contract/errors.ts";
import type { ProcessExit } from "../shell/process-exit.ts";
import { findMembers, signalProcess, signalTree, terminateTree } from "../shell/process-tree.ts";
import { type Limits, type StopReason, watchLimits } from "../shell/watch-limits.ts";
import { type Interpreter, type InterpreterOptions, startInterpreter } from "./python-interpreter.ts";

export type Cell = Limits & { readonly code: string; readonly signal: AbortSignal };

/** How a cell ended. */
export type CellEnd = {
  /** The interpreter is a new one where the model may rely on the state of an earlier one. */
  readonly isRestarted: boolean;
} & (
  | { readonly kind: "not_started"; readonly problem: string }
  /** It ran to its end; `survivors` are the processes that it left running. */
  | { readonly kind: "done"; readonly isError: boolean; readonly survivors: readonly number[] }
  | { readonly kind: "died"; readonly exit: ProcessExit }
  /** It was stopped; the interpreter and its state are still there when it could be interrupted. */
  | { readonly kind: "stopped"; readonly reason: StopReason; readonly isStateKept: boolean }
);

/** One persistent Python, started when it is first needed and again after it died. */
export type PythonSession = {
  /** Runs a cell. One at a time. */
  run(cell: Cell): Promise<CellEnd>;
  close(): Promise<void>;
};

/** How long a cell may take to end after each of two interrupts, the first for Python alone. */
const interruptMs = 1000;
const graceMs = 2000;
const quitMs = 1000;

export type PythonSessionOptions = InterpreterOptions & {
  /** The model may rely on the state of an interpreter that an earlier run had. */
  readonly hadInterpreter: boolean;
};

export function createPythonSession(options: PythonSessionOptions): PythonSession {
  let interpreter: Interpreter | undefined;
  let { hadInterpreter } = options;
  let ipythonFolder: string | undefined;
  /** Processes of earlier cells that still run. */
  let background: ReadonlySet<number> = new Set();

  async function start(signal: AbortSignal): Promise<Interpreter> {
    // IPython must not depend on a home folder that can be written, nor leave anything there.
    ipythonFolder ??= await mkdtemp(join(tmpdir(), "base-context-")).catch(() => undefined);
    const env = { ...options.env, ...(ipythonFolder ? { IPYTHONDIR: ipythonFolder } : {}) };
    const started = await startInterpreter({ ...options, env }, signal);
    background = new Set();
    hadInterpreter = true;
    return started;
  }

  async function run(cell: Cell): Promise<CellEnd> {
    if (interpreter?.hasExited()) await forget();
    const isRestarted = !interpreter && hadInterpreter;
    try {
      interpreter ??= await start(cell.signal);
    } catch (error) {
      cell.signal.throwIfAborted();
      return { kind: "not_started", problem: errorMessage(error), isRestarted: false };
    }
    return { isRestarted, ...(await runIn(interpreter, cell)) };
  }

  async function runIn(python: Interpreter, cell: Cell): Promise<OmitRestart> {
    const limits = watchLimits(cell);
    const done = python
      .execute(cell.code, limits.onOutput)
      .then((ok) => ({ kind: "done" as const, isError: !ok }));
    const died = python.process.exited.then((exit) => ({ kind: "died" as const, exit }));
    const ended = Promise.race([done, died]);
    const first = await Promise.race([ended, limits.stopped]);
    limits.dispose();
    if (typeof first === "string") return stop(python, ended, first);
    if (first.kind === "done") return { ...first, survivors: newBackground(python) };
    await forget();
    return first;
  }

  async function stop(
    python: Interpreter,
    ended: Promise<{ kind: string }>,
    reason: StopReason,
  ): Promise<OmitRestart> {
    const isStateKept = reason !== "abort" && (await interrupt(python, ended, background));
    if (isStateKept) {
      const { tree, pid } = python.process;
      await terminateTree(tree, graceMs, new Set([pid, ...background]));
    } else {
      await python.process.terminate(reason === "abort" ? graceMs : 0);
      await forget();
    }
    return { kind: "stopped", reason, isStateKept };
  }

  function newBackground({ process }: Interpreter): number[] {
    const running = findMembers(process.tree).filter((pid) => pid !== process.pid);
    const fresh = running.filter((pid) => !background.has(pid));
    background = new Set(running);
    return fresh;
  }

  /** Lets go of an interpreter that is dead or was told to quit. */
  async function forget(): Promise<void> {
    const dead = interpreter;
    interpreter = undefined;
    await dead?.process.drain(100);
    dead?.process.release();
  }

  return {
    run,
    async close() {
      if (interpreter) {
        await interpreter.quit(quitMs);
        if (!interpreter.hasExited()) signalProcess(interpreter.process.pid, "SIGKILL");
        await forget();
      }
      if (ipythonFolder) await rm(ipythonFolder, { recursive: true, force: true }).catch(() => undefined);
      ipythonFolder = undefined;
    },
  };
}

type OmitRestart = CellEnd extends infer End
  ? End extends CellEnd
    ? Omit<End, "isRestarted">
    : never
  : never;

/** Interrupts Python, then its processes too. Resolves with whether the cell ended and Python lives. */
async function interrupt(
  { process: python }: Interpreter,
  ended: Promise<{ kind: string }>,
  spared: ReadonlySet<number>,
): Promise<boolean> {
  for (const send of [
    () => signalProcess(python.pid, "SIGINT"),
    () => signalTree(python.tree, "SIGINT", spared),
  ]) {
    send();
    const end = await Promise.race([ended, sleep(interruptMs, undefined, { ref: false })]);
    if (end) return end.kind === "done";
  }
  return false;
}
