import type { StreamLine } from "../../src/contract/events.ts";

/**
 * The line of `--json-deltas` that belongs to a line of the plain stream, as the documentation says it: the lines of an
 * assistant message get the message's number, its updates lose what they repeat, all else stays byte for byte.
 */
export function toDeltaLine(plain: string, messageId: number): string {
  const line: StreamLine = JSON.parse(plain);
  if (line.type === "message_update") {
    const { partial, ...step } = line.assistantMessageEvent;
    const block = partial.content[step.contentIndex];
    const gained =
      step.type === "toolcall_start" && block?.type === "toolCall"
        ? { toolCall: { id: block.id, name: block.name } }
        : {};
    return escaped({ type: line.type, messageId, assistantMessageEvent: { ...step, ...gained } });
  }
  if ((line.type === "message_start" || line.type === "message_end") && line.message.role === "assistant")
    return plain.replace(`{"type":"${line.type}",`, `{"type":"${line.type}","messageId":${messageId},`);
  return plain;
}

function escaped(value: object): string {
  return JSON.stringify(value).replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029");
}
