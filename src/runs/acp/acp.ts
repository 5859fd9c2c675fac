import * as acp from "@agentclientprotocol/sdk";
import { type AcpSessionsOptions, createAcpSessions } from "./sessions.ts";
import { withoutLists } from "./stream.ts";

export type AcpOptions = AcpSessionsOptions & {
  readonly input: AsyncIterable<Uint8Array | string>;
  readonly output: WritableStream<Uint8Array>;
  readonly version: string;
  /** The saved sessions, the latest used first. */
  readonly list: () => readonly acp.SessionInfo[];
};

/** Serves one editor with the Agent Client Protocol; resolves when its input has ended and all requests are answered. */
export async function serveAcp(options: AcpOptions): Promise<void> {
  const sessions = createAcpSessions(options);
  const requests = createRequestCount();
  const counted =
    <Params, Response>(
      handler: acp.AgentRequestHandler<Params, Response>,
    ): acp.AgentRequestHandler<Params, Response> =>
    (context) =>
      requests.during(() => handler(context));
  const connection = acp
    .agent({ name: "base-context" })
    .onRequest("initialize", () => initialize(options.version))
    .onRequest(
      "session/new",
      counted(({ params, client }) => sessions.begin(params, client)),
    )
    .onRequest(
      "session/load",
      counted(({ params, client }) => sessions.goOn(params, client, { replay: true })),
    )
    .onRequest(
      "session/resume",
      counted(({ params, client }) => sessions.goOn(params, client, { replay: false })),
    )
    .onRequest("session/list", ({ params }) => ({
      sessions: options
        .list()
        .filter(({ cwd }) => params.cwd === undefined || params.cwd === null || params.cwd === cwd),
    }))
    .onRequest(
      "session/close",
      counted(({ params }) => sessions.close(params.sessionId)),
    )
    .onRequest(
      "session/set_config_option",
      counted(({ params }) => sessions.configure(params)),
    )
    .onRequest(
      "session/prompt",
      counted(({ params, signal }) => sessions.prompt(params, signal)),
    )
    .onNotification("session/cancel", ({ params }) => sessions.cancel(params.sessionId))
    .connect(
      withoutLists(
        acp.ndJsonStream(options.output, endingAfter(options.input, requests.idle), { maxMessageBytes }),
      ),
    );
  await connection.closed;
  await sessions.closeAll();
}

/** There is one version, which is told to an editor of any other: it decides whether it can go on. */
function initialize(version: string): acp.InitializeResponse {
  return {
    protocolVersion: acp.PROTOCOL_VERSION,
    agentInfo: { name: "base-context", title: "base-context", version },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, audio: false, embeddedContext: true },
      mcpCapabilities: { http: false, sse: false },
      sessionCapabilities: { list: {}, resume: {}, close: {} },
    },
    authMethods: [],
  };
}

const maxMessageBytes = 64 * 1024 * 1024;

/** Knows when no request is being answered. */
function createRequestCount() {
  const running = new Set<Promise<unknown>>();
  return {
    async during<T>(answer: () => acp.MaybePromise<T>): Promise<T> {
      const answering = Promise.resolve().then(answer);
      running.add(answering);
      try {
        return await answering;
      } finally {
        running.delete(answering);
      }
    },
    async idle(): Promise<void> {
      do {
        await Promise.allSettled(running);
        // What was read before is taken up, and what was answered is written, in the turns of the event loop that follow.
        await nextTurn();
        await nextTurn();
      } while (running.size > 0);
    },
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The same input, whose end is told only when nothing waits for its answer. */
function endingAfter(
  input: AsyncIterable<Uint8Array | string>,
  idle: () => Promise<void>,
): ReadableStream<Uint8Array> {
  const chunks = input[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      // An input that breaks has ended, too.
      const next = await chunks.next().catch(() => ({ value: undefined, done: true }) as const);
      if (next.done !== true) {
        controller.enqueue(typeof next.value === "string" ? Buffer.from(next.value) : next.value);
        return;
      }
      await idle();
      controller.close();
    },
  });
}
