import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { errorMessage } from "../../contract/errors.ts";
import { monotonicMs } from "../../contract/monotonic.ts";
import { type Fifo, makeFifos } from "./fifo.ts";
import { onKillAll } from "./kill-all.ts";
import { type OutputReader, readFifo, readStream } from "./output-reader.ts";
import type { ProcessExit } from "./process-exit.ts";
import { findMembers, groupMayLive, type ProcessTree, signalTree, terminateTree } from "./process-tree.ts";
import { makeTemporaryFolder, removeFolder } from "./temporary-folder.ts";
import { type Limits, type OnOutput, type OutputStream, watchLimits } from "./watch-limits.ts";

/** What to start, and where its output goes. */
export type ProcessOptions = {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** The whole environment: nothing is added from this process's own. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onOutput?: OnOutput | undefined;
  /**
   * How many real pipes the process gets, so that its own children can open /dev/stdout: two, or one for both outputs,
   * whose order is kept, and all of which is told as stdout. The first ones cost some milliseconds.
   */
  readonly realPipes?: 1 | 2;
  /** Give the process two more pipes: it reads from file descriptor 3 and writes to 4. */
  readonly channel?: boolean;
};

/** A process in a session and group of its own, without a terminal, with stdin at its end. */
export type StartedProcess = {
  readonly tree: ProcessTree;
  readonly exited: Promise<ProcessExit>;
  readonly pid: number;
  /** With `channel`: what to write to and to read from. */
  readonly channel?: { readonly input: Writable; readonly output: Readable };
  /** Whether this program waits for the process. Of one that nobody waits for the output is thrown away. */
  attend(isAttended: boolean): void;
  /** Waits until all output is read or, since others may hold the pipes, none came for a moment. */
  drain(quietMs: number): Promise<void>;
  /** Ends the process and all that it started; resolves with the pids that would not end. */
  terminate(graceMs: number): Promise<readonly number[]>;
  /** Lets go of the process after its exit. Returns the pids of what it left running. */
  release(): readonly number[];
};

/** A command line for the shell, or a program with its arguments. */
export type CommandOptions = Pick<ProcessOptions, "cwd" | "env"> &
  Limits & {
    /** How long after the exit silence must last before pipes that others hold are let go. Default 150. */
    readonly drainMs?: number | undefined;
    /** How long after SIGTERM comes SIGKILL. Default 2000. */
    readonly graceMs?: number | undefined;
    /** Whether processes that the command leaves behind are ended when it exits. */
    readonly endsAll?: boolean | undefined;
  } & (
    | {
        readonly command: string;
        readonly shell?: string | undefined;
        /** Stdout and stderr come together, in their order, as stdout. */
        readonly joinsOutput?: boolean;
      }
    | { readonly file: string; readonly args: readonly string[] }
  );

/** How a command ended. `exit` is by itself (whatever its status), the other reasons say who or what ended it. */
export type CommandEnd = {
  readonly reason: "exit" | "timeout" | "abort" | "ceiling" | "spawn_error";
  /** Absent when a signal ended it or it did not start. */
  readonly exitCode?: number;
  /** The signal that ended it, for instance `SIGSEGV`. */
  readonly signal?: string;
  /** With `spawn_error`: why it did not start. */
  readonly errorMessage?: string;
  readonly durationMs: number;
  /** Pids of processes of the command that still run. */
  readonly survivors: readonly number[];
};

/** Runs a command to its end. Never throws and never waits for a process that the command left behind. */
export type RunCommand = (options: CommandOptions) => Promise<CommandEnd>;

const outputStreams: readonly OutputStream[] = ["stdout", "stderr"];
const defaultDrainMs = 150;
/** A pipe that keeps talking after the exit is let go after this time. */
const maxDrainMs = 1000;
const defaultGraceMs = 2000;
/** Linux takes 128 KiB in one argument. */
const maxArgumentBytes = 120 * 1024;

