import type { AgentSessionEvent, AssistantUpdateEvent } from "../contract/events.ts";
import type { AgentMessage } from "../contract/messages.ts";
import type { Sink } from "../contract/sink.ts";
import { createJsonSink, type JsonSinkOptions } from "./json.ts";
import { toCleanJsonText, toJsonText } from "./json-text.ts";
import { toStep } from "./step.ts";

/**
 * Makes the sink of `--json-deltas`: the JSON sink, but the lines of a growing message carry only what is new, and a
 * number that tells the assistant messages of the stream apart.
 */
export function createDeltaSink(options: JsonSinkOptions): Sink {
  const plain = createJsonSink(options);
  const { writer, redact } = options;
  let messageId = 0;
  let isOpen = false;

  function open(): void {
    if (!isOpen) messageId++;
    isOpen = true;
  }

  function emit(event: AgentSessionEvent): void {
    if (event.type === "message_update") {
      open();
      const assistantMessageEvent = toDeltaStep(event.assistantMessageEvent);
      writer.write(`${toJsonText({ type: event.type, messageId, assistantMessageEvent })}\n`);
    } else if (isAssistantEdge(event)) {
      open();
      if (event.type === "message_end") isOpen = false;
      const line = { type: event.type, messageId, message: event.message };
      writer.write(`${toCleanJsonText(line, redact)}\n`);
    } else plain.emit(event);
  }

  return { ...plain, emit };
}

function isAssistantEdge(
  event: AgentSessionEvent,
): event is { type: "message_start" | "message_end"; message: AgentMessage } {
  return (
    (event.type === "message_start" || event.type === "message_end") && event.message.role === "assistant"
  );
}

function toDeltaStep(event: AssistantUpdateEvent): object {
  if (event.type !== "toolcall_start") return toStep(event);
  const block = event.partial.content[event.contentIndex];
  const { id, name } = block?.type === "toolCall" ? block : { id: "", name: "" };
  return { ...toStep(event), toolCall: { id, name } };
}
