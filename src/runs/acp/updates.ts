import type * as acp from "@agentclientprotocol/sdk";
import type { AgentSessionEvent, AssistantUpdateEvent } from "../../contract/events.ts";
import type {
  AgentMessage,
  AssistantMessage,
  ToolResultMessage,
  UserContent,
} from "../../contract/messages.ts";
import { describeCall, kindOf, resultContent } from "./tool-call.ts";

/** Turns the events of a session, as they happen, into what an editor is told. */
export type UpdateMaker = (event: AgentSessionEvent) => acp.SessionUpdate[];

/** Makes one for a session; `cwd` is where its tools work. */
export function createUpdateMaker(cwd: string): UpdateMaker {
  /** Calls that the editor was told of and that are not over. */
  const open = new Set<string>();

  function update(message: AssistantMessage, event: AssistantUpdateEvent): acp.SessionUpdate[] {
    switch (event.type) {
      case "text_delta":
        return said("agent_message_chunk", event.delta);
      case "thinking_delta":
        return said("agent_thought_chunk", event.delta);
      case "toolcall_start": {
        const call = message.content[event.contentIndex];
        if (call?.type !== "toolCall") return [];
        open.add(call.id);
        const { id, name } = call;
        return [
          { sessionUpdate: "tool_call", toolCallId: id, title: name, kind: kindOf(name), status: "pending" },
        ];
      }
      case "toolcall_end": {
        const { toolCall } = event;
        return [
          { sessionUpdate: "tool_call_update", toolCallId: toolCall.id, ...describeCall(toolCall, cwd) },
        ];
      }
      default:
        return [];
    }
  }

  function messageEnd(message: AgentMessage): acp.SessionUpdate[] {
    if (message.role === "custom") return message.display ? customText(message.content) : [];
    if (message.role === "toolResult") return open.has(message.toolCallId) ? close(message) : [];
    // Calls of a message that was cut are never run.
    if (message.role !== "assistant" || !(message.stopReason === "error" || message.stopReason === "aborted"))
      return [];
    return message.content.flatMap((block) =>
      block.type === "toolCall" && open.delete(block.id)
        ? [{ sessionUpdate: "tool_call_update" as const, toolCallId: block.id, status: "failed" as const }]
        : [],
    );
  }

  function close({
    toolCallId,
    toolName,
    isError,
    ...output
  }: Omit<ToolResultMessage, "role" | "timestamp">): acp.SessionUpdate[] {
    open.delete(toolCallId);
    return [resultUpdate({ toolCallId, toolName, isError, ...output })];
  }

  return (event) => {
    switch (event.type) {
      case "message_update":
        return update(event.message, event.assistantMessageEvent);
      case "message_end":
        return messageEnd(event.message);
      case "tool_execution_start":
        return [{ sessionUpdate: "tool_call_update", toolCallId: event.toolCallId, status: "in_progress" }];
      case "tool_execution_update": {
        const content = resultContent(event.toolName, event.partialResult, false);
        return content === undefined
          ? []
          : [{ sessionUpdate: "tool_call_update", toolCallId: event.toolCallId, content }];
      }
      case "tool_execution_end":
        return close({ ...event, ...event.result });
      case "auto_retry_start":
        return said(
          "agent_thought_chunk",
          `\n[${event.errorMessage}; trying again in ${Math.ceil(event.delayMs / 1000)} s]\n`,
        );
      default:
        return [];
    }
  };
}

/** Tells an earlier conversation again, from its messages. */
export function replayUpdates(messages: readonly AgentMessage[], cwd: string): acp.SessionUpdate[] {
  const results = new Map(
    messages.flatMap((message) =>
      message.role === "toolResult" ? [[message.toolCallId, message] as const] : [],
    ),
  );
  return messages.flatMap((message): acp.SessionUpdate[] => {
    switch (message.role) {
      case "user":
        return blocks(message.content).map((content) => ({ sessionUpdate: "user_message_chunk", content }));
      case "assistant":
        return message.content.flatMap((block) => {
          if (block.type === "text") return said("agent_message_chunk", block.text);
          if (block.type === "thinking") return said("agent_thought_chunk", block.thinking);
          const result = results.get(block.id);
          const call = { toolCallId: block.id, ...describeCall(block, cwd) };
          return [
            { sessionUpdate: "tool_call", ...call, status: "pending" },
            result === undefined
              ? { sessionUpdate: "tool_call_update", toolCallId: block.id, status: "failed" }
              : resultUpdate(result),
          ];
        });
      case "custom":
        return message.display ? customText(message.content) : [];
      default:
        return [];
    }
  });
}

function resultUpdate({
  toolCallId,
  toolName,
  isError,
  content,
}: Omit<ToolResultMessage, "role" | "timestamp">): acp.SessionUpdate {
  const shown = resultContent(toolName, { content }, isError);
  return {
    sessionUpdate: "tool_call_update",
    toolCallId,
    status: isError ? "failed" : "completed",
    ...(shown === undefined ? {} : { content: shown }),
    rawOutput: { content },
  };
}

function customText(content: string | UserContent[]): acp.SessionUpdate[] {
  return blocks(content).map((block) => ({ sessionUpdate: "agent_message_chunk", content: block }));
}

function blocks(content: string | UserContent[]): UserContent[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function said(
  sessionUpdate: "agent_message_chunk" | "agent_thought_chunk",
  text: string,
): acp.SessionUpdate[] {
  return text === "" ? [] : [{ sessionUpdate, content: { type: "text", text } }];
}
