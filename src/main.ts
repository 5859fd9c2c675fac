import { errorMessage, StartupError } from "./contract/errors.ts";
import type { RunFailure, RunOutcome } from "./contract/outcome.ts";
import { runCommand } from "./dispatch/run-command.ts";
import { exitStatus } from "./exit-status.ts";
import { type Invocation, parseArguments } from "./flags/flags.ts";
import type { Host } from "./host.ts";
import { createRedaction, type Redaction } from "./redaction.ts";
import { writeLastMessage } from "./report/last-message.ts";
import { createRunSummary, type RunSummary } from "./report/run-summary.ts";
import type { PresentRun } from "./serve/presence.ts";
import { createStderr, type Stderr } from "./sinks/stderr.ts";
import { createWriter, type Writer } from "./sinks/writer.ts";
import type { Run } from "./start/start-run.ts";
import { keepHeapSmallSoon, optimiseLateSoon } from "./v8-flags.ts";

/** What every part of a run reports to. */
export type Console = {
  readonly stdout: Writer;
  readonly stderr: Stderr;
  readonly redaction: Redaction;
  /**
   * What went wrong with the process itself and was told on stderr: stdout that cannot be written, exceptions that
   * nobody expected.
   */
  readonly failures: readonly RunFailure[];
  /** Tells of such an exception. */
  crash(error: unknown): void;
};

/** A run that is over sooner need not look whether it has a reader, in milliseconds. */
const watchDelayMs = 500;

type RunInvocation = Extract<Invocation, { kind: "run" }>;

/** The program from its arguments to its exit status. All that it wrote has left the process when this resolves. */
export async function main(host: Host): Promise<number> {
  const console = createConsole(host);
  let outcome = empty();
  /** What a command says besides having run. */
  let status = 0;
  const summary = createRunSummary(host, console);
  try {
    const invocation = parseArguments(host.argv);
    summary.begin(invocation);
    if (invocation.kind !== "run") status = await answer(invocation, host, console);
    else if (invocation.flags.resident && host.handed === undefined)
      status = await (await import("./serve/resident.ts")).launchResident(invocation, host, console);
    else outcome = await run(invocation, host, console, summary);
  } catch (error) {
    outcome = caught(error, host, console);
  }
  await console.stdout.close();
  outcome.failures.push(...(await summary.write(whole(outcome, host, console))));
  report(outcome, host, console);
  await console.stderr.close();
  return exitStatus(whole(outcome, host, console)) || status;
}

async function run(
  invocation: RunInvocation,
  host: Host,
  console: Console,
  summary: RunSummary,
): Promise<RunOutcome> {
  if (invocation.flags.mode === "acp") {
    const unwatch = watchStdout(host);
    try {
      return await (await import("./serve/serve-acp.ts")).serveAcp(invocation, host, console);
    } finally {
      unwatch();
    }
  }
  const { run: started, presence } = await start(invocation, host, console);
  await summary.follow(started);
  const failures: RunFailure[] = [];
  const unwatch = watchStdout(host);
  const endedWell = await prompts(started, host, console);
  if (invocation.flags.mode === "rpc" && endedWell)
    failures.push(...(await (await import("./serve/serve-rpc.ts")).serveRpc(started, host, console)));
  // What a client began is ended first; then there is no more to begin.
  do {
    await started.conversation.idle();
    await started.endCommands();
  } while (started.conversation.active() !== undefined);
  // All is said: a reader may leave now.
  unwatch();
  presence.close();
  const left = started.conversation.current().session.actions().queuedCount;
  if (left > 0)
    console.stderr.diagnostic(`${left} queued ${left === 1 ? "message was" : "messages were"} not said`);
  const outcome = started.conversation.outcome();
  outcome.failures.push(...failures, ...(await close(started)));
  const { outputLastMessage } = invocation.flags;
  if (outputLastMessage !== undefined) {
    const failure = await writeLastMessage(outputLastMessage, outcome.finalText, host.cwd);
    if (failure !== undefined) outcome.failures.push({ kind: "output", message: failure });
  }
  await started.sink.close(whole(outcome, host, console));
  return outcome;
}

async function start(invocation: RunInvocation, host: Host, console: Console): Promise<PresentRun> {
  if (host.handed !== undefined)
    return (await import("./serve/resident.ts")).startResident(invocation, host, console);
  // Most of the program is loaded here, so that what needs no run answers at once.
  const { startRun } = await import("./start/start-run.ts");
  const run = await startRun(invocation, host, console);
  optimiseLateSoon();
  keepHeapSmallSoon();
  const { createPresence } = await import("./serve/presence.ts");
  const presence = createPresence({ run, host, console });
  presence.openSoon();
  return { run, presence };
}

