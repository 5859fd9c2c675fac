import type { CompactionEntry, SessionEntry } from "../../contract/entries.ts";
import type { AgentMessage } from "../../contract/messages.ts";
import { isFailed, toAgentMessages, toMessages, withoutSupersededAttempts } from "../context/context.ts";
import { measureEntry } from "../context/estimate.ts";

export type CompactionLimits = {
  /** About how much of the end is to stay, in tokens. 0 keeps as little as can be. */
  readonly keepRecentTokens: number;
  /** How much of the end can stay at most, in tokens. */
  readonly maxKeptTokens: number;
  /** How much of one tool result is in a request at most. */
  readonly maxResultTokens: number;
};

/** What a compaction will do. */
export type CompactionPlan = {
  /** The oldest entry that stays; undefined when nothing can stay. */
  readonly firstKeptEntryId: string | undefined;
  /** What the summary has to say, oldest first, without attempts that were tried again. Not empty. */
  readonly summarized: readonly AgentMessage[];
  /** The compaction whose summary is to be carried on. */
  readonly earlier: CompactionEntry | undefined;
  /** The kept part begins in the middle of the work on a user's message. */
  readonly splitsTurn: boolean;
  readonly keptTokens: number;
};

/**
 * Decides what of a branch is summarised and what stays: about the last `keepRecentTokens`. Never parts a call from
 * its result. Prompts that were not answered yet always stay, however long; otherwise what does not fit
 * into `maxKeptTokens` is summarised, to the last entry if need be.
 *
 * Undefined when there is nothing to summarise.
 */
export function planCompaction(
  entries: readonly SessionEntry[],
  limits: CompactionLimits,
): CompactionPlan | undefined {
  const { earlier, start } = latestCompaction(entries);
  const tokens = tokensFromEach(entries, limits);
  const cut = findCutPoint(entries, { start, tokens, limits });
  const summarized = withoutSupersededAttempts(toMessages(entries.slice(start, cut)));
  if (summarized.length === 0) return undefined;
  const first = entries[cut];
  return {
    firstKeptEntryId: first?.id,
    summarized,
    earlier,
    splitsTurn: first !== undefined && !beginsTurn(first),
    keptTokens: tokens[cut] ?? 0,
  };
}

function latestCompaction(entries: readonly SessionEntry[]): {
  earlier: CompactionEntry | undefined;
  start: number;
} {
  const at = entries.findLastIndex((entry) => entry.type === "compaction");
  const earlier = entries[at];
  if (earlier?.type !== "compaction") return { earlier: undefined, start: 0 };
  const kept = entries.findIndex((entry) => entry.id === earlier.firstKeptEntryId);
  return { earlier, start: kept >= 0 && kept < at ? kept : at + 1 };
}

type CutOptions = {
  readonly start: number;
  /** Of each entry and all behind it. */
  readonly tokens: readonly number[];
  readonly limits: CompactionLimits;
};

/** The index of the first entry that stays. */
function findCutPoint(entries: readonly SessionEntry[], { start, tokens, limits }: CutOptions): number {
  const unanswered = firstUnanswered(entries);
  const cuts = possibleCuts(entries, start).filter((cut) => cut <= unanswered);
  const last = cuts.at(-1);
  if (last === undefined) return start;
  const isWithin = (cut: number, limit: number) => (tokens[cut] ?? 0) <= limit;
  const within = cuts.find((cut) => isWithin(cut, limits.keepRecentTokens));
  if (within !== undefined) return within;
  // One step alone is more than what should stay: the model has just asked for it, so it stays if it can.
  const mustStay = unanswered < entries.length || isWithin(last, limits.maxKeptTokens);
  return mustStay ? last : entries.length;
}

/** The index of the first of the prompts at the end that the model has yet to answer; behind all entries when there is none. */
function firstUnanswered(entries: readonly SessionEntry[]): number {
  let at = entries.length;
  for (let index = entries.length - 1; index >= 0; index--) {
    const entry = entries[index];
    if (entry === undefined || !isVisible(entry)) continue;
    // An attempt that failed, and that another one is to follow, is no answer.
    if (at === entries.length && isFailedAttempt(entry)) continue;
    if (!isPrompt(entry)) break;
    at = index;
  }
  return at;
}

/** Where the kept part may begin: at each message that is no result and behind no call whose result is still to come. */
function possibleCuts(entries: readonly SessionEntry[], start: number): number[] {
  const answeredAt = lastAnswers(entries);
  const cuts: number[] = [];
  let openUntil = -1;
  for (let index = start; index < entries.length; index++) {
    const entry = entries[index];
    if (entry === undefined || !isVisible(entry)) continue;
    if (index > openUntil && !isResult(entry) && !isFailedAttempt(entry)) cuts.push(index);
    openUntil = Math.max(openUntil, answeredAt.get(index) ?? -1);
  }
  return cuts;
}

/** For the index of each message with calls that were answered, the index of the last answer. */
function lastAnswers(entries: readonly SessionEntry[]): Map<number, number> {
  const calledAt = new Map<string, number>();
  const answeredAt = new Map<number, number>();
  for (const [index, entry] of entries.entries()) {
    if (entry.type !== "message") continue;
    const { message } = entry;
    if (message.role === "assistant") {
      for (const block of message.content) if (block.type === "toolCall") calledAt.set(block.id, index);
    } else if (message.role === "toolResult") {
      const called = calledAt.get(message.toolCallId);
      if (called !== undefined) answeredAt.set(called, index);
    }
  }
  return answeredAt;
}

function isVisible(entry: SessionEntry): boolean {
  return toAgentMessages(entry).length > 0;
}

function isResult(entry: SessionEntry): boolean {
  return entry.type === "message" && entry.message.role === "toolResult";
}

function isFailedAttempt(entry: SessionEntry): boolean {
  return entry.type === "message" && isFailed(entry.message);
}

/** What the user or the program has said to the model. */
function isPrompt(entry: SessionEntry): boolean {
  if (entry.type !== "message") return entry.type === "custom_message";
  return entry.message.role !== "assistant" && entry.message.role !== "toolResult";
}

function beginsTurn(entry: SessionEntry): boolean {
  return entry.type !== "message" || entry.message.role !== "assistant";
}

function tokensFromEach(entries: readonly SessionEntry[], limits: CompactionLimits): number[] {
  const tokens: number[] = [];
  let total = 0;
  for (const entry of entries.toReversed()) {
    total += measure(entry, limits);
    tokens.push(total);
  }
  return tokens.reverse();
}

function measure(entry: SessionEntry, { maxResultTokens }: CompactionLimits): number {
  // An earlier summary is taken up by the new one.
  if (entry.type === "compaction") return 0;
  const tokens = measureEntry(entry);
  return isResult(entry) ? Math.min(tokens, maxResultTokens) : tokens;
}
