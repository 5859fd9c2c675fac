import type { LoopDeps } from "../agent/loop.ts";
import { createRepeatGuard } from "../agent/repeat-guard.ts";
import type { ProviderError } from "../contract/errors.ts";
import type { UserMessage } from "../contract/messages.ts";
import type { RunLimit } from "../contract/outcome.ts";
import type { ProviderRequest } from "../contract/provider.ts";
import type { SessionActions } from "./actions.ts";
import type { AgentSessionOptions } from "./agent-session.ts";
import { createCallIds } from "./call-ids.ts";
import type { ChosenModel } from "./chosen-model.ts";
import { supersededType } from "./context/context.ts";
import type { ContextGuard } from "./context/guard.ts";
import type { PromptCourse } from "./prompt-course.ts";
import type { RetrySeries } from "./retry.ts";
import type { SessionRecord } from "./session-record.ts";

export type TurnsDeps = Pick<
  AgentSessionOptions,
  "tools" | "store" | "cwd" | "ready" | "secrets" | "redact" | "now" | "limit"
> & {
  readonly record: SessionRecord;
  readonly chosen: ChosenModel;
  readonly actions: SessionActions;
  readonly course: PromptCourse;
  readonly retry: RetrySeries;
  readonly context: ContextGuard;
  readonly buildRequest: () => ProviderRequest;
};

/** What a session does around each of its turns. */
export type Turns = {
  readonly loop: LoopDeps;
  /** Whether a limit is reached; it is then part of the outcome. */
  isOver(): boolean;
  /** Forgets which calls were repeated. */
  renew(): void;
};

/** Makes what the loop is run with: limits, compaction and retries between the turns, and what they are kept by. */
export function createTurns(deps: TurnsDeps): Turns {
  const { record, chosen, actions, course, retry, context } = deps;
  const guard = createRepeatGuard();

  function isOver(): boolean {
    const repeated = guard.exceeded();
    const limit: RunLimit | undefined =
      repeated === undefined ? deps.limit?.() : { name: "repeated_call", message: repeated };
    if (limit !== undefined) record.outcome.limit = limit;
    return limit !== undefined;
  }

  async function beforeTurn(signal: AbortSignal): ReturnType<LoopDeps["beforeTurn"]> {
    course.keepWaiting();
    if (isOver() || signal.aborted) return "stop";
    const stuck = await context.beforeRequest(signal);
    // A summary costs too.
    if (isOver() || signal.aborted) return "stop";
    if (stuck !== undefined) return { errorMessage: stuck };
    actions.setActive({ kind: "turn", phase: "running" });
    return "go";
  }

  async function onFailure(error: ProviderError, signal: AbortSignal): ReturnType<LoopDeps["onFailure"]> {
    if (isOver()) {
      // No attempt follows, so that there is nothing to wait or to make room for.
      retry.fail(error);
      return "give_up";
    }
    if (error.kind === "overflow") {
      retry.fail(error);
      const compacted = await context.onOverflow(signal);
      if (compacted.kind === "failed")
        record.fail("compaction", `the context could not be made small enough: ${compacted.message}`);
      if (compacted.kind !== "done") return "give_up";
    } else if (!(await retry.next(error, signal))) return "give_up";
    course.supersede();
    return "try_again";
  }

  function takeQueued(when: Parameters<LoopDeps["takeQueued"]>[0]): UserMessage[] {
    // At a limit they would be taken and never said.
    if (actions.snapshot().queuedCount === 0 || isOver()) return [];
    const texts = actions.take(when === "at_end" ? when : "between_turns");
    if (when === "before_retry" && texts.length > 0)
      record.append({ type: "custom", customType: supersededType });
    return texts.map((content) => {
      const message: UserMessage = { role: "user", content, timestamp: deps.now() };
      record.message(message);
      return message;
    });
  }

  const { emit } = course;
  const { tools, store, cwd, ready, secrets, redact, now, buildRequest } = deps;
  const loop: LoopDeps = {
    ask: {
      ...{ emit, ready, secrets, redact, now },
      provider: chosen.provider,
      record: (reply) => record.reply(reply, chosen.model()),
      uniqueCallId: createCallIds(store),
    },
    tools: {
      ...{ emit, ready, redact, guard, cwd, now },
      tools: new Map(tools.map((tool) => [tool.name, tool])),
      record: record.message,
    },
    beforeTurn,
    buildRequest: () => ({ ...buildRequest(), contextTokens: context.size() }),
    onSuccess({ message }) {
      retry.succeed();
      context.onReply(message);
    },
    onFailure,
    takeQueued,
  };
  return { loop, isOver, renew: guard.reset };
}
