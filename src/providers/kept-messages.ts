import type { ModelMessage } from "../contract/messages.ts";
import type { Model } from "../contract/provider.ts";

/** Gives what `make` makes of a message, made once; `make` may depend on the message, the model and the ids alone. */
export type Keep<T> = (message: ModelMessage, make: () => readonly T[]) => readonly T[];

type Kept = { readonly ids: readonly string[]; readonly made: readonly unknown[] };

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
    const ids = idsOf(message).map(toId);
    const before = known.get(message);
    if (before !== undefined && ids.every((id, index) => id === before.ids[index])) return before.made as T[];
    const made = make();
    known.set(message, { ids, made });
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
