import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { DeltaStreamLine } from "../../src/contract/deltas.ts";
import type { CompactionReason, SessionActionSnapshot, StreamLine } from "../../src/contract/events.ts";
import type { AgentMessage, AssistantMessage } from "../../src/contract/messages.ts";
import { deltaStreamLineSchema, streamLineSchema } from "../../src/contract/schema.ts";
import { createMessageCheck, type MessageCheck } from "./grammar-message.ts";
import { createTurnCheck, type TurnCheck } from "./grammar-turn.ts";

export type StreamOptions = {
  /** The stream of `--json-deltas`. */
  readonly deltas?: boolean;
  /** The reader went away, so the stream may stop anywhere. */
  readonly cut?: boolean;
};

/** Takes a violation in words. */
export type Report = (violation: string) => void;

/** A valid line of either kind of stream. */
export type AnyLine = StreamLine | DeltaStreamLine;

/**
 * Holds a whole stream against its schema and its grammar: what comes first, what encloses what, what has to be there,
 * and what has to be equal. Gives the violations, each with its line number; a startup that was refused has no lines
 * and none.
 */
export function checkStream(lines: readonly unknown[], options: StreamOptions = {}): string[] {
  const { deltas = false, cut = false } = options;
  const violations: string[] = [];
  let number = 0;
  const report: Report = (violation) => violations.push(`line ${number}: ${violation}`);
  const schema = deltas ? deltaStreamLineSchema : streamLineSchema;
  const check = createStreamCheck(deltas, report);
  for (const line of lines) {
    number++;
    const result = schema.safeParse(line);
    if (result.success) check.take(line as AnyLine);
    else report(`not of the schema: ${z.prettifyError(result.error)}`);
  }
  if (!cut && lines.length > 0) check.end();
  return violations;
}

/** An agent run: from `agent_start` to `agent_end`. */
type Run = {
  /** The messages that count so far. */
  messages: AgentMessage[];
  /** A failed attempt that no longer counts once the next one has ended. */
  superseded?: AgentMessage | undefined;
  turn?: TurnCheck | undefined;
  /** The last assistant message. */
  last?: AssistantMessage;
  /** The attempt of the open retry series. */
  retry?: number | undefined;
};

type OpenMessage = MessageCheck | { readonly plain: AgentMessage };

