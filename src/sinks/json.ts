import type { AgentSessionEvent, AssistantUpdateEvent } from "../contract/events.ts";
import type { AgentMessage } from "../contract/messages.ts";
import { type Redact, redactValue } from "../contract/redact.ts";
import type { Sink } from "../contract/sink.ts";
import { toJsonText } from "./json-text.ts";
import { createMessageBytes, type JsonParts, type MessageBytes } from "./message-bytes.ts";
import { toStep } from "./step.ts";
import type { Writer } from "./writer.ts";

export type JsonSinkOptions = {
  readonly writer: Writer;
  /**
   * Takes credentials out of every line but the updates of a message: a credential that is split over deltas can only
   * be seen where the deltas are put together, so the text of a growing message arrives here already clean.
   */
  readonly redact?: Redact;
};

/** Makes the sink of `--mode json`: one event, one line, as it happens. */
export function createJsonSink({ writer, redact }: JsonSinkOptions): Sink {
  let growing: MessageBytes | undefined;

  function emit(event: AgentSessionEvent): void {
    if (event.type === "message_update") {
      const { message, assistantMessageEvent } = event;
      if (growing?.message !== message) growing = createMessageBytes(message);
      writer.writeParts(toUpdateLine(growing.after(assistantMessageEvent), assistantMessageEvent));
      return;
    }
    if (event.type === "message_start" && event.message.role === "assistant")
      growing = createMessageBytes(event.message);
    if (event.type === "message_end") growing = undefined;
    if (event.type === "agent_end") emitEnd(event.messages);
    else writer.write(`${toJsonText(redactValue(event, redact))}\n`);
  }

  /** The line that repeats all messages is made piece by piece: as one text it would take twice its size. */
  function emitEnd(messages: readonly AgentMessage[]): void {
    writer.write('{"type":"agent_end","messages":[');
    messages.forEach((message, index) => {
      writer.write(`${index > 0 ? "," : ""}${toJsonText(redactValue(message, redact))}`);
    });
    writer.write("]}\n");
  }

  return {
    header(header) {
      writer.write(`${toJsonText(redactValue(header, redact))}\n`);
      // It says how to reach this run: it does not wait for the work that starts now.
      writer.flush();
    },
    emit,
    ready: () => writer.ready(),
    close: () => writer.close(),
  };
}

function toUpdateLine(message: JsonParts, event: AssistantUpdateEvent): JsonParts {
  const step = toJsonText(toStep(event)).slice(0, -1);
  return [
    '{"type":"message_update","message":',
    ...message,
    `,"assistantMessageEvent":${step},"partial":`,
    ...message,
    "}}\n",
  ];
}
