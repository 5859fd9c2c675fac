import { type LoopDeps, runLoop } from "../agent/loop.ts";
import { createRepeatGuard } from "../agent/repeat-guard.ts";
import type { Settings } from "../contract/config.ts";
import type { NewEntry } from "../contract/entries.ts";
import { errorMessage, type ProviderError } from "../contract/errors.ts";
import type { AgentSessionEvent, Emit, SessionActionSnapshot } from "../contract/events.ts";
import type { JsonObject } from "../contract/json.ts";
import type {
  AgentMessage,
  AssistantMessage,
  BashExecutionMessage,
  CustomMessage,
  UserMessage,
} from "../contract/messages.ts";
import type { RunFailure, RunLimit, RunOutcome } from "../contract/outcome.ts";
import type { Model, Provider, ProviderRequest, ThinkingLevel } from "../contract/provider.ts";
import type { Tool } from "../contract/tool.ts";
import { createSessionActions } from "./actions.ts";
import type { LeftBranch } from "./branch-summary.ts";
import { createCallIds } from "./call-ids.ts";
import type { CompactionOutcome } from "./compaction.ts";
import { toModelMessages } from "./context.ts";
import { createContextGuard } from "./context-guard.ts";
import { redactedMessage } from "./redacted-message.ts";
import { createRetrySeries } from "./retry.ts";
import { createSessionWork } from "./session-work.ts";
import type { SessionCommand } from "./slash-commands.ts";
import type { SessionStore } from "./store.ts";
import { createUsageLedger, type UsageLedger } from "./usage.ts";

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
  /** Sums up a branch that was left, as `prompt` runs a prompt. */
  sumUp(left: LeftBranch, signal: AbortSignal): Promise<boolean>;
  /** Summarises the older part of the context now. */
  compact(instructions: string | undefined, signal: AbortSignal): Promise<CompactionOutcome>;
  /** Queues a text that is said after the running turn's tool calls, before the next request. */
  steer(text: string): void;
  /** Queues a text that is said when the agent would stop. */
  followUp(text: string): void;
  /** Takes what would be said next at the end, for a prompt of its own: it came too late for the last one. */
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
export function createAgentSession(options: AgentSessionOptions): AgentSession {
  const { store, now, redact } = options;
  let choice: ModelChoice = options;
  const outcome: RunOutcome = { failures: [], finalText: "" };
  const actions = createSessionActions(emit, options.settings);
  const ledger = createUsageLedger();
  const guard = createRepeatGuard();
  const retry = createRetrySeries({ settings: options.settings.retry, emit, redact, random: Math.random });
  const schemas = options.tools.map(({ name, description, parameters }) => ({
    name,
    description,
    parameters,
  }));
  /** The messages of the prompt that is at work, without superseded attempts. */
  let added: AgentMessage[] = [];
  let isPrompting = false;
  /** What the user did meanwhile; it must not come between a call and its result. */
  let waiting: BashExecutionMessage[] = [];

  function emit(event: AgentSessionEvent): void {
    if (isPrompting && event.type === "message_end") added.push(event.message);
    options.emit(event);
  }

  function fail(kind: RunFailure["kind"], message: string): void {
    outcome.failures.push({ kind, message: redact(message) });
  }

  function keep(append: () => unknown): void {
    try {
      append();
    } catch (error) {
      fail("persistence", errorMessage(error));
    }
  }

  function record(message: AgentMessage): void {
    keep(() => store.append({ type: "message", message: redactedMessage(message, redact) }));
  }

  function recordReply(message: AssistantMessage): void {
    record(message);
    const { stopReason, errorMessage: words } = message;
    const failed = stopReason === "error" || stopReason === "aborted";
    ledger.add(choice.model, failed ? "failed_attempt" : "turn", message.usage);
    outcome.terminal = { stopReason, ...(words === undefined ? {} : { errorMessage: words }) };
    outcome.finalText = finalText(message);
  }

  function buildRequest(): ProviderRequest {
    return {
      model: choice.model,
      systemPrompt: options.systemPrompt,
      messages: toModelMessages(store.branch(), choice.model),
      tools: schemas,
      thinkingLevel: choice.thinkingLevel,
      sessionId: store.header.id,
      ...(options.outputSchema === undefined ? {} : { outputSchema: options.outputSchema }),
    };
  }

  const summaries = {
    // The provider of whatever model is chosen by then.
    provider: { stream: (request, signal) => choice.provider.stream(request, signal) } satisfies Provider,
    sessionId: store.header.id,
    append(entry: NewEntry) {
      keep(() => store.append(entry));
      return store.leafId() ?? "";
    },
    retry: options.settings.retry,
    ledger,
    redact,
    now,
  };
  const context = createContextGuard({
    ...summaries,
    store,
    settings: options.settings.compaction,
    emit,
    model: () => choice.model,
    buildRequest,
    warn: options.warn,
  });

  function keepWaiting(): void {
    for (const message of waiting) keep(() => store.append({ type: "message", message }));
    waiting = [];
  }

  /** Whether a limit is reached; it is then part of the outcome. */
  function isOver(): boolean {
    const repeated = guard.exceeded();
    const limit: RunLimit | undefined =
      repeated === undefined ? options.limit?.() : { name: "repeated_call", message: repeated };
    if (limit !== undefined) outcome.limit = limit;
    return limit !== undefined;
  }

  async function beforeTurn(signal: AbortSignal): ReturnType<LoopDeps["beforeTurn"]> {
    keepWaiting();
    if (isOver() || signal.aborted) return "stop";
    const stuck = await context.beforeRequest(signal);
    // A summary costs too.
    if (isOver() || signal.aborted) return "stop";
    if (stuck !== undefined) return { errorMessage: stuck };
    actions.setActive({ kind: "turn", phase: "running" });
    return "go";
  }

  async function onFailure(error: ProviderError, signal: AbortSignal): ReturnType<LoopDeps["onFailure"]> {
    if (error.kind === "overflow") {
      retry.fail(error);
      const compacted = await context.onOverflow(signal);
      if (compacted.kind === "failed")
        fail("compaction", `the context could not be made small enough: ${compacted.message}`);
      if (compacted.kind !== "done") return "give_up";
    } else if (!(await retry.next(error, signal))) return "give_up";
    // The attempt stays in the session file, but it is no part of what this prompt came to.
    added.pop();
    return "try_again";
  }

  const loop: LoopDeps = {
    ask: {
      provider: { stream: (request, signal) => choice.provider.stream(request, signal) },
      emit,
      ready: options.ready,
      record: recordReply,
      uniqueCallId: createCallIds(store),
      secrets: options.secrets,
      redact,
      now,
    },
    tools: {
      tools: new Map(options.tools.map((tool) => [tool.name, tool])),
      cwd: options.cwd,
      emit,
      ready: options.ready,
      record,
      redact,
      guard,
      now,
    },
    beforeTurn,
    buildRequest,
    onSuccess({ message }) {
      retry.succeed();
      context.onReply(message);
    },
    onFailure,
    takeQueued: (when) =>
      actions.take(when).map((text) => {
        const message: UserMessage = { role: "user", content: text, timestamp: now() };
        record(message);
        return message;
      }),
  };

  async function prompt(
    message: UserMessage | CustomMessage,
    signal: AbortSignal,
    finish?: FinishPrompt,
  ): Promise<boolean> {
    added = [];
    isPrompting = true;
    delete outcome.terminal;
    record(message);
    emit({ type: "agent_start" });
    actions.setActive({ kind: "turn", phase: "preparing" });
    try {
      await runLoop([message], loop, signal);
      retry.abandon();
      await finish?.({ messages: added, tell: tellOfEnd, busy });
    } catch (error) {
      retry.abandon();
      fail("internal", errorMessage(error));
    }
    isPrompting = false;
    keepWaiting();
    actions.setActive(undefined);
    emit({ type: "agent_end", messages: added });
    await options.ready();
    return endedWell(outcome);
  }

  /** Tells a message that the model does not see. */
  function tellOfEnd(message: CustomMessage): void {
    const { customType, details } = message;
    keep(() =>
      store.append({ type: "custom", customType, ...(details === undefined ? {} : { data: details }) }),
    );
    emit({ type: "message_start", message });
    emit({ type: "message_end", message });
  }

  function busy(label: string): void {
    actions.setActive({ kind: "turn", phase: "committing", label });
  }

  function rename(name: string): void {
    keep(() => store.append({ type: "session_info", name }));
  }

  const work = createSessionWork({
    ...summaries,
    ...options,
    compact: context.compactNow,
    rename,
    choice: () => choice,
    choose,
    fail: (message) => fail("session_command", message),
    answer(text) {
      outcome.finalText = text;
    },
  });

  async function run(label: string, job: () => Promise<void>): Promise<boolean> {
    await during(label, job);
    await options.ready();
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

  function addMessage(message: BashExecutionMessage): void {
    const { command, output } = message;
    waiting.push({ ...message, command: redact(command), output: redact(output) });
    if (!isPrompting) keepWaiting();
  }

  function renew(): void {
    outcome.failures = outcome.failures.filter(({ kind }) => kind === "persistence");
    delete outcome.limit;
    guard.reset();
  }

  function choose(next: Partial<ModelChoice>): void {
    const before = choice;
    choice = { ...choice, ...next };
    const { model, thinkingLevel } = choice;
    if (model.id !== before.model.id || model.provider !== before.model.provider)
      keep(() => store.append({ type: "model_change", provider: model.provider, modelId: model.id }));
    if (thinkingLevel !== before.thinkingLevel)
      keep(() => store.append({ type: "thinking_level_change", thinkingLevel }));
  }

  return {
    prompt,
    command: (command, signal) => run(`/${command.name}`, () => work.command(command, signal)),
    sumUp: (left, signal) => run("--branch-summary", () => work.sumUp(left, signal)),
    compact: context.compactNow,
    steer: actions.steer,
    followUp: actions.followUp,
    takeQueued: () => actions.take("at_end"),
    clearQueue: actions.clear,
    abortRetry: retry.abortWait,
    addMessage,
    rename,
    during,
    renew,
    choose,
    choice: () => choice,
    actions: actions.snapshot,
    outcome: () => outcome,
    ledger,
    store,
  };
}

/** The text of an answer, as text mode prints it. */
export function finalText(message: AssistantMessage): string {
  return message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

/** A session that cannot be written any more can still give its answers. */
function endedWell({ failures, limit, terminal }: RunOutcome): boolean {
  if (failures.some(({ kind }) => kind !== "persistence") || limit !== undefined) return false;
  return terminal?.stopReason !== "error" && terminal?.stopReason !== "aborted";
}
