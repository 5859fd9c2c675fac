import type { NewEntry } from "../contract/entries.ts";
import { errorMessage } from "../contract/errors.ts";
import type { ImageContent, UserMessage } from "../contract/messages.ts";
import type { RunFailure, RunOutcome } from "../contract/outcome.ts";
import type { AgentSession } from "../session/agent-session.ts";
import type { LeftBranch } from "../session/compaction/branch-summary.ts";
import type { SessionCommand } from "../session/slash-commands.ts";
import type { RpcCommandInfo } from "./protocol.ts";

/** What is asked of a session: the model's work, a command, or the summary of a branch that is left. */
export type RunPrompt =
  | { readonly kind: "message"; readonly message: UserMessage }
  | {
      readonly kind: "branch_summary";
      readonly left: LeftBranch;
      /** Kept on the branch that goes on, once it does. */
      readonly choice: readonly NewEntry[];
    }
  | ({ readonly kind: "command" } & SessionCommand);

/** What a message of a client asks for. */
export type ClientPrompt = Exclude<RunPrompt, { kind: "branch_summary" }>;

/** A session with what belongs to it. */
export type OpenedSession = {
  readonly session: AgentSession;
  /** Absolute; where the tools work. */
  readonly cwd: string;
  /** Reads a message of the user: a template, a skill or a session command when it starts with a slash and is not literal. */
  toPrompt(text: string, images: readonly ImageContent[], literal?: boolean): ClientPrompt;
  /** What such a message may start with. */
  commands(): Promise<readonly RpcCommandInfo[]>;
  /** Tells the session's header; called once, before any event of the session. */
  begin(): void;
  /** Ends the tools' processes and closes the file. Throws a PersistenceError. */
  close(): Promise<void>;
};

/** What is at work: at most one of these at a time. */
export type WorkKind = "prompt" | "command" | "compaction" | "switch";

/** What a prompt came to. */
export type PromptResult = {
  /** Whether all of it ended well, so that a next one makes sense. */
  readonly endedWell: boolean;
  /** As it was when the prompt ended: other work may have begun when this is looked at. */
  readonly outcome: RunOutcome;
};

/** Work was asked for while other work is done, or when the run is about to end. */
export class BusyError extends Error {
  override readonly name = "BusyError";
}

/** The one place that work on a run's session goes through, whoever asks for it: the program itself or its clients. */
export type Conversation = {
  /** The session of now; `replace` changes it. */
  current(): OpenedSession;
  active(): WorkKind | undefined;
  /**
   * Runs a prompt to its end, and then what was queued too late for it. Its first event is told before this returns.
   * Throws (rejects with) a BusyError.
   */
  run(prompt: RunPrompt): Promise<PromptResult>;
  /** Does other work on the session; `label` is told in `session_action_update`. Rejects with a BusyError. */
  during<T>(kind: "command" | "compaction", label: string, work: Work<T>): Promise<T>;
  /** Ends what is at work and takes all that is queued. Resolves when it has ended. */
  abort(): Promise<{ readonly aborted: boolean; readonly dropped: readonly string[] }>;
  /** Puts another session in this one's place. When `open` rejects, this one goes on. */
  replace(open: () => Promise<OpenedSession>): Promise<void>;
  /** Names one who is told when the session is another one, or goes by another name or model. */
  onChange(hear: () => void): void;
  /** Tells those: to be called by who has changed the name or the model. */
  changed(): void;
  /** Resolves when nothing is at work. */
  idle(): Promise<void>;
  /**
   * What the exit status depends on: the outcome of the last prompt, also when another session has taken the place of its
   * one, and earlier sessions that could not be written.
   */
  outcome(): RunOutcome;
  /** Ends the tools and closes the session. No work can be started any more. */
  close(): Promise<void>;
};

type Work<T> = (signal: AbortSignal) => Promise<T>;

export type ConversationOptions = {
  readonly opened: OpenedSession;
  /** Aborted when the run is to end early. */
  readonly signal: AbortSignal;
  /** Prompts come one by one from a client: the outcome is that of the last one. */
  readonly isServed: boolean;
};

