import { errorMessage } from "../../contract/errors.ts";
import type { AgentSessionEvent } from "../../contract/events.ts";
import type { RpcCommand, RpcCommandName, RpcResponse, RpcResults } from "../protocol.ts";
import { type Afterwards, createActions, type RpcOptions } from "./actions.ts";
import { parseCommand, refuse } from "./command.ts";

/** The commands of one run. */
export type RpcService = {
  /** Starts a conversation with one client; `send` takes each response, in the order of the lines. */
  connect(send: (response: RpcResponse) => void): RpcHandler;
  /** To be called with each event of the session. */
  observe(event: AgentSessionEvent): void;
  /** Ends what clients run beside the conversation, who can begin nothing any more. Resolves when they are answered. */
  end(): Promise<void>;
};

/**
 * Answers one client, on stdio or on a socket. The binding supplies the rest:
 *
 * - it splits the input with `readCommandLines` and gives each line to `handle` or `refuse`, awaiting the former;
 * - it sends header, events and responses over the same writer in the order in which they come, and waits for that
 *   writer before it reads the next command, so that a client that does not read cannot fill the memory;
 * - at the end of the input it awaits `idle`, when what the client began is to be ended.
 */
export type RpcHandler = {
  /** Takes one command. Resolves when the next one may come: what takes long goes on meanwhile. Never rejects. */
  handle(line: string): Promise<void>;
  /** Answers a line that could not be read. */
  refuse(kind: "too_long" | "not_utf8"): void;
  /** Resolves when all that this client began has ended and is answered. */
  idle(): Promise<void>;
};

/** Makes the commands of a run. */
export function createRpcService(options: RpcOptions): RpcService {
  const actions = createActions(options);
  const going = new Set<Promise<unknown>>();
  return {
    connect: (send) => createHandler(actions, send, going),
    observe: actions.observe,
    async end() {
      actions.end();
      await Promise.all(going);
    },
  };
}

/** These go on while further commands come. */
const background: ReadonlySet<RpcCommandName> = new Set(["prompt", "compact", "bash"]);

type Perform = (command: RpcCommand, afterwards: Afterwards) => unknown;

/** `all` is what goes on for any client. */
function createHandler(
  { perform }: { perform: Perform },
  send: (response: RpcResponse) => void,
  all: Set<Promise<unknown>>,
): RpcHandler {
  const going = new Set<Promise<unknown>>();

  function track(work: Promise<unknown>): void {
    const tracked = work
      .catch(() => undefined)
      .finally(() => {
        going.delete(tracked);
        all.delete(tracked);
      });
    going.add(tracked);
    all.add(tracked);
  }

  async function respond(command: RpcCommand): Promise<void> {
    const about = {
      type: "response" as const,
      command: command.type,
      ...(command.id === undefined ? {} : { id: command.id }),
    };
    const steps: (() => Promise<unknown>)[] = [];
    try {
      const result = perform(command, (step) => steps.push(step));
      const data = (result instanceof Promise ? await result : result) as RpcResults[RpcCommandName];
      send({ ...about, success: true, ...(data === undefined ? {} : { data }) });
    } catch (error) {
      send({ ...about, success: false, error: errorMessage(error) });
    }
    for (const step of steps) track(step());
  }

  return {
    async handle(line) {
      const parsed = parseCommand(line);
      if (!parsed.ok) return send(parsed.failure);
      const responding = respond(parsed.command);
      if (background.has(parsed.command.type)) track(responding);
      else await responding;
    },
    refuse(kind) {
      send(refuse(unreadable[kind]).failure);
    },
    async idle() {
      while (going.size > 0) await Promise.all(going);
    },
  };
}

const unreadable = {
  too_long: "the line is longer than 64 MB and was skipped; send less at once",
  not_utf8: "the line is not UTF-8 and was skipped",
};
