import type { DeltaStreamLine, DeltaUpdateEvent } from "../contract/deltas.ts";
import type { AssistantUpdateEvent, StreamLine } from "../contract/events.ts";
import type { AssistantContent, AssistantMessage } from "../contract/messages.ts";

/**
 * Makes plain lines of `--json-deltas` lines again: puts the pieces of a message together. The message of an update is
 * a live one, as the session's own. What only the end of a message tells (usage, signatures) is not in its updates.
 */
export function createRebuilder(): (line: DeltaStreamLine) => StreamLine | undefined {
  let growing: AssistantMessage | undefined;

  return (line) => {
    switch (line.type) {
      case "message_start": {
        if (!("messageId" in line)) return line;
        growing = structuredClone(line.message);
        return { type: line.type, message: growing };
      }
      case "message_update":
        // Without its start nothing can be made of it.
        return growing === undefined ? undefined : toUpdate(growing, line.assistantMessageEvent);
      case "message_end":
        growing = undefined;
        return { type: line.type, message: line.message };
      default:
        return line;
    }
  };
}

function toUpdate(message: AssistantMessage, step: DeltaUpdateEvent): StreamLine {
  grow(message.content, step);
  // A step is the plain one without its `partial`; the call of a start is in the block.
  const own = step.type === "toolcall_start" ? { type: step.type, contentIndex: step.contentIndex } : step;
  const assistantMessageEvent = { ...own, partial: message } as AssistantUpdateEvent;
  return { type: "message_update", message, assistantMessageEvent };
}

/** Blocks grow in place: a sink keeps what it serialised of them. */
function grow(content: AssistantContent[], step: DeltaUpdateEvent): void {
  const { contentIndex: index } = step;
  const block = content[index];
  switch (step.type) {
    case "text_start":
      content[index] = { type: "text", text: "" };
      return;
    case "text_delta":
      if (block?.type === "text") block.text += step.delta;
      return;
    case "text_end":
      if (block?.type === "text") block.text = step.content;
      return;
    case "thinking_start":
      content[index] = { type: "thinking", thinking: "" };
      return;
    case "thinking_delta":
      if (block?.type === "thinking") block.thinking += step.delta;
      return;
    case "thinking_end":
      if (block?.type === "thinking") block.thinking = step.content;
      return;
    case "toolcall_start":
      content[index] = { type: "toolCall", ...step.toolCall, arguments: {} };
      return;
    case "toolcall_delta":
      return;
    case "toolcall_end":
      content[index] = step.toolCall;
  }
}
