import type { Line } from "./run-cli.ts";

/**
 * A run's events without what differs from API to API (ids, times, signatures, how a text was cut into deltas, what a
 * provider words its own way): one line an event, and one a content block.
 */
export function toStory(lines: readonly Line[]): string[] {
  const story: string[] = [];
  let blocks = new Map<number, string[]>();
  for (const line of lines) {
    if (line.type === "message_update") {
      addUpdate(blocks, line.assistantMessageEvent);
      continue;
    }
    for (const [, steps] of [...blocks].sort(([a], [b]) => a - b)) story.push(steps.join(" "));
    blocks = new Map();
    const told = toLine(line);
    if (told !== undefined) story.push(told);
  }
  return story;
}

function addUpdate(blocks: Map<number, string[]>, event: Line): void {
  const steps = blocks.get(event.contentIndex) ?? [];
  blocks.set(event.contentIndex, steps);
  const [kind = "", step] = String(event.type).split("_");
  if (step === "start") {
    const { name } = event.partial?.content[event.contentIndex] ?? {};
    steps.push(name === undefined ? kind : `${kind} ${name}`, "");
  } else if (step === "delta") steps[1] = `${steps[1]}${event.delta}`;
  else steps.push("end");
}

function toLine(line: Line): string | undefined {
  switch (line.type) {
    case "session":
    case "session_action_update":
      return undefined;
    case "message_start":
      return line.message.role === "assistant" ? "assistant" : undefined;
    case "message_end":
      return toMessage(line.message);
    case "tool_execution_start":
      return `run ${line.toolName} ${JSON.stringify(line.args)}`;
    case "tool_execution_update":
      return undefined;
    case "tool_execution_end":
      return `ran ${line.toolName}${line.isError ? " in vain" : ""}`;
    case "auto_retry_start":
      return `retry ${line.attempt} of ${line.maxAttempts}`;
    case "auto_retry_end":
      return `retry ${line.success ? "worked" : "failed"} after ${line.attempt}`;
    case "agent_end":
      return `agent_end ${line.messages.map(({ role }: Line) => role).join(" ")}`;
    default:
      return String(line.type);
  }
}

function toMessage(message: Line): string {
  if (message.role === "user") return "user";
  if (message.role === "toolResult")
    return `result of ${message.toolName}${message.isError ? ": error" : ""}`;
  const { content, usage, stopReason } = message;
  const said = content.map((block: Line) => {
    if (block.type === "toolCall") return `${block.name}(${JSON.stringify(block.arguments)})`;
    return `${block.type} ${JSON.stringify(block.text ?? block.thinking)}`;
  });
  // Of a reply that failed some APIs have told the usage already, some not.
  const tokens = stopReason === "error" ? [] : [`${usage.input}+${usage.cacheRead}+${usage.output}`];
  return [stopReason, ...tokens, ...said].join(" | ");
}