function createStreamCheck(deltas: boolean, report: Report) {
  let previous: AnyLine | undefined;
  let run: Run | undefined;
  let message: OpenMessage | undefined;
  let compaction: CompactionReason | undefined;
  let actions: SessionActionSnapshot | undefined;
  let assistantCount = 0;
  const callIds = new Set<string>();

  function take(line: AnyLine): void {
    if ((previous === undefined) !== (line.type === "session"))
      report("the session header is line 1 and only line 1");
    if (previous?.type === "agent_start" && line.type !== "session_action_update")
      report("agent_start is not followed by a session_action_update");
    if (message !== undefined && !mayInterrupt.has(line.type)) report(`${line.type} within a message`);
    if (compaction !== undefined && !duringCompaction.has(line.type))
      report(`${line.type} within a compaction`);
    takeByType(line);
    previous = line;
  }

  function takeByType(line: AnyLine): void {
    switch (line.type) {
      case "session":
        return;
      case "agent_start":
        if (run !== undefined) report("agent_start within an agent run");
        run = { messages: [] };
        return;
      case "agent_end":
        endRun(line.messages);
        return;
      case "turn_start":
        if (run === undefined) {
          report("turn_start outside of an agent run");
          return;
        }
        if (run.turn !== undefined) report("turn_start within a turn");
        run.turn = createTurnCheck(report);
        return;
      case "turn_end":
        if (run?.turn === undefined) {
          report("turn_end outside of a turn");
          return;
        }
        run.turn.end(line);
        run.turn = undefined;
        return;
      case "message_start":
      case "message_update":
      case "message_end":
        takeMessage(line);
        return;
      case "tool_execution_start":
      case "tool_execution_update":
      case "tool_execution_end":
        if (run?.turn === undefined) {
          report(`${line.type} outside of a turn`);
          return;
        }
        run.turn.execution(line);
        return;
      case "session_action_update":
        if (isDeepStrictEqual(line.actions, actions)) report("session_action_update says the same twice");
        if (line.actions.queuedCount !== line.actions.steering.length + line.actions.followUps.length)
          report("queuedCount is not what is queued");
        actions = line.actions;
        return;
      case "compaction_start":
      case "compaction_end":
        takeCompaction(line);
        return;
      case "auto_retry_start":
      case "auto_retry_end":
        takeRetry(line);
        return;
    }
  }

  function endRun(messages: readonly AgentMessage[]): void {
    if (run === undefined) {
      report("agent_end outside of an agent run");
      return;
    }
    if (run.turn !== undefined) report("agent_end within a turn");
    if (run.retry !== undefined) report("agent_end within a retry series");
    if (previous?.type !== "session_action_update" || previous.actions.active !== undefined)
      report("agent_end does not follow a session_action_update without active");
    if (!isDeepStrictEqual(messages, run.messages))
      report(
        `agent_end.messages are not those that counted: ${rolesOf(messages)}, not ${rolesOf(run.messages)}`,
      );
    run = undefined;
  }

  function takeMessage(
    line: Extract<AnyLine, { type: "message_start" | "message_update" | "message_end" }>,
  ): void {
    if (line.type === "message_start") {
      if (message !== undefined) report("message_start within a message");
      place(line.message);
      if (line.message.role === "assistant")
        message = createMessageCheck(line, { number: ++assistantCount, deltas, report });
      else message = { plain: line.message };
      return;
    }
    if (message === undefined) {
      report(`${line.type} outside of a message`);
      return;
    }
    if (line.type === "message_update") {
      if ("plain" in message) report("message_update of a message that is not the assistant's");
      else message.update(line);
      return;
    }
    if (!("plain" in message)) message.end(line);
    else if (!isDeepStrictEqual(line.message, message.plain))
      report("message_end differs from its message_start");
    message = undefined;
    finish(line.message);
  }

  /** A message starts where messages of its role belong. */
  function place(starting: AgentMessage): void {
    const needsTurn =
      starting.role === "user" || starting.role === "assistant" || starting.role === "toolResult";
    if (run?.turn !== undefined) run.turn.start(starting);
    else if (needsTurn) report(`a message of role ${starting.role} outside of a turn`);
  }

  function finish(ended: AgentMessage): void {
    if (ended.role === "assistant")
      for (const block of ended.content) {
        if (block.type !== "toolCall") continue;
        if (callIds.has(block.id)) report(`the tool call id ${block.id} is used twice`);
        callIds.add(block.id);
      }
    if (run === undefined) return;
    run.turn?.finish(ended);
    if (ended.role === "assistant") {
      run.messages = run.messages.filter((each) => each !== run?.superseded);
      run.superseded = undefined;
      run.last = ended;
    }
    run.messages.push(ended);
  }

  function takeCompaction(line: Extract<AnyLine, { type: "compaction_start" | "compaction_end" }>): void {
    if (run?.turn !== undefined) report(`${line.type} within a turn`);
    if (line.type === "compaction_start") {
      if (compaction !== undefined) report("compaction_start within a compaction");
      compaction = line.reason;
      return;
    }
    if (compaction === undefined) report("compaction_end without compaction_start");
    else if (compaction !== line.reason) report("compaction_end has another reason than its start");
    compaction = undefined;
    const failed = line.aborted || line.errorMessage !== undefined;
    if (failed === (line.result !== undefined))
      report("compaction_end has a result exactly when it did not fail");
    if (line.reason === "overflow" && line.willRetry && run !== undefined) run.superseded = run.last;
  }

  function takeRetry(line: Extract<AnyLine, { type: "auto_retry_start" | "auto_retry_end" }>): void {
    if (run === undefined) {
      report(`${line.type} outside of an agent run`);
      return;
    }
    if (line.type === "auto_retry_start") {
      if (run.turn !== undefined) report("auto_retry_start within a turn");
      if (run.last?.stopReason !== "error") report("auto_retry_start without a failed attempt");
      if (line.attempt !== (run.retry ?? 0) + 1)
        report(`auto_retry_start has attempt ${line.attempt} out of turn`);
      if (line.attempt > line.maxAttempts) report("auto_retry_start has more attempts than there may be");
      run.retry = line.attempt;
      run.superseded = run.last;
      return;
    }
    if (run.retry === undefined) report("auto_retry_end without auto_retry_start");
    else if (run.retry !== line.attempt) report("auto_retry_end has another attempt than the last start");
    if (line.success === (line.finalError !== undefined))
      report("auto_retry_end has a finalError exactly when it failed");
    if (line.success && run.last?.stopReason === "error")
      report("auto_retry_end calls a failed attempt a success");
    if (line.success && previous?.type !== "message_end" && previous?.type !== "session_action_update")
      report("auto_retry_end does not follow the end of the attempt that worked");
    run.retry = undefined;
  }

  function end(): void {
    if (message !== undefined) report("the stream ends within a message");
    if (run?.turn !== undefined) report("the stream ends within a turn");
    if (run !== undefined) report("the stream ends within an agent run");
    if (compaction !== undefined) report("the stream ends within a compaction");
    if (actions?.active !== undefined) report("the stream ends with something active");
  }

  return { take, end };
}

/** What may come between the start and the end of a message. */
const mayInterrupt: ReadonlySet<AnyLine["type"]> = new Set([
  "message_start",
  "message_update",
  "message_end",
  "session_action_update",
]);
const duringCompaction: ReadonlySet<AnyLine["type"]> = new Set([
  "compaction_start",
  "compaction_end",
  "session_action_update",
]);

function rolesOf(messages: readonly AgentMessage[]): string {
  return `[${messages.map((each) => (each.role === "assistant" ? `assistant/${each.stopReason}` : each.role)).join(" ")}]`;
}
