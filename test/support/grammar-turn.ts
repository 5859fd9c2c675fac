import { isDeepStrictEqual } from "node:util";
import type { AgentEvent } from "../../src/contract/events.ts";
import type {
  AgentMessage,
  AssistantMessage,
  ToolCall,
  ToolResultMessage,
} from "../../src/contract/messages.ts";
import type { Report } from "./grammar.ts";

type ExecutionLine = Extract<
  AgentEvent,
  { type: "tool_execution_start" | "tool_execution_update" | "tool_execution_end" }
>;
type ExecutionEnd = Extract<ExecutionLine, { type: "tool_execution_end" }>;

/** Follows one turn: what was said, the model's message, its tools at work, their results. */
export type TurnCheck = {
  /** A message starts in the turn. */
  start(message: AgentMessage): void;
  /** A message ended in the turn. */
  finish(message: AgentMessage): void;
  execution(line: ExecutionLine): void;
  end(line: { message: AgentMessage; toolResults: readonly ToolResultMessage[] }): void;
};

export function createTurnCheck(report: Report): TurnCheck {
  let started = false;
  let reply: AssistantMessage | undefined;
  let calls: readonly ToolCall[] = [];
  const running = new Map<string, ExecutionEnd | undefined>();
  const results: ToolResultMessage[] = [];

  function start(message: AgentMessage): void {
    if (message.role === "assistant") {
      if (started) report("a second assistant message in a turn");
      started = true;
    } else if (message.role === "toolResult") {
      const call = calls[results.length];
      if (reply === undefined) report("a toolResult before the assistant message");
      else if (call?.id !== message.toolCallId)
        report(`the toolResult of ${message.toolCallId} is not the next in call order`);
      else checkResult(call, message);
    } else if (started) report(`a message of role ${message.role} after the assistant message of its turn`);
  }

  function checkResult(call: ToolCall, message: ToolResultMessage): void {
    if (call.name !== message.toolName) report(`the toolResult of ${call.id} names another tool`);
    if (!running.has(call.id)) return;
    const end = running.get(call.id);
    if (end === undefined) report(`the toolResult of ${call.id} comes before its tool_execution_end`);
    else if (end.isError !== message.isError || !isDeepStrictEqual(end.result.content, message.content))
      report(`the toolResult of ${call.id} differs from its tool_execution_end`);
  }

  function finish(message: AgentMessage): void {
    if (message.role === "toolResult") results.push(message);
    if (message.role !== "assistant") return;
    reply = message;
    calls = message.content.filter((block) => block.type === "toolCall");
  }

  function execution(line: ExecutionLine): void {
    const call = calls.find(({ id }) => id === line.toolCallId);
    if (call === undefined) {
      report(`${line.type} of ${line.toolCallId}, which this turn did not call`);
      return;
    }
    if (call.name !== line.toolName) report(`${line.type} of ${call.id} names another tool`);
    if (line.type === "tool_execution_start") startExecution(call, line.args);
    else if (!running.has(call.id)) report(`${line.type} of ${call.id} without its start`);
    else if (running.get(call.id) !== undefined) report(`${line.type} of ${call.id} after its end`);
    else if (line.type === "tool_execution_end") running.set(call.id, line);
  }

  function startExecution(call: ToolCall, args: unknown): void {
    if (reply !== undefined && reply.stopReason !== "stop" && reply.stopReason !== "toolUse")
      report(`the call ${call.id} of a message that ended in ${reply.stopReason} is run`);
    if (results.length > 0) report("a tool_execution_start after a toolResult");
    if (running.has(call.id)) report(`the call ${call.id} is run twice`);
    const later = calls.slice(calls.indexOf(call) + 1).find(({ id }) => running.has(id));
    if (later !== undefined) report(`the call ${call.id} starts after ${later.id}`);
    if (!isDeepStrictEqual(args, call.arguments)) report(`the call ${call.id} is run with other arguments`);
    running.set(call.id, undefined);
  }

  function end(line: { message: AgentMessage; toolResults: readonly ToolResultMessage[] }): void {
    for (const [id, ended] of running)
      if (ended === undefined) report(`turn_end before the tool_execution_end of ${id}`);
    if (reply === undefined) {
      report("turn_end without an assistant message");
      return;
    }
    if (!isDeepStrictEqual(line.message, reply))
      report("turn_end.message is not the turn's assistant message");
    if (!isDeepStrictEqual(line.toolResults, results))
      report("turn_end.toolResults are not the turn's toolResult messages");
    const complete = reply.stopReason !== "error" && reply.stopReason !== "aborted";
    if (complete && results.length !== calls.length)
      report(`${calls.length} calls have ${results.length} toolResults`);
  }

  return { start, finish, execution, end };
}
