/**
 * What other programs use: the types of the event stream, a parser for it, and a client of `--mode rpc`. Loads nothing
 * but itself.
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
export type {
  RpcBashResult,
  RpcCommand,
  RpcCommandInfo,
  RpcCommandName,
  RpcCommands,
  RpcFailure,
  RpcModel,
  RpcQueued,
  RpcResponse,
  RpcResults,
  RpcSessionPlace,
  RpcSessionStats,
  RpcState,
  RpcSuccess,
} from "./runs/protocol.ts";
export {
  createRpcClient,
  type RpcClient,
  type RpcConnection,
  RpcError,
  type SpawnedRpcClient,
  type SpawnRpcOptions,
  spawnRpcClient,
} from "./runs/rpc/client.ts";
