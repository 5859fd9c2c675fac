import type { JsonObject, JsonValue } from "./json.ts";
import type {
  AgentMessage,
  AssistantMessage,
  ImageContent,
  StopReason,
  TextContent,
  ToolCall,
  ToolResultMessage,
} from "./messages.ts";

/** Line 1 of every JSON stream and of every session file. */
export type SessionHeader = {
  type: "session";
  version: 3;
  id: string;
  /** ISO 8601. */
  timestamp: string;
  /** Absolute; where the tools run. */
  cwd: string;
  /** The session that this one was forked from: its id, or its file's path. */
  parentSession?: string;
};

/** One step of a streaming assistant message. `partial` is the message so far and equals the outer `message`. */
export type AssistantMessageEvent =
  | { type: "start"; partial: AssistantMessage }
  | { type: "text_start"; contentIndex: number; partial: AssistantMessage }
  | {
      type: "text_delta";
      contentIndex: number;
      delta: string;
      partial: AssistantMessage;
    }
  | {
      type: "text_end";
      contentIndex: number;
      content: string;
      partial: AssistantMessage;
    }
  | { type: "thinking_start"; contentIndex: number; partial: AssistantMessage }
  | {
      type: "thinking_delta";
      contentIndex: number;
      delta: string;
      partial: AssistantMessage;
    }
  | {
      type: "thinking_end";
      contentIndex: number;
      content: string;
      partial: AssistantMessage;
    }
  | { type: "toolcall_start"; contentIndex: number; partial: AssistantMessage }
  | {
      type: "toolcall_delta";
      contentIndex: number;
      delta: string;
      partial: AssistantMessage;
    }
  | {
      type: "toolcall_end";
      contentIndex: number;
      toolCall: ToolCall;
      partial: AssistantMessage;
    }
  | {
      type: "done";
      reason: Extract<StopReason, "stop" | "length" | "toolUse">;
      message: AssistantMessage;
    }
  | {
      type: "error";
      reason: Extract<StopReason, "error" | "aborted">;
      error: AssistantMessage;
    };

/** The assistant events that reach a reader as a `message_update` (the other three are message_start and message_end). */
export type AssistantUpdateEvent = Exclude<AssistantMessageEvent, { type: "start" | "done" | "error" }>;

/** What a tool gives back, whole or so far. */
export type ToolOutput = {
  content: (TextContent | ImageContent)[];
  details?: JsonValue;
};

export type AgentEvent =
  | { type: "agent_start" }
  | { type: "agent_end"; messages: AgentMessage[] }
  | { type: "turn_start" }
  | {
      type: "turn_end";
      message: AgentMessage;
      toolResults: ToolResultMessage[];
    }
  | { type: "message_start"; message: AgentMessage }
  | {
      type: "message_update";
      message: AssistantMessage;
      assistantMessageEvent: AssistantUpdateEvent;
    }
  | { type: "message_end"; message: AgentMessage }
  | {
      type: "tool_execution_start";
      toolCallId: string;
      toolName: string;
      args: JsonObject;
    }
  | {
      type: "tool_execution_update";
      toolCallId: string;
      toolName: string;
      args: JsonObject;
      partialResult: ToolOutput;
    }
  | {
      type: "tool_execution_end";
      toolCallId: string;
      toolName: string;
      result: ToolOutput;
      isError: boolean;
    };

/** What waits and what is at work. */
export type SessionActionSnapshot = {
  /** `steering.length + followUps.length`. */
  queuedCount: number;
  steering: string[];
  followUps: string[];
  active?: {
    kind: "turn" | "session_command";
    phase: "preparing" | "committing" | "running";
    label?: string;
  };
};

export type CompactionReason = "manual" | "threshold" | "overflow";

export type CompactionResult = {
  summary: string;
  /** The oldest entry that stays in the context. */
  firstKeptEntryId: string;
  tokensBefore: number;
  details?: JsonValue;
};

/** Everything that a JSON reader sees after the session header. */
export type AgentSessionEvent =
  | AgentEvent
  | { type: "session_action_update"; actions: SessionActionSnapshot }
  | { type: "compaction_start"; reason: CompactionReason }
  | {
      type: "compaction_end";
      reason: CompactionReason;
      /** Absent on the wire when the compaction failed or was aborted. */
      result: CompactionResult | undefined;
      aborted: boolean;
      willRetry: boolean;
      errorMessage?: string;
    }
  | {
      type: "auto_retry_start";
      attempt: number;
      maxAttempts: number;
      delayMs: number;
      errorMessage: string;
    }
  | {
      type: "auto_retry_end";
      success: boolean;
      attempt: number;
      finalError?: string;
    };

/** A line of the JSON stream. */
export type StreamLine = SessionHeader | AgentSessionEvent;

/** Takes an event. Synchronous: the order of calls is the order of lines. Never throws. */
export type Emit = (event: AgentSessionEvent) => void;
