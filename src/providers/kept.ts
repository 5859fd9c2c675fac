import type { JsonObject } from "../contract/json.ts";
import type { ModelMessage } from "../contract/messages.ts";
import type { Model, ToolSchema } from "../contract/provider.ts";

/** Gives what `make` makes of a message, made once; `make` may depend on the message, the model and the ids alone. */
export type Keep<T> = (message: ModelMessage, make: () => readonly T[]) => readonly T[];

type Kept = {
  /** The ids of the message's tool calls, and what they were mapped to. */
  readonly ids: readonly string[];
  readonly mapped: readonly string[];
  readonly made: readonly unknown[];
};

/** What was made of messages, which never change: all of a long history is sent at every turn. */
const madeBefore = new WeakMap<Model, WeakMap<ModelMessage, Kept>>();

/**
 * Keeps what messages become in the requests to a model, so that the same objects stand for them in the next request.
 * An id of a tool call is mapped anew each time, since that depends on those before it.
 */
export function keepMessages<T>(model: Model, toId: (id: string) => string): Keep<T> {
  const known = madeBefore.get(model) ?? new WeakMap<ModelMessage, Kept>();
  madeBefore.set(model, known);
  return (message, make) => {
    const before = known.get(message);
    const ids = before?.ids ?? idsOf(message);
    const mapped = ids.map(toId);
    if (before !== undefined && mapped.every((id, index) => id === before.mapped[index]))
      return before.made as T[];
    const made = make();
    known.set(message, { ids, mapped, made });
    return made;
  };
}

function idsOf(message: ModelMessage): readonly string[] {
  switch (message.role) {
    case "user":
      return [];
    case "toolResult":
      return [message.toolCallId];
    case "assistant":
      return message.content.flatMap((block) => (block.type === "toolCall" ? [block.id] : []));
  }
}

const toolsBefore = new WeakMap<Model, WeakMap<readonly ToolSchema[], JsonObject[]>>();

/** Makes the tools of a request as the model's server takes them, once for each model and list of tools. */
export function keepTools(
  model: Model,
  tools: readonly ToolSchema[],
  make: () => JsonObject[],
): JsonObject[] {
  const known = toolsBefore.get(model) ?? new WeakMap<readonly ToolSchema[], JsonObject[]>();
  toolsBefore.set(model, known);
  const made = known.get(tools) ?? make();
  known.set(tools, made);
  return made;
}