/** In the environment of each process that a call starts: one mark for each call on the way to it. */
const markVariable = "BASE_CONTEXT_CALL";
/** No other process has this number at this time, counted since the machine was started. */
const ownMark = `${process.pid}-${process.hrtime.bigint().toString(36)}.`;
let callCount = 0;
/** The groups that may hold living processes. */
const liveGroups = new Set<number>();

export const runCommand: RunCommand = async (options) => {
  const startedAt = monotonicMs();
  const end = (rest: Pick<CommandEnd, "reason"> & Partial<CommandEnd>): CommandEnd => ({
    durationMs: Math.round(monotonicMs() - startedAt),
    survivors: [],
    ...rest,
  });
  if (options.signal?.aborted) return end({ reason: "abort" });
  const limits = watchLimits(options);
  let program: Program | undefined;
  try {
    program = toProgram(options);
    const started = await startProcess({ ...options, ...program, onOutput: limits.onOutput });
    const exited = started.exited.then(() => "exit" as const);
    const first = await Promise.race([exited, limits.stopped]);
    // A timer that is late runs before the exits are heard of that came in time.
    const reason = first === "timeout" ? await Promise.race([exited, nextTurn(first)]) : first;
    if (reason !== "exit" || options.endsAll) await started.terminate(options.graceMs ?? defaultGraceMs);
    await started.drain(options.drainMs ?? defaultDrainMs);
    const survivors = started.release();
    if (reason === "exit") return end({ reason, survivors, ...(await started.exited) });
    // After SIGKILL the exit is certain, unless the kernel itself holds the process.
    const exit = await Promise.race([started.exited, sleep(100, {}, { ref: false })]);
    return end({ reason, survivors, ...exit });
  } catch (error) {
    return end({ reason: "spawn_error", errorMessage: errorMessage(error) });
  } finally {
    limits.dispose();
    program?.remove?.();
  }
};

/** Starts a process. Throws when it cannot be started. */
export async function startProcess(options: ProcessOptions): Promise<StartedProcess> {
  const fifos = options.realPipes ? await makeFifos(options.realPipes) : [];
  onKillAll(() => signalTree({ groups: [...liveGroups], mark: ownMark }, "SIGKILL"));
  callCount += 1;
  const mark = `${ownMark}${callCount};`;
  const { subprocess, pid } = await spawned(options, toSpawnOptions(options, mark, fifos))
    .finally(() => {
      for (const fifo of fifos) closeSync(fifo.writeFd);
    })
    .catch((error: unknown) => {
      for (const fifo of fifos) {
        closeSync(fifo.readFd);
        fifo.giveBack();
      }
      throw error;
    });
  const exited = new Promise<ProcessExit>((resolve) => {
    subprocess.once("exit", (exitCode, signal) => {
      resolve(signal === null ? { exitCode: exitCode ?? 0 } : { signal });
    });
  });
  const readers = outputStreams.flatMap((stream, index): OutputReader[] => {
    const onChunk = (chunk: Uint8Array): void => options.onOutput?.(chunk, stream);
    const fifo = fifos[index];
    if (fifo) return [readFifo(fifo, onChunk)];
    const socket: unknown = subprocess[stream];
    return socket instanceof Socket ? [readStream(socket, onChunk)] : [];
  });
  const [, , , input, output]: readonly unknown[] = subprocess.stdio;
  const channel = input instanceof Socket && output instanceof Socket ? { input, output } : undefined;
  return {
    pid,
    exited,
    ...(channel ? { channel } : {}),
    attend(isAttended) {
      const holders = [subprocess, ...(channel ? [channel.input, channel.output] : [])];
      for (const holder of holders) isAttended ? holder.ref() : holder.unref();
      for (const each of readers) isAttended ? each.attach() : each.detach();
    },
    ...control({ groups: [pid], mark }, readers, (isOver) => {
      for (const fifo of fifos) isOver ? fifo.giveBack() : fifo.abandon();
    }),
  };
}

