import type { DeltaStreamLine } from "../../contract/deltas.ts";
import type { StreamLine } from "../../contract/events.ts";
import type { JsonObject } from "../../contract/json.ts";
import type { AgentMessage } from "../../contract/messages.ts";
import {
  type EventSource,
  isDeltaStreamLine,
  isStreamLine,
  parseLine,
  splitLines,
} from "../../contract/read-events.ts";
import { createLineQueue } from "../line-queue.ts";
import type { RpcCommandName, RpcCommands, RpcResults } from "../protocol.ts";

/** What a client talks over: any duplex stream, or the two pipes of a child process put together. */
export type RpcConnection = EventSource & {
  write(text: string): unknown;
  end(): unknown;
};

/** A conversation with a program in `--mode rpc`, or with a run over its control socket. */
export type RpcClient<Line = StreamLine> = {
  /**
   * Sends a command and gives the data of its response. Rejects with an RpcError when the command is refused, or the
   * connection ends before it is answered.
   */
  send<Command extends RpcCommands[RpcCommandName]>(command: Command): Promise<RpcResults[Command["type"]]>;
  /** Runs a prompt to its end and gives the messages that it added. Rejects as `send` does. */
  prompt(message: string, options?: Pick<RpcCommands["prompt"], "images">): Promise<readonly AgentMessage[]>;
  /**
   * The session headers and events that come from the call on, until the connection ends. What is not taken is kept in
   * memory until the iterator is left. Throws an RpcError when a line is neither an event nor a response.
   */
  events(): AsyncIterableIterator<Line>;
  /** On a control socket: has the events sent, as those of `--json-deltas`. */
  attach(): Promise<void>;
  /** Ends the input: the program ends what runs, and exits. */
  end(): void;
  /** Resolves when the connection has ended. */
  readonly closed: Promise<void>;
};

/** A command that failed. `refused`: the program says why; `closed`: it went away; `protocol`: it said something else. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly kind: "refused" | "closed" | "protocol";
  /** The command's name, where there was one. */
  readonly command: string | undefined;

  constructor(kind: RpcError["kind"], message: string, command?: string) {
    super(message);
    this.kind = kind;
    this.command = command;
  }
}

/** Makes a client. `deltas`: the events are those of `--json-deltas`, as on a control socket. */
export function createRpcClient(connection: RpcConnection): RpcClient;
export function createRpcClient(
  connection: RpcConnection,
  options: { readonly deltas: true },
): RpcClient<DeltaStreamLine>;
export function createRpcClient(
  connection: RpcConnection,
  { deltas = false }: { readonly deltas?: boolean } = {},
): RpcClient<StreamLine | DeltaStreamLine> {
  const isLine = deltas ? isDeltaStreamLine : isStreamLine;
  const waiting = new Map<number, Waiting>();
  const queues = new Set<ReturnType<typeof createLineQueue<StreamLine | DeltaStreamLine>>>();
  let failure: RpcError | undefined;
  let lastId = 0;

  async function read(): Promise<void> {
    let number = 0;
    try {
      for await (const text of splitLines(connection)) take(text, ++number);
      finish(new RpcError("closed", "the connection has ended"));
    } catch (error) {
      const words = error instanceof Error ? error.message : String(error);
      finish(error instanceof RpcError ? error : new RpcError("closed", `the connection broke: ${words}`));
    }
  }

  function take(text: string, number: number): void {
    const line = parsed(text, number);
    if (line.type === "response") settle(line);
    else if (isLine(line)) for (const queue of queues) queue.push(line);
    else throw new RpcError("protocol", `line ${number} is neither an event nor a response`);
  }

  function settle({ id, success, data, error }: JsonObject): void {
    const waiter = typeof id === "number" ? waiting.get(id) : undefined;
    if (typeof id !== "number" || waiter === undefined) return;
    waiting.delete(id);
    waiter.onAnswer();
    if (success === true) waiter.resolve(data);
    else waiter.reject(new RpcError("refused", String(error), waiter.command));
  }

  function finish(error: RpcError): void {
    failure = error;
    for (const { command, reject } of waiting.values())
      reject(new RpcError(error.kind, error.message, command));
    waiting.clear();
    for (const queue of queues) queue.end(error.kind === "protocol" ? error : undefined);
  }

  /** `onAnswer` is called before anything that follows the response is looked at. */
  function request(command: SentCommand, onAnswer = () => {}): Promise<unknown> {
    if (failure !== undefined)
      return Promise.reject(new RpcError(failure.kind, failure.message, command.type));
    const id = ++lastId;
    return new Promise((resolve, reject) => {
      waiting.set(id, { command: command.type, onAnswer, resolve, reject });
      connection.write(`${JSON.stringify({ ...command, id })}\n`);
    });
  }

  function events(): AsyncIterableIterator<StreamLine | DeltaStreamLine> {
    const queue = createLineQueue<StreamLine | DeltaStreamLine>(() => queues.delete(queue));
    queues.add(queue);
    if (failure !== undefined) queue.end(undefined);
    return queue.lines;
  }

  async function prompt(message: string, options: Pick<RpcCommands["prompt"], "images"> = {}) {
    let told: AsyncIterableIterator<StreamLine | DeltaStreamLine> | undefined;
    try {
      // The end of an earlier prompt may come before the response, but not behind it.
      const data = await request({ type: "prompt", message, ...options }, () => {
        told = events();
      });
      if (isSessionCommand(data)) return [];
      for await (const line of told ?? []) if (line.type === "agent_end") return line.messages;
      throw new RpcError("closed", "the connection ended before the prompt did", "prompt");
    } finally {
      await told?.return?.();
    }
  }

  return {
    // What the program answers to a command is what the protocol says.
    send: (command) => request(command) as Promise<RpcResults[(typeof command)["type"]]>,
    prompt,
    events,
    async attach() {
      await request({ type: "attach" });
    },
    end: () => void connection.end(),
    closed: read(),
  };
}

