import type { NewEntry } from "../../contract/entries.ts";
import type { AgentMessage } from "../../contract/messages.ts";
import { type Redact, redactValue } from "../../contract/redact.ts";
import type { SessionStore } from "./store.ts";

/** The store as one that keeps no credential, whoever says it: a prompt, a name, a label, a goal. */
export function withRedaction(store: SessionStore, redact: Redact): SessionStore {
  return { ...store, append: (entry) => store.append(redacted(entry, redact)) };
}

function redacted(entry: NewEntry, redact: Redact): NewEntry {
  switch (entry.type) {
    case "message":
      return { ...entry, message: redactedMessage(entry.message, redact) };
    // What a session goes on with has to be found again.
    case "model_change":
    case "thinking_level_change":
      return entry;
    default:
      return { ...redactValue(entry, redact), type: entry.type } as NewEntry;
  }
}

/** Replies and results were cleaned where they were made; they are the bulk of a session. */
function redactedMessage(message: AgentMessage, redact: Redact): AgentMessage {
  switch (message.role) {
    case "assistant":
    case "toolResult":
      return message;
    default:
      return { ...redactValue(message, redact), role: message.role } as AgentMessage;
  }
}
