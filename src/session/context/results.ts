import type { UserContent } from "../../contract/messages.ts";
import type { Model } from "../../contract/provider.ts";
import { measureText } from "./estimate.ts";

/** How much of the window one tool result may fill, in tokens: results are shortened to it in requests only. */
export function maxResultTokens({ contextWindow }: Pick<Model, "contextWindow">): number {
  return Math.floor(contextWindow / 4);
}

/**
 * Shortens the texts of a tool result that together are more than `maxTokens`, in their middle: each keeps its share.
 * The same result and bound always give the same, so that the provider's prompt cache holds.
 */
export function shortenResult(content: readonly UserContent[], maxTokens: number): UserContent[] {
  const total = content.reduce((sum, block) => sum + measureBlock(block), 0);
  if (total <= maxTokens) return [...content];
  return content.map((block) => {
    if (block.type !== "text") return block;
    return { ...block, text: shortenText(block.text, (maxTokens * measureBlock(block)) / total) };
  });
}

/** What stands in the place of the middle, in tokens. */
const noteTokens = 40;

function measureBlock(block: UserContent): number {
  return block.type === "text" ? measureText(block.text) : 0;
}

function shortenText(text: string, maxTokens: number): string {
  const room = Math.max(0, maxTokens - noteTokens);
  let length = Math.floor((text.length * room) / measureText(text));
  // Characters do not all take the same.
  while (length > 0 && measureText(ends(text, length).join("")) > room) length = Math.floor(length * 0.9);
  const [start, end] = ends(text, length);
  const left = text.length - start.length - end.length;
  return `${start}\n(… ${left} characters are left out here: the result is too large for the context; ask for smaller parts …)\n${end}`;
}

/** The beginning and the end of a text, without halves of characters. */
function ends(text: string, length: number): [start: string, end: string] {
  const half = Math.floor(length / 2);
  const start = text.slice(0, half).replace(/[\uD800-\uDBFF]$/, "");
  const end = half === 0 ? "" : text.slice(-half).replace(/^[\uDC00-\uDFFF]/, "");
  return [start, end];
}
