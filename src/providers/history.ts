import type { AssistantMessage } from "../contract/messages.ts";
import type { Model } from "../contract/provider.ts";

/** Whether a message was made by the model that it is sent to: signatures hold for that one only. */
export function isOwn(message: AssistantMessage, model: Model): boolean {
  return message.api === model.api && message.provider === model.provider && message.model === model.id;
}

/**
 * A tool's name as every API takes it: a name that the model made up, or that another provider allowed, must not make
 * the whole history invalid.
 */
export function toToolName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "unknown";
}

/** What stands for an image where the model takes none. */
export const imageNote = "(image left out: this model takes none)";
