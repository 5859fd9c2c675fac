import { chmodSync, renameSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { basename, dirname, join } from "node:path";
import { isJsonObject } from "../contract/json.ts";
import type { Sink } from "../contract/sink.ts";
import { maxCommandBytes, type RpcResponse } from "./protocol.ts";
import { type CommandLine, readCommandLines } from "./rpc/lines.ts";
import type { RpcHandler } from "./rpc/rpc.ts";

export type ControlServerOptions = {
  /** The path of the Unix socket, in a folder that is the user's alone. */
  readonly socket: string;
  /** Answers one client; what that takes may be loaded with the first. */
  readonly connect: (send: (response: RpcResponse) => void) => Promise<RpcHandler>;
  /**
   * Makes what a client that attaches sees: a sink that writes there, and has told the header and what is said at this
   * moment.
   */
  readonly watch: (write: (text: string) => void) => Pick<Sink, "header" | "emit">;
};

/** What other programs reach a run by. It never keeps the process alive. */
export type ControlServer = {
  /** Calls what is to be done for each client that watches. */
  tell(step: (sink: Pick<Sink, "header" | "emit">) => void): void;
  /**
   * Takes no further commands and says goodbye to the clients. Those that are behind in their reading keep the process
   * alive until they have caught up. The socket stays where it is, which may be another folder by now.
   */
  close(): void;
};

/** More than this waiting for a client who does not read, and the client is dropped. */
const maxWaitingBytes = 16 * 1024 * 1024;
const maxClients = 256;

type Client = {
  readonly socket: Socket;
  watching: Pick<Sink, "header" | "emit"> | undefined;
};

/** Listens. Rejects with the system's error. */
export async function openControlServer(options: ControlServerOptions): Promise<ControlServer> {
  const clients = new Set<Client>();
  let isClosed = false;
  // What a client asked for before it ended its side is still answered.
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    const client: Client = { socket, watching: undefined };
    clients.add(client);
    socket.unref();
    socket.on("error", () => socket.destroy());
    socket.on("close", () => clients.delete(client));
    void serve(client, { ...options, isClosed: () => isClosed });
  });
  server.maxConnections = maxClients;
  server.unref();
  await listen(server, options.socket);
  // A connection that cannot be taken (too many open files) is that client's loss.
  server.on("error", () => undefined);
  return {
    tell(step) {
      for (const { watching } of clients) if (watching !== undefined) step(watching);
    },
    close() {
      isClosed = true;
      server.close();
      for (const { socket } of clients) {
        socket.end();
        if (socket.writableLength > 0) socket.ref();
        socket.once("finish", () => socket.destroy());
      }
    },
  };
}

/** The socket gets its name when it takes clients, its user's alone: until then it has another, which is no longer. */
async function listen(server: Server, path: string): Promise<void> {
  const early = join(dirname(path), `.${basename(path, ".sock")}`);
  rmSync(early, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(early, resolve);
  });
  chmodSync(early, 0o600);
  renameSync(early, path);
}

type ServeOptions = Pick<ControlServerOptions, "connect" | "watch"> & { readonly isClosed: () => boolean };

async function serve(client: Client, { connect, watch, isClosed }: ServeOptions): Promise<void> {
  const { socket } = client;
  const write = (text: string) => {
    if (socket.writableLength > maxWaitingBytes) socket.destroy();
    else if (socket.writable) socket.write(text);
  };
  const send = (response: object) => write(`${JSON.stringify(response)}\n`);
  try {
    const handler = await connect(send);
    const incoming = socket.iterator({ destroyOnReturn: false });
    for await (const line of readCommandLines(incoming, maxCommandBytes)) {
      if (isClosed()) return;
      const attach = toAttach(line);
      if (line.kind !== "line") handler.refuse(line.kind);
      else if (attach === undefined) await handler.handle(line.text);
      else {
        send({ type: "response", command: "attach", ...attach, success: true });
        client.watching ??= watch(write);
      }
      await drained(socket);
    }
    // Who ends the own side gets the answers that are due; it is also how a client that is gone looks.
    await handler.idle();
    socket.end();
  } catch {
    // The connection broke: the run goes on without this client.
    socket.destroy();
  }
}

/** What an `attach` is answered with; undefined for any other line. */
function toAttach(line: CommandLine): { readonly id?: string | number } | undefined {
  if (line.kind !== "line" || !line.text.includes('"attach"')) return undefined;
  try {
    const value: unknown = JSON.parse(line.text);
    if (!isJsonObject(value) || value.type !== "attach") return undefined;
    return typeof value.id === "string" || typeof value.id === "number" ? { id: value.id } : {};
  } catch {
    return undefined;
  }
}

/** Resolves when a client who asks has read the answers. */
function drained(socket: Socket): Promise<void> {
  if (!socket.writableNeedDrain || socket.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    socket.once("drain", resolve);
    socket.once("close", () => resolve());
  });
}
