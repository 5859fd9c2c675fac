import type { JsonObject } from "../../contract/json.ts";
import type { ProviderEvent } from "../../contract/provider.ts";
import type { ContentPart } from "./chunk.ts";

/** The text and thinking blocks of one reply. At most one is open: the other kind's first piece closes it. */
export type ContentBlocks = {
  append(part: ContentPart): ProviderEvent[];
  /** Takes structured reasoning. What has to be sent back is kept with the thinking it belongs to. */
  keep(details: readonly JsonObject[]): ProviderEvent[];
  /** Closes what is open; reasoning that came in the middle of a text becomes a block of its own behind it. */
  close(): ProviderEvent[];
};

type OpenBlock = { kind: ContentPart["kind"]; index: number; hasText: boolean; details: JsonObject[] };

/** @param nextIndex Numbers the blocks of the reply, tool calls among them. */
export function createContentBlocks(nextIndex: () => number): ContentBlocks {
  let open: OpenBlock | undefined;
  const late: JsonObject[] = [];

  function start(kind: ContentPart["kind"]): ProviderEvent[] {
    if (open?.kind === kind) return [];
    const events = close();
    open = { kind, index: nextIndex(), hasText: false, details: [] };
    return [...events, { type: `${kind}_start`, index: open.index }];
  }

  function close(): ProviderEvent[] {
    const block = open;
    open = undefined;
    if (block === undefined) return [];
    if (block.kind === "text") return [{ type: "text_end", index: block.index }, ...closeLate()];
    const signature = toSignature(block.details);
    return [
      {
        type: "thinking_end",
        index: block.index,
        ...(signature !== undefined && { signature }),
        ...(!block.hasText && { redacted: true }),
      },
    ];
  }

  function closeLate(): ProviderEvent[] {
    if (late.length === 0) return [];
    const events = start("thinking");
    open?.details.push(...late.splice(0));
    return [...events, ...close()];
  }

  return {
    append({ kind, text }) {
      const events = start(kind);
      if (open === undefined) return events;
      open.hasText = true;
      return [...events, { type: `${kind}_delta`, index: open.index, delta: text }];
    },
    keep(details) {
      if (details.length === 0) return [];
      if (open?.kind === "text") {
        late.push(...details.filter(isSealed));
        return [];
      }
      // Encrypted reasoning has no text to open its block.
      const events = open === undefined && details.some(isSealed) ? start("thinking") : [];
      open?.details.push(...details);
      return events;
    },
    close,
  };
}

/** The reasoning of a block as JSON text, when it holds something that only its provider can read. */
function toSignature(details: readonly JsonObject[]): string | undefined {
  return details.some(isSealed) ? JSON.stringify(joinPieces(details)) : undefined;
}

function isSealed({ data, signature }: JsonObject): boolean {
  return (typeof data === "string" && data !== "") || (typeof signature === "string" && signature !== "");
}

/** Items arrive in pieces: the same item's texts are joined, its other fields are those that came last. */
function joinPieces(details: readonly JsonObject[]): JsonObject[] {
  const items: JsonObject[] = [];
  for (const detail of details) {
    const last = items.at(-1);
    if (last !== undefined && isSameItem(last, detail)) items[items.length - 1] = join(last, detail);
    else items.push(detail);
  }
  return items;
}

function isSameItem(a: JsonObject, b: JsonObject): boolean {
  return a.type === b.type && a.index === b.index && (b.id == null || a.id === b.id);
}

const joinedFields = ["text", "summary", "data"] as const;

function join(item: JsonObject, piece: JsonObject): JsonObject {
  const stated = Object.entries(piece).filter(([, value]) => value !== null && value !== "");
  const joined = joinedFields.flatMap((field) => {
    const [before, more] = [item[field], piece[field]];
    return typeof before === "string" && typeof more === "string" ? [[field, before + more] as const] : [];
  });
  return { ...item, ...Object.fromEntries(stated), ...Object.fromEntries(joined) };
}
