import type { AgentSessionEvent } from "../../contract/events.ts";
import type { ModelChoice } from "../../session/agent-session.ts";
import { shownMessages } from "../../session/context/context.ts";
import { busyWith, type ClientPrompt, type Conversation, type OpenedSession } from "../conversation.ts";
import type {
  RpcBashResult,
  RpcCommand,
  RpcCommandName,
  RpcCommands,
  RpcModel,
  RpcResults,
  RpcSessionPlace,
  RpcState,
} from "../protocol.ts";
import { toModel, toPlace, toState, toStats } from "./state.ts";

/** Which session is to take the place of the one that is open. */
export type SessionTarget =
  | { readonly kind: "new" }
  | { readonly kind: "switch"; readonly session: string }
  | { readonly kind: "fork"; readonly entryId?: string };

/** What the commands work on: one for a run, whoever gives them. */
export type RpcOptions = {
  readonly conversation: Conversation;
  /** The settings that the session reads anew each time. */
  readonly settings: LiveSettings;
  /** Aborted when the run is to end early. */
  readonly signal: AbortSignal;
  /** Throws a StartupError when there is no such model, or no key for it. */
  readonly chooseModel: (id: string) => Promise<ModelChoice>;
  /** Runs a command of the user's in the shell. Never rejects. */
  readonly runBash: (command: string, place: { cwd: string; signal: AbortSignal }) => Promise<RpcBashResult>;
  /** Opens another session; throws a StartupError. Absent where a run keeps its session. */
  readonly openSession?: (target: SessionTarget) => Promise<OpenedSession>;
};

/** The switches are changed in place. */
export type LiveSettings = {
  readonly retry: { enabled: boolean };
  readonly compaction: { enabled: boolean };
  readonly steeringMode: RpcState["steeringMode"];
  readonly followUpMode: RpcState["followUpMode"];
};

/** Does something once the response is sent. */
export type Afterwards = (step: () => Promise<unknown>) => void;

type Actions = {
  readonly [Name in RpcCommandName]: (
    command: RpcCommands[Name],
    afterwards: Afterwards,
  ) => RpcResults[Name] | Promise<RpcResults[Name]>;
};