/** In words, for who is told to wait. */
export const busyWith: Readonly<Record<WorkKind, string>> = {
  prompt: "a prompt is running",
  command: "a session command is running",
  compaction: "a compaction is running",
  switch: "another session is being opened",
};

/** Makes the conversation of a run, on the session that it starts with. */
export function createConversation(options: ConversationOptions): Conversation {
  let current = options.opened;
  const lost: RunFailure[] = [];
  /** What the last prompt came to, when the session that it was in has been replaced since. */
  let earlier: RunOutcome | undefined;
  let isClosed = false;
  const hearers: (() => void)[] = [];
  let work: { kind: WorkKind; controller: AbortController; done: Promise<void> } | undefined;

  async function start<T>(kind: WorkKind, run: Work<T>): Promise<T> {
    if (work !== undefined) throw new BusyError(busyWith[work.kind]);
    if (isClosed) throw new BusyError("the run is ending");
    const controller = new AbortController();
    const follow = () => controller.abort(options.signal.reason);
    if (options.signal.aborted) follow();
    options.signal.addEventListener("abort", follow, { once: true });
    let finish = () => {};
    const done = new Promise<void>((resolve) => {
      finish = resolve;
    });
    work = { kind, controller, done };
    if (options.isServed && (kind === "prompt" || kind === "command")) current.session.renew();
    if (kind === "prompt") earlier = undefined;
    if (kind === "command" && earlier !== undefined) earlier = { ...earlier, failures: [] };
    try {
      return await run(controller.signal);
    } finally {
      options.signal.removeEventListener("abort", follow);
      work = undefined;
      finish();
    }
  }

  function run(prompt: RunPrompt): Promise<PromptResult> {
    return start(prompt.kind === "command" ? "command" : "prompt", async (signal) => {
      const { session } = current;
      let endedWell = await perform(prompt, session, signal);
      while (endedWell && !signal.aborted && session.actions().queuedCount > 0) {
        const [content, ...later] = session.takeQueued();
        for (const text of later) session.followUp(text);
        if (content === undefined) break;
        endedWell = await session.prompt({ role: "user", content, timestamp: Date.now() }, signal);
      }
      return { endedWell: endedWell && !signal.aborted, outcome: { ...outcome() } };
    });
  }

  async function abort(): ReturnType<Conversation["abort"]> {
    const dropped = current.session.clearQueue();
    if (work === undefined) return { aborted: false, dropped };
    const { controller, done } = work;
    controller.abort({ kind: "request" });
    await done;
    return { aborted: true, dropped };
  }

  function replace(open: () => Promise<OpenedSession>): Promise<void> {
    return start("switch", async () => {
      const next = await open();
      const { failures, ...ended } = outcome();
      earlier = { ...ended, failures: failures.filter(({ kind }) => kind !== "persistence") };
      lost.push(...current.session.outcome().failures.filter(({ kind }) => kind === "persistence"));
      try {
        await current.close();
      } catch (error) {
        lost.push({ kind: "persistence", message: errorMessage(error) });
      }
      current = next;
      current.begin();
      changed();
    });
  }

  function outcome(): RunOutcome {
    const now = current.session.outcome();
    const before = [...lost, ...(earlier?.failures ?? [])];
    if (earlier === undefined && before.length === 0) return now;
    return { ...(earlier ?? now), failures: [...before, ...now.failures] };
  }

  function changed(): void {
    for (const hear of hearers) hear();
  }

  return {
    current: () => current,
    active: () => work?.kind,
    run,
    during: (kind, label, run) => start(kind, (signal) => current.session.during(label, () => run(signal))),
    abort,
    replace,
    onChange: (hear) => void hearers.push(hear),
    changed,
    async idle() {
      while (work !== undefined) await work.done;
    },
    outcome,
    close() {
      isClosed = true;
      return current.close();
    },
  };
}

function perform(prompt: RunPrompt, session: AgentSession, signal: AbortSignal): Promise<boolean> {
  switch (prompt.kind) {
    case "message":
      return session.prompt(prompt.message, signal);
    case "command":
      return session.command(prompt, signal);
    case "branch_summary":
      return session.sumUp(prompt.left, prompt.choice, signal);
  }
}