/** Rejects with words for a person. */
async function spawned(
  { file, args, cwd }: ProcessOptions,
  options: SpawnOptions,
): Promise<{ subprocess: ChildProcess; pid: number }> {
  try {
    const subprocess = spawn(file, args, options);
    const { pid } = subprocess;
    if (pid !== undefined) return { subprocess, pid };
    throw (await once(subprocess, "error"))[0];
  } catch (error) {
    const why = existsSync(cwd) ? errorMessage(error) : `the folder ${cwd} does not exist`;
    throw new Error(`${file} was not started: ${why}`, { cause: error });
  }
}

function toSpawnOptions(
  { cwd, env, channel }: ProcessOptions,
  mark: string,
  fifos: readonly Fifo[],
): SpawnOptions {
  return {
    cwd,
    env: { ...env, [markVariable]: `${env[markVariable] ?? ""}${mark}` },
    stdio: [
      "ignore",
      fifos.at(0)?.writeFd ?? "pipe",
      fifos.at(-1)?.writeFd ?? "pipe",
      ...(channel ? (["pipe", "pipe"] as const) : []),
    ],
    detached: true,
  };
}

function control(
  tree: ProcessTree,
  readers: readonly OutputReader[],
  onRelease: (isOver: boolean) => void,
): Pick<StartedProcess, "tree" | "drain" | "terminate" | "release"> {
  for (const group of tree.groups) liveGroups.add(group);
  return {
    tree,
    drain: (quietMs) => drain(readers, quietMs),
    terminate: (graceMs) => terminateTree(tree, graceMs),
    release() {
      const isOver = readers.every((reader) => reader.hasEnded()) && !tree.groups.some(groupMayLive);
      const left = isOver ? [] : findMembers(tree);
      if (left.length === 0) for (const group of tree.groups) liveGroups.delete(group);
      for (const reader of readers) {
        if (reader.hasEnded()) reader.close();
        else reader.detach();
      }
      onRelease(isOver);
      return left;
    },
  };
}

/** The value, once everything was heard that has happened by now. */
async function nextTurn<T>(value: T): Promise<T> {
  await setImmediate();
  await setImmediate();
  return value;
}

async function drain(readers: readonly OutputReader[], quietMs: number): Promise<void> {
  const areAllEnded = (): boolean => readers.every((reader) => reader.hasEnded());
  if (areAllEnded()) return;
  const deadline = monotonicMs() + maxDrainMs;
  const count = (): number => readers.reduce((sum, reader) => sum + reader.bytes(), 0);
  const allEnded = Promise.all(readers.map((reader) => reader.ended));
  for (let before = -1; before !== count() && monotonicMs() < deadline; ) {
    before = count();
    await Promise.race([allEnded, sleep(quietMs, undefined, { ref: false })]);
    if (areAllEnded()) return;
    // A timer that is late runs before what meanwhile arrived is read.
    await setImmediate();
    await setImmediate();
  }
}

type Program = Pick<ProcessOptions, "file" | "args" | "env" | "realPipes"> & { remove?(): void };

/** The program to start; a command that is too long for an argument is put into a file. */
function toProgram(options: CommandOptions): Program {
  if ("file" in options) return { file: options.file, args: options.args, env: options.env };
  const { command, shell: file = defaultShell() } = options;
  const common = {
    file,
    // Where nobody has told bash what shell the user has, it takes half a millisecond to find out.
    env: { SHELL: file, ...options.env },
    realPipes: options.joinsOutput ? 1 : 2,
  } as const;
  if (Buffer.byteLength(command) < maxArgumentBytes) return { ...common, args: ["-c", command] };
  const folder = makeTemporaryFolder();
  const path = join(folder, "command");
  writeFileSync(path, command, { mode: 0o600 });
  return {
    ...common,
    args: ["-c", '. "$0"', path],
    remove: () => removeFolder(folder),
  };
}

let foundShell: string | undefined;

/** The shell that commands run in where the settings name none. */
export function defaultShell(): string {
  foundShell ??= existsSync("/bin/bash") ? "/bin/bash" : process.platform === "win32" ? "bash" : "/bin/sh";
  return foundShell;
}
