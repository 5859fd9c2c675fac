import type { AgentMessage, UserContent } from "../contract/messages.ts";

/** A message as it is kept: what a person said may hold a credential, all others were cleaned where they were made. */
export function redactedMessage(message: AgentMessage, redact: (text: string) => string): AgentMessage {
  if (message.role !== "user" && message.role !== "custom") return message;
  const { content } = message;
  if (typeof content === "string") return { ...message, content: redact(content) };
  const clean = (block: UserContent): UserContent =>
    block.type === "text" ? { ...block, text: redact(block.text) } : block;
  return { ...message, content: content.map(clean) };
}
