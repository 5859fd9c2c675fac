import type { AgentMessage, UserContent } from "../contract/messages.ts";

/** A message as it is kept: what a person said or ran may hold a credential, all else was cleaned where it was made. */
export function redactedMessage(message: AgentMessage, redact: (text: string) => string): AgentMessage {
  switch (message.role) {
    case "user":
    case "custom":
      return { ...message, content: redactedContent(message.content, redact) };
    case "bashExecution":
      return { ...message, command: redact(message.command), output: redact(message.output) };
    default:
      return message;
  }
}

function redactedContent(
  content: string | UserContent[],
  redact: (text: string) => string,
): string | UserContent[] {
  if (typeof content === "string") return redact(content);
  return content.map((block) => (block.type === "text" ? { ...block, text: redact(block.text) } : block));
}
