import { runLoop } from "../agent/loop.ts";
import type { Settings } from "../contract/config.ts";
import type { NewEntry } from "../contract/entries.ts";
import type { Emit, SessionActionSnapshot } from "../contract/events.ts";
import type { JsonObject } from "../contract/json.ts";
import type {
  AgentMessage,
  BashExecutionMessage,
  CustomMessage,
  ModelMessage,
  UserMessage,
} from "../contract/messages.ts";
import type { RunLimit, RunOutcome } from "../contract/outcome.ts";
import type { Model, Provider, ProviderRequest, ThinkingLevel } from "../contract/provider.ts";
import type { Tool } from "../contract/tool.ts";
import { createSessionActions } from "./actions.ts";
import { type ChosenModel, createChosenModel } from "./chosen-model.ts";
import type { LeftBranch } from "./compaction/branch-summary.ts";
import type { CompactionOutcome } from "./compaction/compaction.ts";
import { createGrowingContext } from "./context/growing-context.ts";
import { createContextGuard } from "./context/guard.ts";
import { createPromptCourse } from "./prompt-course.ts";
import { createRetrySeries } from "./retry.ts";
import { createSessionRecord, mayGoOn } from "./session-record.ts";
import { createSessionWork } from "./session-work.ts";
import type { SessionCommand } from "./slash-commands.ts";
import { withRedaction } from "./store/redacted-store.ts";
import type { SessionStore } from "./store/store.ts";
import { createTurns } from "./turns.ts";
import type { UsageLedger } from "./usage.ts";

/** A model and what asks it. */
export type ModelChoice = {
  readonly model: Model;
  readonly provider: Provider;
  readonly thinkingLevel: ThinkingLevel;
};

/** What a prompt came to, before its end is told. */
export type PromptEnd = {
  /** What was said, without superseded attempts. */
  readonly messages: readonly AgentMessage[];
  /** Tells a message within the prompt; the session keeps its `details`, and the model never sees it. */
  readonly tell: (message: CustomMessage) => void;
  /** Tells what work goes on. */
  readonly busy: (label: string) => void;
};

/** Does what is left to do of a prompt. */
export type FinishPrompt = (end: PromptEnd) => Promise<void>;

export type AgentSessionOptions = ModelChoice & {
  readonly tools: readonly Tool[];
  readonly store: SessionStore;
  /** Absolute; where the tools work. */
  readonly cwd: string;
  readonly systemPrompt: string;
  readonly settings: Pick<Settings, "retry" | "compaction" | "steeringMode" | "followUpMode">;
  readonly emit: Emit;
  /** Resolves when the sink has room. */
  readonly ready: () => Promise<void>;
  /** The credentials that this run knows. */
  readonly secrets: readonly string[];
  readonly redact: (text: string) => string;
  /** Tells a person something, in one line. */
  readonly warn: (line: string) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** What counts the requests of all sessions of a run; absent: this one's alone. */
  readonly ledger?: UsageLedger;
  /** Asked before each request: the limit that ends the work, if one is reached. */
  readonly limit?: (() => RunLimit | undefined) | undefined;
  /** What the text of every answer has to follow, where the API can be told. */
  readonly outputSchema?: JsonObject | undefined;
  /** Finds the model that `/model` names. Throws a StartupError. */
  readonly chooseModel: (id: string) => Promise<ModelChoice>;
  /** Writes the session where `/export` says; gives the file's path. */
  readonly exportTo: (file: string | undefined, signal: AbortSignal) => Promise<string>;
};

/** A conversation that goes on, prompt after prompt. */
export type AgentSession = {
  /**
   * Runs one prompt to its end and tells its events from `agent_start` to `agent_end`. Failure is in the outcome; it
   * throws nothing. Gives whether the prompt ended well, so that a next one makes sense.
   *
   * `finish` is awaited when the model has stopped, for whatever reason, and before the end is told.
   */
  prompt(message: UserMessage | CustomMessage, signal: AbortSignal, finish?: FinishPrompt): Promise<boolean>;
  /** Runs a session command, as `prompt` does a prompt. */
  command(command: SessionCommand, signal: AbortSignal): Promise<boolean>;
  /** Sums up a branch that was left and keeps what the other goes on with, as `prompt` runs a prompt. */
  sumUp(left: LeftBranch, choice: readonly NewEntry[], signal: AbortSignal): Promise<boolean>;
  /** Summarises the older part of the context now. */
  compact(instructions: string | undefined, signal: AbortSignal): Promise<CompactionOutcome>;
  /** Queues a text that is said after the running turn's tool calls, before the next request. */
  steer(text: string): void;
  /** Queues a text that is said when the agent would stop. */
  followUp(text: string): void;
  /** Takes what would be said next at the end, for a prompt of its own: it came too late for the last one. At a limit nothing. */
  takeQueued(): readonly string[];
  /** Takes all that is queued. */
  clearQueue(): readonly string[];
  /** Ends the wait for the next attempt of a failed request. False when nothing waits. */
  abortRetry(): boolean;
  /** Keeps a command that the user ran: at once, or before the next request of the prompt that is at work. */
  addMessage(message: BashExecutionMessage): void;
  rename(name: string): void;
  /** Tells that other work than a prompt is active while it is. */
  during<T>(label: string, work: () => Promise<T>): Promise<T>;
  /** Lets the next prompt stand for itself: what ended earlier ones is forgotten, unless it concerns the session's file. */
  renew(): void;
  /** Changes the model or the level of what comes next. */
  choose(choice: Partial<ModelChoice>): void;
  choice(): ModelChoice;
  actions(): SessionActionSnapshot;
  /** What the exit status depends on, so far. */
  outcome(): RunOutcome;
  readonly ledger: UsageLedger;
  readonly store: SessionStore;
};

