import type { SessionEntry } from "../../contract/entries.ts";
import type { ModelMessage } from "../../contract/messages.ts";
import {
  type ContextTarget,
  fitAll,
  fittingMessages,
  isFailed,
  isSaid,
  toAgentMessages,
  toModelMessages,
} from "./context.ts";
import { pairedIds } from "./pairs.ts";

/** Gives the messages of a request for all that a branch holds by now. */
export type GrowingContext = (
  entries: readonly SessionEntry[],
  target: ContextTarget,
) => readonly ModelMessage[];

/** The messages of the beginning of a branch that stay what they are, whatever is appended to it but a compaction. */
type Beginning = {
  readonly target: ContextTarget;
  readonly count: number;
  readonly lastEntry: SessionEntry | undefined;
  readonly messages: readonly ModelMessage[];
  /** The ids of its calls; those of what is added come to them. */
  readonly ids: Set<string>;
};

/**
 * Makes what gives the same messages as `toModelMessages`, for what it gave before the same objects. All of a long
 * history is asked for at every turn, and there is hardly ever more to do than to add the last turn to it.
 */
export function createGrowingContext(): GrowingContext {
  let beginning: Beginning | undefined;
  return (entries, target) => {
    const grown = beginning === undefined ? undefined : grow(beginning, entries, target);
    if (grown !== undefined) {
      beginning = grown;
      return grown.messages;
    }
    const messages = toModelMessages(entries, target);
    beginning = toBeginning(entries, target, messages) ?? beginning;
    return messages;
  };
}

/** Undefined when anything but a turn that went well was added, or the branch is another one. */
function grow(
  { messages, ids, ...before }: Beginning,
  entries: readonly SessionEntry[],
  target: ContextTarget,
): Beginning | undefined {
  const isSame = before.target === target && entries[before.count - 1] === before.lastEntry;
  if (!isSame) return undefined;
  const added = entries.slice(before.count);
  if (added.some(({ type }) => type === "compaction")) return undefined;
  const said = added.flatMap(toAgentMessages);
  if (said.some(isFailed)) return undefined;
  const fitting = fitAll(said, target);
  const newIds = pairedIds(fitting, ids);
  if (newIds === undefined) return undefined;
  for (const id of newIds) ids.add(id);
  return {
    target,
    count: entries.length,
    lastEntry: entries.at(-1),
    messages: [...messages, ...fitting],
    ids,
  };
}

/** Undefined when what comes next may change what it is: calls are open, or the last attempt failed. */
function toBeginning(
  entries: readonly SessionEntry[],
  target: ContextTarget,
  messages: readonly ModelMessage[],
): Beginning | undefined {
  if (messages.length === 0 || endsFailed(entries)) return undefined;
  const ids = pairedIds(fittingMessages(entries, target));
  if (ids === undefined) return undefined;
  return { target, count: entries.length, lastEntry: entries.at(-1), messages, ids };
}

function endsFailed(entries: readonly SessionEntry[]): boolean {
  const said = entries.flatMap(toAgentMessages).findLast(isSaid);
  return said !== undefined && isFailed(said);
}
