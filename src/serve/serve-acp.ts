import { homeFolder, homePaths } from "../config/paths.ts";
import { errorMessage } from "../contract/errors.ts";
import type { RunFailure, RunOutcome } from "../contract/outcome.ts";
import { redactValue } from "../contract/redact.ts";
import type { Sink } from "../contract/sink.ts";
import type { Invocation } from "../flags/flags.ts";
import type { Host } from "../host.ts";
import type { Console } from "../main.ts";
import { serveAcp as serve } from "../runs/acp/acp.ts";
import type { AcpOutlet, AcpSession, AcpTarget } from "../runs/acp/sessions.ts";
import { contextMessages, toAgentMessages } from "../session/context/context.ts";
import { listSessions } from "../session/store/session-index.ts";
import { branchEntries, readSessionFile } from "../session/store/session-read.ts";
import { noPrompts, type Run, startRun } from "../start/start-run.ts";
import { version } from "../version.ts";

type RunInvocation = Extract<Invocation, { kind: "run" }>;

/** Serves an editor on stdin and stdout until stdin ends or a signal comes. */
export async function serveAcp(invocation: RunInvocation, host: Host, console: Console): Promise<RunOutcome> {
  noPrompts(invocation);
  const { stdout, stderr, redaction } = console;
  const failures: RunFailure[] = [];
  const warn = (line: string) => stderr.diagnostic(line);
  const { sessionDir = homePaths(homeFolder(host.env)).sessions } = invocation.flags;

  async function open({ cwd, sessionId }: AcpTarget, outlet: AcpOutlet): Promise<AcpSession> {
    const flags = { ...invocation.flags, cwd, ...(sessionId === undefined ? {} : { resume: sessionId }) };
    const run = await startRun({ ...invocation, flags }, host, console, toSink(outlet));
    return {
      conversation: run.conversation,
      history: () => history(run, warn),
      async close() {
        const { failures: unsaved } = run.conversation.outcome();
        failures.push(...unsaved.filter(({ kind }) => kind === "persistence"));
        await run.close().catch((error: unknown) => {
          failures.push({ kind: "persistence", message: errorMessage(error) });
        });
      },
    };
  }

  // The protocol's library says there what it makes of messages that it cannot use.
  globalThis.console.error = (...parts: unknown[]) => warn(parts.map(toWords).join(" "));
  const input = host.stdin.stream();
  const leave = () => input.destroy();
  host.signal.addEventListener("abort", leave, { once: true });
  if (host.signal.aborted) leave();
  await serve({
    input,
    output: new WritableStream({ write: (bytes: Uint8Array) => stdout.writeParts([bytes]) }),
    version,
    open,
    list: () =>
      listSessions(sessionDir).map(({ id, cwd, name, firstMessage, modifiedMs }) => ({
        sessionId: id,
        cwd,
        title: name ?? firstMessage ?? null,
        updatedAt: new Date(modifiedMs).toISOString(),
      })),
    ready: () => stdout.ready(),
    clean: (value) => redactValue(value, redaction.redact),
    warn,
  });
  host.signal.removeEventListener("abort", leave);
  return { failures, finalText: "" };
}

/** The header is nothing to an editor, which knows the session's id from the answer to its request. */
function toSink({ emit, ready }: AcpOutlet): Sink {
  return { header: () => undefined, emit, ready, close: async () => undefined };
}

function toWords(part: unknown): string {
  if (typeof part === "string") return part;
  return part instanceof Error ? part.message : JSON.stringify(part);
}

function history({ conversation }: Run, warn: (line: string) => void) {
  const { store } = conversation.current().session;
  if (store.path === undefined) return contextMessages(store.branch());
  return readSessionFile(store.path, warn, (reading) => [...branchEntries(reading)].flatMap(toAgentMessages));
}