/** Makes a session that asks a model, runs tools and keeps every message in its store. */
export function createAgentSession(given: AgentSessionOptions): AgentSession {
  const options = { ...given, store: withRedaction(given.store, given.redact) };
  const { record, chosen, actions, course, retry, context, turns, work, rename } = createParts(options);
  const { outcome } = record;

  async function prompt(
    message: UserMessage | CustomMessage,
    signal: AbortSignal,
    finish?: FinishPrompt,
  ): Promise<boolean> {
    // What cannot be asked any more is no part of the conversation.
    const opening = turns.isOver() ? undefined : message;
    if (opening !== undefined) record.message(opening);
    await course.run(async (end) => {
      try {
        if (opening !== undefined) await runLoop([opening], turns.loop, signal);
      } finally {
        retry.abandon(signal.aborted ? "the attempt was aborted" : "there was no further attempt");
      }
      await finish?.(end);
      // Not behind the end: whoever hears of that may ask for the next prompt.
      await options.ready();
    });
    return endedWell(outcome);
  }

  async function run(label: string, job: () => Promise<void>): Promise<boolean> {
    await during(label, async () => {
      await job();
      await options.ready();
    });
    return endedWell(outcome);
  }

  async function during<T>(label: string, work: () => Promise<T>): Promise<T> {
    actions.setActive({ kind: "session_command", phase: "running", label });
    try {
      return await work();
    } finally {
      actions.setActive(undefined);
    }
  }

  return {
    prompt,
    command(command, signal) {
      delete outcome.commandOutput;
      return run(`/${command.name}`, () => work.command(command, signal));
    },
    sumUp: (left, choice, signal) => run("--branch-summary", () => work.sumUp(left, choice, signal)),
    compact: context.compactNow,
    steer: actions.steer,
    followUp: actions.followUp,
    takeQueued: () => (turns.isOver() ? [] : actions.take("at_end")),
    clearQueue: actions.clear,
    abortRetry: retry.abortWait,
    addMessage: course.addMessage,
    rename,
    during,
    renew() {
      record.renew();
      turns.renew();
    },
    choose: chosen.choose,
    choice: chosen.choice,
    actions: actions.snapshot,
    outcome: () => outcome,
    ledger: record.ledger,
    store: options.store,
  };
}

/** Makes the parts of a session, each with those that it needs. */
function createParts(options: AgentSessionOptions) {
  const { store, emit, redact, settings, ledger } = options;
  const record = createSessionRecord({ store, redact, ledger });
  const chosen = createChosenModel(options, record.append);
  const actions = createSessionActions(emit, settings);
  const course = createPromptCourse({ record, actions, emit });
  const retry = createRetrySeries({ settings: settings.retry, emit, redact, random: Math.random });
  const buildRequest = requestBuilder(options, chosen);
  const summaries = {
    ...options,
    provider: chosen.provider,
    sessionId: store.header.id,
    retry: settings.retry,
    ledger: record.ledger,
    append(entry: NewEntry) {
      record.append(entry);
      return store.leafId() ?? "";
    },
  };
  const context = createContextGuard({
    ...summaries,
    settings: settings.compaction,
    model: chosen.model,
    buildRequest,
  });
  const rename = (name: string) => record.append({ type: "session_info", name });
  const work = createSessionWork({
    ...summaries,
    compact: context.compactNow,
    rename,
    choice: chosen.choice,
    choose: chosen.choose,
    fail: (message) => record.fail("session_command", message),
    answer(text) {
      record.outcome.finalText = text;
      record.outcome.commandOutput = text;
    },
  });
  const turns = createTurns({ ...options, record, chosen, actions, course, retry, context, buildRequest });
  return { record, chosen, actions, course, retry, context, turns, work, rename };
}

/** Makes what builds the request for all that the session holds by then. */
function requestBuilder(
  { store, systemPrompt, tools, outputSchema }: AgentSessionOptions,
  { choice }: ChosenModel,
): () => ProviderRequest {
  const messagesOf = createGrowingContext();
  const schemas = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  /** What was made last: a request is asked for to be measured, and then to be sent. */
  let last: { leaf: string | null; model: Model; messages: readonly ModelMessage[] } | undefined;
  return () => {
    const { model, thinkingLevel } = choice();
    const leaf = store.leafId();
    if (last?.leaf !== leaf || last.model !== model)
      last = { leaf, model, messages: messagesOf(store.branch(), model) };
    return {
      ...{ model, systemPrompt, thinkingLevel },
      messages: last.messages,
      tools: schemas,
      sessionId: store.header.id,
      ...(outputSchema === undefined ? {} : { outputSchema }),
    };
  };
}

function endedWell(outcome: RunOutcome): boolean {
  return mayGoOn(outcome) && outcome.limit === undefined;
}
