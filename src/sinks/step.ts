import type { AssistantUpdateEvent } from "../contract/events.ts";

/** What a step of a message says without `partial`, its keys in the order of the stream whatever the event's is. */
export function toStep(event: AssistantUpdateEvent): object {
  const { type, contentIndex } = event;
  if ("delta" in event) return { type, contentIndex, delta: event.delta };
  if ("content" in event) return { type, contentIndex, content: event.content };
  if ("toolCall" in event) return { type, contentIndex, toolCall: event.toolCall };
  return { type, contentIndex };
}
