import type { AgentSessionEvent, AssistantUpdateEvent } from "../contract/events.ts";
import type { AgentMessage } from "../contract/messages.ts";
import type { Redact } from "../contract/redact.ts";
import type { Sink } from "../contract/sink.ts";
import { toCleanJsonText, toJsonText } from "./json-text.ts";
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
  const toText = createMessageTexts(redact);

  function emit(event: AgentSessionEvent): void {
    switch (event.type) {
      case "message_update": {
        const { message, assistantMessageEvent } = event;
        if (growing?.message !== message) growing = createMessageBytes(message);
        writer.writeParts(toUpdateLine(growing.after(assistantMessageEvent), assistantMessageEvent));
        return;
      }
      case "message_start": {
        const { message } = event;
        const isLive = message.role === "assistant";
        if (isLive) growing = createMessageBytes(message);
        const text = isLive ? toCleanJsonText(message, redact) : toText.of(message);
        writer.write(`{"type":"message_start","message":${text}}\n`);
        return;
      }
      case "message_end":
        growing = undefined;
        writer.write(`{"type":"message_end","message":${toText.of(event.message)}}\n`);
        return;
      case "turn_end": {
        const results = event.toolResults.map(toText.of).join(",");
        writer.write(
          `{"type":"turn_end","message":${toText.of(event.message)},"toolResults":[${results}]}\n`,
        );
        toText.forget();
        return;
      }
      case "agent_end":
        emitEnd(event.messages);
        return;
      default:
        writer.write(`${toCleanJsonText(event, redact)}\n`);
    }
  }

  /** The line that repeats all messages is made piece by piece: as one text it would take twice its size. */
  function emitEnd(messages: readonly AgentMessage[]): void {
    writer.write('{"type":"agent_end","messages":[');
    messages.forEach((message, index) => {
      writer.write(`${index > 0 ? "," : ""}${toCleanJsonText(message, redact)}`);
    });
    writer.write("]}\n");
  }

  return {
    header(header) {
      writer.write(`${toCleanJsonText(header, redact)}\n`);
      // It says how to reach this run: it does not wait for the work that starts now.
      writer.flush();
    },
    emit,
    ready: () => writer.ready(),
    close: () => writer.close(),
  };
}

/** Longer ones are not kept: they would take as much room again as the message itself. */
const maxKeptLength = 1 << 20;

/** The texts of messages that do not change any more. Each stands in two or three lines of its turn, and is made once. */
function createMessageTexts(redact: Redact | undefined) {
  let kept = new Map<AgentMessage, string>();
  return {
    of(message: AgentMessage): string {
      const known = kept.get(message);
      // To look again costs a fraction of it: a model chosen within the turn brings a credential of its own.
      if (known !== undefined && (redact === undefined || redact(known) === known)) return known;
      const text = toCleanJsonText(message, redact);
      if (text.length <= maxKeptLength) kept.set(message, text);
      return text;
    },
    /** The turn is over. */
    forget(): void {
      kept = new Map();
    },
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
