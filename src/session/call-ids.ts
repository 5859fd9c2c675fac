import type { SessionStore } from "./store/store.ts";

/** Makes what gives ids that no call of the session has: the provider's own where it is one, else a new one. */
export function createCallIds(store: SessionStore): (id: string) => string {
  const used = new Set<string>();
  for (const entry of store.branch())
    if (entry.type === "message" && entry.message.role === "assistant")
      for (const block of entry.message.content) if (block.type === "toolCall") used.add(block.id);
  let next = 1;
  return (id) => {
    let unique = id;
    while (unique === "" || used.has(unique)) unique = `${id || "call"}_${next++}`;
    used.add(unique);
    return unique;
  };
}
