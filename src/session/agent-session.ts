import { type LoopDeps, runLoop } from "../agent/loop.ts";
import { createRepeatGuard } from "../agent/repeat-guard.ts";
import type { ToolDeps } from "../agent/run-tools.ts";
import type { AskDeps } from "../agent/turn.ts";
import { errorMessage, type ProviderError } from "../contract/errors.ts";
import type { Emit } from "../contract/events.ts";
import type { AgentMessage, AssistantMessage, UserMessage } from "../contract/messages.ts";
import type { RunOutcome } from "../contract/outcome.ts";
import type { Model, Provider, ProviderRequest, ThinkingLevel } from "../contract/provider.ts";
import type { Tool } from "../contract/tool.ts";
import { createSessionActions } from "./actions.ts";
import { toModelMessages } from "./context.ts";
import { createRetrySeries, type RetrySettings } from "./retry.ts";
import type { SessionStore } from "./store.ts";

export type AgentSessionOptions = {
  readonly provider: Provider;
  readonly model: Model;
  readonly thinkingLevel: ThinkingLevel;
  readonly tools: readonly Tool[];
  readonly store: SessionStore;
  /** Absolute; where the tools work. */
  readonly cwd: string;
  readonly systemPrompt: string;
  readonly settings: { readonly retry: RetrySettings };
  readonly emit: Emit;
  /** Resolves when the sink has room. */
  readonly ready: () => Promise<void>;
  /** The credentials that this run knows. */
  readonly secrets: readonly string[];
  readonly redact: (text: string) => string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
};

/** A conversation that goes on, prompt after prompt. */
export type AgentSession = {
  /**
   * Runs one prompt to its end and tells its events from `agent_start` to `agent_end`. Failure is in the outcome; it
   * throws nothing. Gives whether the prompt ended well, so that a next one makes sense.
   */
  prompt(message: UserMessage, signal: AbortSignal): Promise<boolean>;
  /** What the exit status depends on, so far. */
  outcome(): RunOutcome;
};

/** Makes a session that asks one model, runs tools and keeps every message in its store. */
export function createAgentSession(options: AgentSessionOptions): AgentSession {
  const { emit, store, model, now } = options;
  const outcome: RunOutcome = { failures: [], finalText: "" };
  const actions = createSessionActions(emit);
  const guard = createRepeatGuard();
  const retry = createRetrySeries({
    settings: options.settings.retry,
    emit,
    redact: options.redact,
    random: Math.random,
  });
  const uniqueCallId = createCallIds(store);
  const tools = new Map(options.tools.map((tool) => [tool.name, tool]));
  const schemas = options.tools.map(({ name, description, parameters }) => ({
    name,
    description,
    parameters,
  }));
  /** The messages of the prompt that is at work, without superseded attempts. */
  let added: AgentMessage[] = [];

  function record(message: AgentMessage): void {
    added.push(message);
    try {
      store.append({ type: "message", message });
    } catch (error) {
      fail("persistence", errorMessage(error));
    }
  }

  function fail(kind: RunOutcome["failures"][number]["kind"], message: string): void {
    outcome.failures.push({ kind, message: options.redact(message) });
  }

  function recordReply(message: AssistantMessage): void {
    record(message);
    outcome.terminal = {
      stopReason: message.stopReason,
      ...(message.errorMessage === undefined ? {} : { errorMessage: message.errorMessage }),
    };
    outcome.finalText = finalText(message);
  }

  function buildRequest(): ProviderRequest {
    return {
      model,
      systemPrompt: options.systemPrompt,
      messages: toModelMessages(store.branch(), model),
      tools: schemas,
      thinkingLevel: options.thinkingLevel,
      sessionId: store.header.id,
    };
  }

  async function mayContinue(signal: AbortSignal): Promise<boolean> {
    const repeated = guard.exceeded();
    if (repeated !== undefined) outcome.limit = { name: "repeated_call", message: repeated };
    if (signal.aborted || repeated !== undefined) return false;
    actions.setActive({ kind: "turn", phase: "running" });
    return true;
  }

  async function onFailure(error: ProviderError, signal: AbortSignal): Promise<"try_again" | "give_up"> {
    if (!(await retry.next(error, signal))) return "give_up";
    // The attempt stays in the session file, but it is no part of what this prompt came to.
    added.pop();
    return "try_again";
  }

  const askDeps: AskDeps = {
    provider: options.provider,
    emit,
    ready: options.ready,
    record: recordReply,
    uniqueCallId,
    secrets: options.secrets,
    redact: options.redact,
    now,
  };
  const toolDeps: ToolDeps = {
    tools,
    cwd: options.cwd,
    emit,
    ready: options.ready,
    record,
    redact: options.redact,
    guard,
    now,
  };
  const loop: LoopDeps = {
    ask: askDeps,
    tools: toolDeps,
    mayContinue,
    buildRequest,
    onSuccess: () => retry.succeed(),
    onFailure,
    takeQueued: () => [],
  };

  async function prompt(message: UserMessage, signal: AbortSignal): Promise<boolean> {
    added = [];
    delete outcome.terminal;
    record(message);
    emit({ type: "agent_start" });
    actions.setActive({ kind: "turn", phase: "preparing" });
    try {
      await runLoop([message], loop, signal);
    } catch (error) {
      fail("internal", errorMessage(error));
    }
    actions.setActive(undefined);
    emit({ type: "agent_end", messages: added });
    await options.ready();
    return endedWell(outcome);
  }

  return { prompt, outcome: () => outcome };
}

/** The text of an answer, as text mode prints it. */
export function finalText(message: AssistantMessage): string {
  return message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

function endedWell({ failures, limit, terminal }: RunOutcome): boolean {
  if (failures.length > 0 || limit !== undefined) return false;
  return terminal?.stopReason !== "error" && terminal?.stopReason !== "aborted";
}

/** Gives ids that no call of the session has: the provider's own where it is one, else a new one. */
function createCallIds(store: SessionStore): (id: string) => string {
  const used = new Set<string>();
  for (const entry of store.branch())
    if (entry.type === "message" && entry.message.role === "assistant")
      for (const block of entry.message.content) if (block.type === "toolCall") used.add(block.id);
  let next = 1;
  return (id) => {
    let unique = id;
    while (unique === "" || used.has(unique)) unique = `${id || "call"}_${next++}`;
    used.add(unique);
    return unique;
  };
}