/** Makes what the commands do. */
export function createActions(options: RpcOptions) {
  const { conversation, settings } = options;
  let isCompacting = false;
  let bash: AbortController | undefined;
  const ending = new AbortController();
  /** Nothing is to begin any more, and a command of the shell to end. */
  const over = AbortSignal.any([options.signal, ending.signal]);
  const session = () => conversation.current().session;

  /** Starts a prompt once its response is sent; a session command is run first. */
  function begin(
    prompt: ClientPrompt,
    afterwards: Afterwards,
  ): RpcResults["prompt"] | Promise<RpcResults["prompt"]> {
    if (prompt.kind === "command") return runCommand(prompt);
    afterwards(() => conversation.run(prompt));
    return { queued: false };
  }

  async function runCommand(prompt: ClientPrompt & { kind: "command" }): Promise<RpcResults["prompt"]> {
    const { outcome } = await conversation.run(prompt);
    const { failures, commandOutput: output } = outcome;
    const failure = failures.find(({ kind }) => kind !== "persistence");
    if (failure !== undefined) throw new Error(failure.message);
    return { queued: false, sessionCommand: prompt.name, ...(output === undefined ? {} : { output }) };
  }

  function queue(
    { message, literal }: RpcCommands["prompt" | "steer" | "follow_up"],
    behavior: "steer" | "followUp",
    afterwards: Afterwards,
  ): RpcResults["prompt"] | Promise<RpcResults["prompt"]> {
    refuseWhenEnding(over);
    const prompt = conversation.current().toPrompt(message, [], literal);
    const active = conversation.active();
    if (active === undefined) return begin(prompt, afterwards);
    if (active !== "prompt") throw new Error(`${busyWith[active]}; wait for its end`);
    if (prompt.kind === "command")
      throw new Error(
        `/${prompt.name} is a session command, which cannot be queued; send it when nothing runs`,
      );
    session()[behavior](textOf(prompt));
    return { queued: true };
  }

  async function replace(target: SessionTarget): Promise<RpcSessionPlace> {
    const { openSession } = options;
    if (openSession === undefined)
      throw new Error("this run keeps its session; start one with --mode rpc to change it");
    refuseWhenEnding(over);
    if (bash !== undefined) throw new Error("a shell command is running; send abort_bash first");
    const active = conversation.active();
    if (active !== undefined) throw new Error(`${busyWith[active]}; send abort first, or wait for its end`);
    await conversation.replace(() => openSession(target));
    return toPlace(conversation.current());
  }

  async function runBash(command: RpcCommands["bash"]): Promise<RpcBashResult> {
    refuseWhenEnding(over);
    if (bash !== undefined)
      throw new Error("a shell command is running; send abort_bash first, or wait for its end");
    const { cwd, session } = conversation.current();
    bash = new AbortController();
    const signal = AbortSignal.any([over, bash.signal]);
    const result = await options.runBash(command.command, { cwd, signal });
    bash = undefined;
    const isHidden = command.excludeFromContext === true;
    session.addMessage({
      role: "bashExecution",
      command: command.command,
      ...result,
      ...(isHidden ? { excludeFromContext: true } : {}),
      timestamp: Date.now(),
    });
    return result;
  }

  async function compact({ customInstructions }: RpcCommands["compact"]): Promise<RpcResults["compact"]> {
    refuseWhenEnding(over);
    const { compact, store } = session();
    const outcome = await conversation.during("compaction", "/compact", (signal) =>
      compact(customInstructions, signal),
    );
    if (outcome.kind !== "done")
      throw new Error(outcome.kind === "failed" ? outcome.message : notCompacted[outcome.kind]);
    const entry = store.branch().findLast(({ type }) => type === "compaction");
    if (entry?.type !== "compaction") throw new Error("the compaction left no entry");
    const { summary, firstKeptEntryId, tokensBefore } = entry;
    return { summary, firstKeptEntryId, tokensBefore };
  }

  async function setModel({ provider, modelId }: RpcCommands["set_model"]): Promise<RpcModel> {
    const other = await options.chooseModel(provider === undefined ? modelId : `${provider}/${modelId}`);
    const { thinkingLevel } = session().choice();
    session().choose({ ...other, thinkingLevel: levelFor(other, { modelId, before: thinkingLevel }) });
    conversation.changed();
    return toModel(other.model);
  }

  const actions: Actions = {
    prompt(command, afterwards) {
      const { message, images = [], streamingBehavior, literal } = command;
      refuseWhenEnding(over);
      const active = conversation.active();
      if (active === undefined)
        return begin(conversation.current().toPrompt(message, images, literal), afterwards);
      if (streamingBehavior === undefined) {
        const queueing =
          active === "prompt" ? 'queue the message with "streamingBehavior" ("steer" or "followUp"), ' : "";
        throw new Error(`${busyWith[active]}; ${queueing}send abort first, or wait for its end`);
      }
      if (images.length > 0) throw new Error("images cannot be queued; send them when nothing runs");
      return queue(command, streamingBehavior, afterwards);
    },
    steer: (command, afterwards) => queue(command, "steer", afterwards),
    follow_up: (command, afterwards) => queue(command, "followUp", afterwards),
    abort: conversation.abort,
    get_state: () => toState(conversation, { settings, isCompacting, isBashRunning: bash !== undefined }),
    get_messages: () => ({ messages: shownMessages(session().store.branch()) }),
    set_model: setModel,
    set_thinking_level({ level }) {
      const thinkingLevel = session().choice().model.reasoning ? level : "off";
      session().choose({ thinkingLevel });
      return { level: thinkingLevel };
    },
    compact,
    set_auto_compaction({ enabled }) {
      settings.compaction.enabled = enabled;
      return undefined;
    },
    set_auto_retry({ enabled }) {
      settings.retry.enabled = enabled;
      return undefined;
    },
    abort_retry: () => ({ aborted: session().abortRetry() }),
    bash: runBash,
    abort_bash() {
      bash?.abort();
      return { aborted: bash !== undefined };
    },
    get_session_stats: () => toStats(session()),
    new_session: () => replace({ kind: "new" }),
    switch_session: ({ sessionPath }) => replace({ kind: "switch", session: sessionPath }),
    fork: ({ entryId }) => replace({ kind: "fork", ...(entryId === undefined ? {} : { entryId }) }),
    set_session_name({ name }) {
      session().rename(name.trim());
      conversation.changed();
      return undefined;
    },
    get_commands: async () => ({ commands: await conversation.current().commands() }),
  };

  return {
    perform: (command: RpcCommand, afterwards: Afterwards): unknown =>
      // The table's row is that of the command's own type.
      (actions[command.type] as (command: RpcCommand, afterwards: Afterwards) => unknown)(
        command,
        afterwards,
      ),
    observe({ type }: AgentSessionEvent): void {
      if (type === "compaction_start") isCompacting = true;
      if (type === "compaction_end") isCompacting = false;
    },
    /** A command of the shell does not outlive the run. */
    end: () => ending.abort(),
  };
}

const notCompacted = { nothing: "there is nothing to compact yet", aborted: "the compaction was aborted" };

function refuseWhenEnding({ aborted }: AbortSignal): void {
  if (aborted) throw new Error("the run is ending");
}

function textOf({ message: { content } }: ClientPrompt & { kind: "message" }): string {
  if (typeof content === "string") return content;
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

/** The level stays, unless the model's name came with one or the model does not think. */
function levelFor(
  { model, thinkingLevel }: ModelChoice,
  { modelId, before }: { modelId: string; before: ModelChoice["thinkingLevel"] },
): ModelChoice["thinkingLevel"] {
  if (!model.reasoning) return "off";
  const suffix = `:${thinkingLevel}`;
  return modelId.endsWith(suffix) && !model.id.endsWith(suffix) ? thinkingLevel : before;
}
