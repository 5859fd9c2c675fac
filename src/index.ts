/**
 * What other programs use: the types of the event stream, and a parser for it. Loads nothing but itself.
 */
export type { DeltaStreamLine, DeltaUpdateEvent } from "./contract/deltas.ts";
export type {
  AgentEvent,
  AgentSessionEvent,
  AssistantMessageEvent,
  AssistantUpdateEvent,
  CompactionReason,
  CompactionResult,
  SessionActionSnapshot,
  SessionHeader,
  StreamLine,
  ToolOutput,
} from "./contract/events.ts";
export type { JsonObject, JsonValue } from "./contract/json.ts";
export type {
  AgentMessage,
  Api,
  AssistantContent,
  AssistantMessage,
  BashExecutionMessage,
  BranchSummaryMessage,
  CompactionSummaryMessage,
  Cost,
  CustomMessage,
  ImageContent,
  StopReason,
  TextContent,
  ThinkingContent,
  ToolCall,
  ToolResultMessage,
  Usage,
  UserContent,
  UserMessage,
} from "./contract/messages.ts";
export { type EventSource, readDeltaEvents, readEvents } from "./contract/read-events.ts";
