import { createConnection, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { StartupError } from "../contract/errors.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { monotonicMs } from "../contract/monotonic.ts";
import { errorCode } from "../session/store/private-files.ts";
import { toLines } from "./follow-log.ts";
import type { RpcCommand } from "./protocol.ts";
import { isProcessAlive, type RunEntry } from "./registry.ts";

/** A conversation with a run over its socket. */
export type RunConnection = {
  /**
   * Sends a command and gives what its response holds, by default within the time for a connection. Rejects with a StartupError when the run refuses it or goes away.
   */
  request(command: RpcCommand | { readonly type: "attach" }, timeoutMs?: number): Promise<JsonObject>;
  /** What the run sends from here on, line by line, until it ends. */
  lines(): AsyncGenerator<string, void, undefined>;
  close(): void;
};

export type ConnectOptions = {
  readonly signal: AbortSignal;
  /** How long to wait for the run to take the connection, and for each response. */
  readonly timeoutMs?: number;
};

/** A run that has just started may not listen yet. */
const retryMs = 25;

/** Connects to a run. Rejects with a StartupError when it cannot be reached. */
export async function connectRun(
  { record }: RunEntry,
  { signal, timeoutMs = 5000 }: ConnectOptions,
): Promise<RunConnection> {
  const deadline = monotonicMs() + timeoutMs;
  for (;;) {
    signal.throwIfAborted();
    try {
      return toConnection(await open(record.socket), { id: record.id, timeoutMs });
    } catch (error) {
      const mayListenYet = ["ENOENT", "ECONNREFUSED", "EAGAIN"].includes(errorCode(error) ?? "");
      if (!isProcessAlive(record)) throw hasEnded(record.id);
      if (!mayListenYet || monotonicMs() > deadline) {
        const why = errorCode(error) ?? String(error);
        throw new StartupError(
          `the run ${record.id} cannot be reached (${why}); base-context stop ${record.id} ends it`,
        );
      }
    }
    await sleep(retryMs, undefined, { signal });
  }
}

/** Says that a run is over. */
export function hasEnded(id: string): StartupError {
  return new StartupError(
    `the run ${id} has ended; base-context --resume ${id} "..." goes on with its session`,
  );
}

function open(path: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = createConnection(path);
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      // What comes of it is seen at the next read or write.
      socket.on("error", () => undefined);
      resolve(socket);
    });
  });
}

function toConnection(socket: Socket, { id, timeoutMs }: { id: string; timeoutMs: number }): RunConnection {
  const incoming = toLines(socket);

  async function nextLine(withinMs: number): Promise<string> {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      socket.destroy();
    }, withinMs);
    try {
      const { value, done } = await incoming.next();
      if (done !== true) return value;
    } catch {
      // A connection that breaks is one that has ended.
    } finally {
      clearTimeout(timer);
    }
    if (isLate) throw new StartupError(`the run ${id} did not answer within ${withinMs} ms; try again`);
    throw hasEnded(id);
  }

  return {
    async request(command, withinMs = timeoutMs) {
      socket.write(`${JSON.stringify(command)}\n`);
      return responseData(await nextLine(withinMs));
    },
    async *lines() {
      try {
        yield* incoming;
      } catch {
        // As above.
      }
    },
    close: () => socket.destroy(),
  };
}

/** What a response holds. Throws a StartupError for one that refuses. */
function responseData(line: string): JsonObject {
  const response: unknown = JSON.parse(line);
  if (!isJsonObject(response)) throw new StartupError(`the run answered what is no response: ${line}`);
  if (response.success !== true) throw new StartupError(String(response.error));
  return isJsonObject(response.data) ? response.data : {};
}
