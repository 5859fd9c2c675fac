import { errorMessage } from "../contract/errors.ts";
import type { AgentSessionEvent } from "../contract/events.ts";
import type { AssistantMessage } from "../contract/messages.ts";
import type { RunOutcome } from "../contract/outcome.ts";
import { redactValue } from "../contract/redact.ts";
import type { Sink } from "../contract/sink.ts";
import type { Host } from "../host.ts";
import type { Console } from "../main.ts";
import type { ControlServer } from "../runs/control-server.ts";
import type { RpcResponse } from "../runs/protocol.ts";
import type { Registration } from "../runs/registration.ts";
import type { RpcHandler } from "../runs/rpc/rpc.ts";
import type { RunRecord, RunResult } from "../runs/run-folder.ts";
import { createDeltaSink } from "../sinks/deltas.ts";
import type { Run } from "../start/start-run.ts";

export type PresenceOptions = {
  readonly run: Run;
  readonly host: Host;
  readonly console: Console;
};

/** A run that other programs can find. */
export type PresentRun = { readonly run: Run; readonly presence: Presence };

/** What other programs see of this run. Nothing here ever fails the run, or keeps the process alive. */
export type Presence = {
  /** The run's folder; undefined when it could not be made, so that the run cannot be found. */
  readonly folder: string | undefined;
  /** Takes commands of clients. Resolves when the socket is open, or cannot be. */
  open(): Promise<void>;
  /** As `open`, but not before the run had time to send its first request. */
  openSoon(): void;
  /** Takes no further commands and lets the clients go. */
  close(): void;
};

/** Makes a run one that other programs can find, from now to the end of the process. */
export function createPresence(options: PresenceOptions): Presence {
  const { registration } = options.run;
  return registration === undefined ? absent : createRegistered(registration, options);
}

function createRegistered(registration: Registration, options: PresenceOptions): Presence {
  const { run, host, console } = options;
  const { redact } = console.redaction;
  const current = () => run.conversation.current();
  let shown = current();
  let growing: AssistantMessage | undefined;
  let server: ControlServer | undefined;
  let isClosed = false;
  host.onExit((status) => registration.finish(toResult(status, options)));
  run.listen(hear);
  run.conversation.onChange(catchUp);

  function hear(event: AgentSessionEvent): void {
    growing = growingAfter(event, growing);
    if (event.type === "session_action_update" || event.type === "agent_start") catchUp();
    server?.tell((sink) => sink.emit(event));
  }

  function catchUp(): void {
    registration.update(describe(options));
    if (shown === current()) return;
    shown = current();
    server?.tell((sink) => sink.header(headerOf(run)));
  }

  function watch(write: (text: string) => void): Pick<Sink, "header" | "emit"> {
    const sink = createDeltaSink({ writer: toWriter(write), redact });
    sink.header(headerOf(run));
    // Who comes in the middle of a message gets what there is of it.
    if (growing !== undefined) sink.emit({ type: "message_start", message: growing });
    return sink;
  }

  async function listen(): Promise<void> {
    const { openControlServer } = await import("../runs/control-server.ts");
    const connect = async (send: (response: RpcResponse) => void): Promise<RpcHandler> =>
      (await run.service()).connect((response) => send(redactValue(response, redact)));
    const opened = await openControlServer({ socket: registration.record().socket, connect, watch });
    if (isClosed) opened.close();
    else server = opened;
  }

  async function open(): Promise<void> {
    if (isClosed) return;
    try {
      await listen();
      const { tidyUp } = await import("../runs/tidy-up.ts");
      tidyUp(registration);
    } catch (error) {
      console.stderr.detail(`no other program can talk to this run (${errorMessage(error)})`);
    }
  }

  return {
    folder: registration.folder(),
    open,
    openSoon: () => void setTimeout(open, quietMs).unref(),
    close() {
      isClosed = true;
      server?.close();
      server = undefined;
    },
  };
}

/** How long a start is left alone, in milliseconds. */
const quietMs = 100;

/** Of a run that could not be registered. */
const absent: Presence = {
  folder: undefined,
  open: async () => undefined,
  openSoon: () => undefined,
  close: () => undefined,
};

type Description = Pick<RunRecord, "id" | "name" | "cwd" | "provider" | "model">;

function describe({ run, console }: PresenceOptions): Description {
  const { session, cwd } = run.conversation.current();
  const { model } = session.choice();
  const description = {
    cwd,
    provider: model.provider,
    model: model.id,
    // A session without one takes the place of one with a name, too.
    name: session.store.settings().name,
  };
  return { id: session.store.header.id, ...redactValue(description, console.redaction.redact) };
}

function headerOf({ conversation }: Run) {
  const { session, cwd } = conversation.current();
  return { ...session.store.header, cwd };
}

function growingAfter(
  event: AgentSessionEvent,
  before: AssistantMessage | undefined,
): AssistantMessage | undefined {
  if (event.type === "message_update") return event.message;
  if (event.type === "message_end") return undefined;
  return event.type === "message_start" && event.message.role === "assistant" ? event.message : before;
}

function toResult(status: number, { run, host, console }: PresenceOptions): Omit<RunResult, "process"> {
  const outcome = run.conversation.outcome();
  const why = status === 0 ? undefined : reason(outcome, { host, console });
  const { stopReason } = outcome.terminal ?? {};
  return {
    status,
    exitedAt: new Date().toISOString(),
    usage: run.conversation.current().session.ledger.total(),
    ...(stopReason === undefined ? {} : { stopReason }),
    ...(why === undefined ? {} : { why: console.redaction.redact(why) }),
  };
}

/** Why a run did not end well, by the order of the exit statuses. */
function reason(
  { failures, terminal, gateNotPassed, limit }: RunOutcome,
  { host, console }: Pick<PresenceOptions, "host" | "console">,
): string | undefined {
  const cause = host.cause();
  if (cause?.kind === "signal") return `ended by ${cause.signal}`;
  if (cause?.kind === "readerGone") return "the reader of its output went away";
  const failure = failures[0] ?? console.failures[0];
  return failure?.message ?? terminal?.errorMessage ?? gateNotPassed ?? limit?.message;
}

/** Writes at once: a client's socket has a queue of its own. */
function toWriter(write: (text: string) => void) {
  return {
    write,
    writeParts: (parts: readonly (string | Uint8Array)[]) => {
      for (const part of parts) write(typeof part === "string" ? part : Buffer.from(part).toString("utf8"));
    },
    flush: () => undefined,
    ready: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}
