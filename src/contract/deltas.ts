import type { AgentSessionEvent, AssistantUpdateEvent, SessionHeader } from "./events.ts";
import type { AgentMessage, AssistantMessage, ToolCall } from "./messages.ts";

/** A step of a streaming message in a `--json-deltas` stream: as in the plain stream, without `partial`. */
export type DeltaUpdateEvent =
  | WithoutPartial<Exclude<AssistantUpdateEvent, { type: "toolcall_start" }>>
  | { type: "toolcall_start"; contentIndex: number; toolCall: Pick<ToolCall, "id" | "name"> };

/** A line of a `--json-deltas` stream. */
export type DeltaStreamLine =
  | SessionHeader
  | Exclude<AgentSessionEvent, { type: "message_start" | "message_update" | "message_end" }>
  | DeltaEdge<"message_start">
  | { type: "message_update"; messageId: number; assistantMessageEvent: DeltaUpdateEvent }
  | DeltaEdge<"message_end">;

type DeltaEdge<Type> =
  | {
      type: Type;
      /** Counts the assistant messages of this stream from 1. */
      messageId: number;
      message: AssistantMessage;
    }
  | { type: Type; message: Exclude<AgentMessage, AssistantMessage> };

type WithoutPartial<E> = E extends { partial: AssistantMessage } ? Omit<E, "partial"> : never;
