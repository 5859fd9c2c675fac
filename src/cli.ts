import { fstatSync, type Stats, statSync } from "node:fs";
import { constants, devNull } from "node:os";
import { errorMessage, StartupError } from "./contract/errors.ts";
import type { AbortCause, SignalName } from "./contract/outcome.ts";
import type { Host } from "./host.ts";
import { main } from "./main.ts";
import { channelVariable } from "./runs/channel.ts";
import type { Stdin } from "./start/input.ts";
import { killAllGroups } from "./tools/shell/kill-all.ts";

const signals: readonly SignalName[] = ["SIGHUP", "SIGINT", "SIGTERM"];
/** How long something forgotten may keep the process alive once all is done and written, in milliseconds. */
const lingerMs = 250;
/** How long the run may take to end in order after an exception that nobody caught, in milliseconds. */
const crashGraceMs = 5_000;

const controller = new AbortController();
let cause: AbortCause | undefined;
let firstSignal: SignalName | undefined;
let hearUncaught: (error: unknown) => void = () => undefined;
let hasCrashed = false;
let isDone = false;

for (const signal of signals) process.on(signal, () => onSignal(signal));
// Node would open its debugger, on a port that every user of the machine can reach.
process.on("SIGUSR1", () => undefined);
// Rejections that nobody handles arrive here too.
process.on("uncaughtException", onUncaught);
process.on("beforeExit", onNothingLeft);

const host: Host = {
  argv: process.argv.slice(2),
  env: process.env,
  get cwd() {
    return currentFolder();
  },
  stdin: { kind: stdinKind(), stream: () => process.stdin },
  stdout: { fd: 1, isTerminal: isTerminal(1) },
  stderr: { fd: 2, isTerminal: isTerminal(2), columns: terminalColumns },
  pid: process.pid,
  self: [process.execPath, ...process.execArgv, process.argv[1] ?? ""],
  signal: controller.signal,
  cause: () => cause,
  abort,
  onExit: (hear) => void process.on("exit", hear),
  onUncaught(hear) {
    hearUncaught = hear;
  },
};

start().then(finish, onUncaught);

async function start(): Promise<number> {
  const channel = process.env[channelVariable];
  if (channel === undefined) return main(host);
  // It is meant for this process, and not for those that tools start.
  delete process.env[channelVariable];
  return (await import("./serve/resident.ts")).mainDetached(main, host, Number(channel));
}

function abort(reason: AbortCause): void {
  if (cause !== undefined) return;
  cause = reason;
  controller.abort(reason);
}

/** The first signal ends the run in order, a further one ends the process as it stands. */
function onSignal(signal: SignalName): void {
  if (firstSignal !== undefined) {
    // A terminal that closes hangs up twice, by its own hand and by the shell's.
    if (signal !== "SIGHUP") endAsItStands(128 + constants.signals[firstSignal]);
    return;
  }
  firstSignal = signal;
  cause = { kind: "signal", signal };
  controller.abort(cause);
}

function onUncaught(error: unknown): void {
  // What a handle that was let go of says after the end concerns nobody.
  if (isDone) return;
  hearUncaught(error);
  if (hasCrashed) return;
  hasCrashed = true;
  // What threw may be what the end waits for.
  setTimeout(() => endAsItStands(1), crashGraceMs).unref();
}

/** Without this a promise that nobody settles would end the process early, and with status 0. */
function onNothingLeft(): void {
  if (isDone) return;
  if (hasCrashed) endAsItStands(1);
  else onUncaught(new Error("nothing is left to do, but the run has not ended"));
}

function finish(status: number): void {
  isDone = true;
  process.exitCode = status;
  if (controller.signal.aborted) killAllGroups();
  // All is flushed by now. Whatever still keeps the loop alive (a socket that the other side holds open) must not.
  setTimeout(() => process.exit(), lingerMs).unref();
}

function endAsItStands(status: number): never {
  killAllGroups();
  process.exit(status);
}

function currentFolder(): string {
  try {
    return process.cwd();
  } catch (error) {
    throw new StartupError(
      `the current directory is gone or cannot be read (${errorMessage(error)}); cd to another one`,
    );
  }
}

function stdinKind(): Stdin["kind"] {
  const stats = statsOf(0);
  if (stats === undefined || isNull(stats) || isTerminal(0) || stats.isDirectory()) return "none";
  return stats.isFIFO() || stats.isSocket() ? "pipe" : "file";
}

function isTerminal(fd: number): boolean {
  const stats = statsOf(fd);
  // Only a device can be one: for the rest there is no need to load node:tty.
  if (stats?.isCharacterDevice() !== true || isNull(stats)) return false;
  return process.getBuiltinModule("node:tty").isatty(fd);
}

function isNull({ rdev }: Stats): boolean {
  return rdev !== 0 && rdev === statSync(devNull, { throwIfNoEntry: false })?.rdev;
}

function terminalColumns(): number {
  // A terminal that nobody gave a size has 0.
  return process.stderr.columns || 80;
}

function statsOf(fd: number): Stats | undefined {
  try {
    return fstatSync(fd);
  } catch {
    return undefined;
  }
}
