import type { NewEntry } from "../../contract/entries.ts";
import { errorMessage } from "../../contract/errors.ts";
import type { CompactionReason, CompactionResult, Emit } from "../../contract/events.ts";
import type { JsonValue } from "../../contract/json.ts";
import type { Model } from "../../contract/provider.ts";
import { maxResultTokens } from "../context/results.ts";
import type { SessionStore } from "../store/store.ts";
import { collectFiles, withFileLists } from "./files.ts";
import { type CompactionPlan, planCompaction } from "./plan.ts";
import { type SummarizeDeps, summarize } from "./summarize.ts";

export type CompactionSettings = {
  /** Whether the context is compacted without being asked to. */
  readonly enabled: boolean;
  /** Tokens of the window that stay free for the reply. */
  readonly reserveTokens: number;
  /** About how much of the end stays as it is. */
  readonly keepRecentTokens: number;
};

export type CompactorDeps = SummarizeDeps & {
  readonly store: Pick<SessionStore, "branch">;
  /** Keeps an entry and gives its id. Tells of a file that cannot be written itself, and throws nothing. */
  readonly append: (entry: NewEntry) => string;
  readonly settings: CompactionSettings;
  readonly emit: Emit;
};

export type CompactionRequest = {
  readonly reason: CompactionReason;
  readonly model: Model;
  /** About how large the context is. */
  readonly tokensBefore: number;
  /** What the user asks of the summary. */
  readonly instructions?: string | undefined;
};

/** How a compaction ended: `nothing` when there was nothing to summarise. */
export type CompactionOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "nothing" }
  | { readonly kind: "aborted" }
  | { readonly kind: "failed"; readonly message: string };

/**
 * Replaces the older part of the context by a summary. Tells its start and its end on every path and keeps its failure
 * in the session; never throws. A compaction that nobody asked for and that has nothing to summarise does not begin.
 */
export async function compact(
  request: CompactionRequest,
  deps: CompactorDeps,
  signal: AbortSignal,
): Promise<CompactionOutcome> {
  const { emit } = deps;
  const { reason } = request;
  const plan = choosePlan(request, deps);
  if (plan === undefined && reason === "threshold") return { kind: "nothing" };
  emit({ type: "compaction_start", reason });
  const outcome = await attempt(plan, request, { deps, signal });
  if ("result" in outcome) {
    const { result } = outcome;
    emit({ type: "compaction_end", reason, result, aborted: false, willRetry: reason === "overflow" });
    return { kind: "done" };
  }
  const aborted = outcome.kind === "aborted";
  const words = toWords(outcome);
  const data = { reason, aborted, errorMessage: words };
  deps.append({ type: "custom", customType: "compaction_failed", data });
  emit({
    type: "compaction_end",
    reason,
    result: undefined,
    aborted,
    willRetry: false,
    ...(aborted ? {} : { errorMessage: words }),
  });
  return outcome;
}

/** More tokens than this in a request, and the context is compacted before it is sent. */
export function compactionThreshold({ contextWindow }: Model, { reserveTokens }: CompactionSettings): number {
  const threshold = contextWindow - reserveTokens;
  // A reserve that is larger than the window can only be meant for larger models.
  return threshold > 0 ? threshold : Math.floor(contextWindow / 2);
}

function choosePlan(
  { model }: CompactionRequest,
  { store, settings }: CompactorDeps,
): CompactionPlan | undefined {
  const entries = store.branch();
  // What stays must leave room for the summary and the work that follows, however small the window is.
  const maxKeptTokens = Math.floor(compactionThreshold(model, settings) / 2);
  const keepRecentTokens = Math.min(settings.keepRecentTokens, maxKeptTokens);
  const measure = { maxResultTokens: maxResultTokens(model) };
  // What looks small enough to stay may not be so to the provider, or to who asks: then less stays, and at last nothing.
  const attempts = [
    { ...measure, keepRecentTokens, maxKeptTokens },
    { ...measure, keepRecentTokens: 0, maxKeptTokens },
    { ...measure, keepRecentTokens: 0, maxKeptTokens: 0 },
  ];
  for (const limits of attempts) {
    const plan = planCompaction(entries, limits);
    // A question that nobody has answered yet is no conversation to sum up.
    if (plan?.summarized.some(({ role }) => role === "assistant")) return plan;
  }
  return undefined;
}

type Attempt = Exclude<CompactionOutcome, { kind: "done" }> | { readonly result: CompactionResult };

async function attempt(
  plan: CompactionPlan | undefined,
  request: CompactionRequest,
  { deps, signal }: { deps: CompactorDeps; signal: AbortSignal },
): Promise<Attempt> {
  if (signal.aborted) return { kind: "aborted" };
  if (plan === undefined) return { kind: "nothing" };
  try {
    const { text, usage } = await summarize(
      {
        messages: plan.summarized,
        earlierSummary: plan.earlier?.summary,
        instructions: request.instructions,
        splitsTurn: plan.splitsTurn,
        model: request.model,
        purpose: "compaction",
      },
      deps,
      signal,
    );
    const files = collectFiles(plan.summarized, plan.earlier?.details);
    const details: JsonValue = { readFiles: files.readFiles, modifiedFiles: files.modifiedFiles, usage };
    return { result: keep(plan, { summary: withFileLists(text, files), details }, { request, deps }) };
  } catch (error) {
    if (signal.aborted) return { kind: "aborted" };
    return { kind: "failed", message: deps.redact(errorMessage(error)) };
  }
}

function keep(
  plan: CompactionPlan,
  { summary, details }: { summary: string; details: JsonValue },
  { request: { tokensBefore }, deps }: { request: CompactionRequest; deps: CompactorDeps },
): CompactionResult {
  // When nothing stays, an entry that the model does not see is the oldest one that does.
  const firstKeptEntryId =
    plan.firstKeptEntryId ?? deps.append({ type: "custom", customType: "compaction_cut" });
  const result = { summary, firstKeptEntryId, tokensBefore, details };
  deps.append({ type: "compaction", ...result });
  return result;
}

function toWords(outcome: Exclude<CompactionOutcome, { kind: "done" }>): string {
  switch (outcome.kind) {
    case "nothing":
      return "there is nothing to compact";
    case "aborted":
      return "aborted";
    case "failed":
      return outcome.message;
  }
}
