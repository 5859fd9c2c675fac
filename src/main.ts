import { StartupError } from "./contract/errors.ts";
import type { RunOutcome } from "./contract/outcome.ts";
import { exitStatus } from "./exit-status.ts";
import { type Invocation, parseArguments } from "./flags.ts";
import type { Host } from "./host.ts";
import { writeLastMessage } from "./last-message.ts";
import { createRedaction, type Redaction } from "./redaction.ts";
import { runCommand } from "./run-command.ts";
import { createStderr, type Stderr } from "./sinks/stderr.ts";
import { createWriter, type Writer } from "./sinks/writer.ts";
import { type Run, startRun } from "./start.ts";

/** What every part of a run reports to. */
export type Console = {
  readonly stdout: Writer;
  readonly stderr: Stderr;
  readonly redaction: Redaction;
  /** Why stdout cannot be written any more, other than a reader that went away. */
  outputError(): string | undefined;
};

/** The program from its arguments to its exit status. All that it wrote has left the process when this resolves. */
export async function main(host: Host): Promise<number> {
  const console = createConsole(host);
  let outcome: RunOutcome;
  try {
    const invocation = parseArguments(host.argv);
    if (invocation.kind !== "run") {
      const status = await answer(invocation, host, console);
      await console.stdout.close();
      await console.stderr.close();
      return host.signal.aborted || console.outputError() !== undefined
        ? exitStatus(whole(empty(), host, console))
        : status;
    }
    outcome = await run(invocation, host, console);
  } catch (error) {
    outcome = failed(error, host);
    if (!host.signal.aborted) console.stderr.error(error);
    await console.stdout.close();
  }
  const final = whole(outcome, host, console);
  report(final, console.stderr);
  await console.stderr.close();
  return exitStatus(final);
}

async function run(
  invocation: Extract<Invocation, { kind: "run" }>,
  host: Host,
  console: Console,
): Promise<RunOutcome> {
  const started = await startRun(invocation, host, console);
  await prompts(started, host, console);
  const outcome = started.session.outcome();
  await started.close();
  if (invocation.flags.outputLastMessage !== undefined) {
    const failure = await writeLastMessage(invocation.flags.outputLastMessage, outcome.finalText, host.cwd);
    if (failure !== undefined) outcome.failures.push({ kind: "output", message: failure });
  }
  await started.sink.close(whole(outcome, host, console));
  return outcome;
}

async function prompts({ session, prompts }: Run, host: Host, { stderr }: Console): Promise<void> {
  for (const [index, prompt] of prompts.entries()) {
    const endedWell =
      prompt.kind === "command"
        ? await session.command(prompt, host.signal)
        : await session.prompt(prompt.message, host.signal);
    const left = prompts.length - index - 1;
    if (endedWell && !host.signal.aborted) continue;
    if (left > 0) stderr.diagnostic(`${left} further ${left === 1 ? "prompt was" : "prompts were"} not run`);
    return;
  }
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
  let outputError: string | undefined;
  return {
    redaction,
    stdout: createWriter({
      fd: host.stdout.fd,
      onGone: () => host.abort({ kind: "readerGone" }),
      onError: (error) => {
        outputError = `stdout cannot be written: ${error.message}`;
      },
    }),
    stderr: createStderr({
      writer: createWriter({ fd: host.stderr.fd, onGone: ignore, onError: ignore }),
      verbose: host.argv.includes("--verbose"),
      redact: redaction.redact,
      ...(host.stderr.isTerminal ? { columns: host.stderr.columns } : {}),
    }),
    outputError: () => outputError,
  };
}

function empty(): RunOutcome {
  return { failures: [], finalText: "" };
}

function failed(error: unknown, host: Host): RunOutcome {
  if (host.signal.aborted) return empty();
  if (error instanceof StartupError) return { ...empty(), refused: error.message };
  return {
    ...empty(),
    failures: [{ kind: "internal", message: error instanceof Error ? error.message : String(error) }],
  };
}

/** The outcome with what happened to the process itself. */
function whole(outcome: RunOutcome, host: Host, console: Console): RunOutcome {
  const cause = host.cause();
  const outputError = console.outputError();
  return {
    ...outcome,
    ...(cause?.kind === "signal" ? { signal: cause.signal } : {}),
    ...(cause?.kind === "readerGone" ? { readerGone: true } : {}),
    failures:
      outputError === undefined
        ? outcome.failures
        : [...outcome.failures, { kind: "output", message: outputError }],
  };
}

/** Says on stderr what the status alone does not. */
function report(
  { failures, terminal, limit, gateNotPassed, signal, readerGone }: RunOutcome,
  stderr: Stderr,
): void {
  if (readerGone === true) return;
  for (const { kind, message } of failures) if (kind !== "internal") stderr.diagnostic(message);
  if (signal !== undefined) stderr.diagnostic(`ended by ${signal}`);
  else if (terminal?.stopReason === "error" || terminal?.stopReason === "aborted")
    stderr.diagnostic(terminal.errorMessage ?? "the model's reply ended in an error");
  else if (terminal?.stopReason === "length")
    stderr.diagnostic("the answer reached the model's output limit and may be incomplete");
  if (gateNotPassed !== undefined) stderr.diagnostic(gateNotPassed);
  if (limit !== undefined) stderr.diagnostic(`stopped: ${limit.message}`);
}