/** `attach` is known on control sockets only. */
type SentCommand = RpcCommands[RpcCommandName] | { readonly type: "attach" };

type Waiting = {
  readonly command: string;
  readonly onAnswer: () => void;
  readonly resolve: (data: unknown) => void;
  readonly reject: (error: RpcError) => void;
};

function isSessionCommand(data: unknown): boolean {
  return typeof data === "object" && data !== null && "sessionCommand" in data;
}

function parsed(text: string, number: number): JsonObject {
  try {
    return parseLine(text, number);
  } catch (error) {
    throw new RpcError("protocol", error instanceof Error ? error.message : String(error));
  }
}

export type SpawnRpcOptions = {
  /** Options of the command line, besides `--mode rpc`. */
  readonly args?: readonly string[];
  readonly cwd?: string;
  /** The whole environment; absent: this process's own. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Where the program's diagnostics go: to this process's stderr (default), or nowhere. */
  readonly stderr?: "inherit" | "ignore";
  /** The program's script; by default the one of this package. */
  readonly script?: string;
};

export type SpawnedRpcClient = RpcClient & {
  /** Resolves when the program has ended, with its exit status or the signal that ended it. */
  readonly exited: Promise<{ readonly status: number | null; readonly signal: string | null }>;
  /** Ends the program by a signal, SIGTERM when none is named: it ends in order. */
  kill(signal?: "SIGTERM" | "SIGINT" | "SIGHUP" | "SIGKILL"): void;
};

/** Starts the program in `--mode rpc`. Rejects with the system's error when it cannot be started. */
export async function spawnRpcClient(options: SpawnRpcOptions = {}): Promise<SpawnedRpcClient> {
  const [{ spawn }, { fileURLToPath }] = await Promise.all([
    import("node:child_process"),
    import("node:url"),
  ]);
  const script = options.script ?? fileURLToPath(new URL("./cli.js", import.meta.url));
  const child = spawn(process.execPath, [script, "--mode", "rpc", ...(options.args ?? [])], {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.env === undefined ? {} : { env: options.env }),
    stdio: ["pipe", "pipe", options.stderr ?? "inherit"],
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", reject);
  });
  const { stdin, stdout } = child;
  // A program that is gone tells so by the end of its output.
  stdin.on("error", () => undefined);
  const exited = new Promise<{ status: number | null; signal: string | null }>((resolve) => {
    child.once("exit", (status, signal) => resolve({ status, signal }));
  });
  const client = createRpcClient({
    [Symbol.asyncIterator]: () => stdout[Symbol.asyncIterator](),
    write: (text) => stdin.write(text),
    end: () => stdin.end(),
  });
  return { ...client, exited, kill: (signal = "SIGTERM") => void child.kill(signal) };
}