/** Ends the run when nobody reads any more, also while it says nothing. The result ends the watch. */
function watchStdout(host: Host): () => void {
  // One that goes on by itself is read through its log.
  if (host.handed !== undefined) return () => undefined;
  let isOver = false;
  let unwatch = () => {};
  const timer = setTimeout(async () => {
    const { watchReader } = await import("./sinks/reader-watch.ts");
    if (!isOver) unwatch = watchReader(host.stdout.fd, () => host.abort({ kind: "readerGone" }));
  }, watchDelayMs);
  timer.unref();
  return () => {
    isOver = true;
    clearTimeout(timer);
    unwatch();
  };
}

/** A run whose session could not be closed as it should still gives its answer. */
async function close({ close }: Run): Promise<RunFailure[]> {
  try {
    await close();
    return [];
  } catch (error) {
    return [{ kind: "persistence", message: errorMessage(error) }];
  }
}

/** Runs what was asked for at the start, which of a client is the summary of a branch at most. Gives whether all ended well. */
async function prompts({ conversation, prompts }: Run, host: Host, { stderr }: Console): Promise<boolean> {
  for (const [index, prompt] of prompts.entries()) {
    const { endedWell } = await conversation.run(prompt);
    const left = prompts.length - index - 1;
    if (endedWell && !host.signal.aborted) continue;
    if (left > 0) stderr.diagnostic(`${left} further ${left === 1 ? "prompt was" : "prompts were"} not run`);
    return false;
  }
  return true;
}

async function answer(
  invocation: Exclude<Invocation, { kind: "run" }>,
  host: Host,
  console: Console,
): Promise<number> {
  switch (invocation.kind) {
    case "help":
      console.stdout.write(invocation.text);
      return 0;
    case "version": {
      const { version } = await import("./version.ts");
      console.stdout.write(`${version}\n`);
      return 0;
    }
    case "command":
      return runCommand(invocation, host, console);
  }
}

function createConsole(host: Host): Console {
  const redaction = createRedaction();
  const ignore = () => undefined;
  const failures: RunFailure[] = [];
  const stderr = createStderr({
    writer: createWriter({ fd: host.stderr.fd, onGone: ignore, onError: ignore }),
    verbose: isVerbose(host.argv),
    redact: redaction.redact,
    ...(host.stderr.isTerminal ? { columns: host.stderr.columns } : {}),
  });
  function crash(error: unknown): void {
    stderr.error(error);
    failures.push({ kind: "internal", message: errorMessage(error) });
    host.abort({ kind: "internalError" });
  }

  host.onUncaught(crash);
  return {
    redaction,
    stdout: createWriter({
      fd: host.stdout.fd,
      onGone: () => host.abort({ kind: "readerGone" }),
      onError(error) {
        const message = `stdout cannot be written: ${error.message}`;
        stderr.diagnostic(message);
        failures.push({ kind: "output", message });
        host.abort({ kind: "outputFailed" });
      },
    }),
    stderr,
    failures,
    crash,
  };
}

/** Known before the options are read, which may be what goes wrong. */
function isVerbose(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return argv.slice(0, end === -1 ? argv.length : end).includes("--verbose");
}

function empty(): RunOutcome {
  return { failures: [], finalText: "" };
}

/** What an exception makes of the run: an abort has its cause, a refusal its words, anything else is a fault here. */
function caught(error: unknown, host: Host, console: Console): RunOutcome {
  if (host.signal.aborted) return empty();
  if (error instanceof StartupError) {
    console.stderr.error(error);
    return { ...empty(), refused: error.message };
  }
  console.crash(error);
  return empty();
}

/** The outcome with what happened to the process itself. */
function whole(outcome: RunOutcome, host: Host, console: Console): RunOutcome {
  const cause = host.cause();
  return {
    ...outcome,
    ...(cause?.kind === "signal" ? { signal: cause.signal } : {}),
    ...(cause?.kind === "readerGone" ? { readerGone: true } : {}),
    failures: [...outcome.failures, ...console.failures],
  };
}

/** Says on stderr what neither the status nor an earlier line does. */
function report(outcome: RunOutcome, host: Host, { stderr, failures }: Console): void {
  const { terminal, gateNotPassed, limit } = outcome;
  const cause = host.cause();
  if (cause?.kind === "readerGone") return;
  for (const { message } of outcome.failures) stderr.diagnostic(message);
  if (cause?.kind === "signal") stderr.diagnostic(`ended by ${cause.signal}`);
  else if (failures.length === 0) sayHowItEnded(terminal, stderr);
  if (gateNotPassed !== undefined) stderr.diagnostic(gateNotPassed);
  if (limit !== undefined) stderr.diagnostic(`stopped: ${limit.message}`);
}

function sayHowItEnded(terminal: RunOutcome["terminal"], { diagnostic }: Stderr): void {
  const { stopReason, errorMessage: words = "the model's reply ended in an error" } = terminal ?? {};
  if (stopReason === "error" || stopReason === "aborted") diagnostic(words);
  if (stopReason === "length")
    diagnostic("the answer reached the model's output limit and may be incomplete");
}
