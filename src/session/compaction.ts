import { errorMessage, ProviderError } from "../contract/errors.ts";
import type { CompactionReason, CompactionResult, Emit } from "../contract/events.ts";
import type { JsonValue } from "../contract/json.ts";
import type { Model, Provider, ThinkingLevel } from "../contract/provider.ts";
import { collectFiles, withFileLists } from "./compaction-files.ts";
import { type CompactionPlan, planCompaction } from "./compaction-plan.ts";
import type { RetrySettings } from "./retry.ts";
import type { SessionStore } from "./store.ts";
import { type Summary, summarize } from "./summarize.ts";
import type { UsageLedger } from "./usage.ts";

export type CompactionSettings = {
  readonly enabled: boolean;
  /** Tokens of the window that stay free for the reply. */
  readonly reserveTokens: number;
  /** About how much of the end stays as it is. */
  readonly keepRecentTokens: number;
};

export type CompactorDeps = {
  readonly provider: Provider;
  readonly store: SessionStore;
  readonly settings: CompactionSettings;
  readonly retry: RetrySettings;
  readonly emit: Emit;
  readonly ledger: UsageLedger;
  readonly redact: (text: string) => string;
  readonly now: () => number;
};

export type CompactionRequest = {
  readonly reason: CompactionReason;
  readonly model: Model;
  readonly thinkingLevel: ThinkingLevel;
  /** What the user asks of the summary. */
  readonly instructions?: string | undefined;
  /** Whether the turn that did not fit is tried again after it. */
  readonly willRetry: boolean;
};

/** How a compaction ended: `nothing` when there was nothing to summarise, which only a manual one tells. */
export type CompactionOutcome =
  | { readonly kind: "done" }
  | { readonly kind: "nothing" }
  | { readonly kind: "aborted" }
  | { readonly kind: "failed"; readonly message: string };

/** Replaces the older part of the context by a summary. Tells its start and its end on every path; never throws. */
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
    emit({ type: "compaction_end", reason, result, aborted: false, willRetry: request.willRetry });
    return { kind: "done" };
  }
  const aborted = outcome.kind === "aborted";
  const words =
    outcome.kind === "failed" ? outcome.message : aborted ? "aborted" : "there is nothing to compact";
  keepFailure(deps.store, { reason, aborted, errorMessage: words });
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

function choosePlan(
  { model }: CompactionRequest,
  { store, settings }: CompactorDeps,
): CompactionPlan | undefined {
  const entries = store.branch();
  // What stays must leave room for the summary and the work that follows, however small the window is.
  const maxKeptTokens = Math.max(0, Math.floor(compactionThreshold(model, settings) / 2));
  const keepRecentTokens = Math.min(settings.keepRecentTokens, maxKeptTokens);
  // What looks small enough to stay may not be so to the provider: then as little stays as can.
  const chosen =
    planCompaction(entries, { keepRecentTokens, maxKeptTokens }) ??
    planCompaction(entries, { keepRecentTokens: 0, maxKeptTokens });
  // A question that nobody has answered yet is no conversation to sum up.
  return chosen?.summarized.some(({ role }) => role === "assistant" || role === "compactionSummary")
    ? chosen
    : undefined;
}

/** More tokens than this in a request, and the context is compacted before it is sent. */
export function compactionThreshold({ contextWindow }: Model, { reserveTokens }: CompactionSettings): number {
  const threshold = contextWindow - reserveTokens;
  // A reserve that is larger than the window can only be meant for larger models.
  return threshold > 0 ? threshold : Math.floor(contextWindow / 2);
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
    const summary = await summarize(
      {
        messages: plan.summarized,
        earlierSummary: plan.earlier?.summary,
        instructions: request.instructions,
        splitsTurn: plan.splitsTurn,
        model: request.model,
        maxInputTokens: compactionThreshold(request.model, deps.settings),
        purpose: "compaction",
      },
      deps,
      signal,
    );
    return { result: keep(plan, summary, deps.store) };
  } catch (error) {
    if (signal.aborted) return { kind: "aborted" };
    const words = error instanceof ProviderError ? error.message : errorMessage(error);
    return { kind: "failed", message: deps.redact(words) };
  }
}

function keep(
  plan: CompactionPlan,
  { text, usage, tokensBefore }: Summary,
  store: SessionStore,
): CompactionResult {
  const files = collectFiles(plan.summarized, plan.earlier?.details);
  const summary = withFileLists(text, files);
  const details: JsonValue = { readFiles: files.readFiles, modifiedFiles: files.modifiedFiles, usage };
  // When nothing stays, an entry that the model does not see is the oldest one that does.
  const firstKeptEntryId =
    plan.firstKeptEntryId ?? store.append({ type: "custom", customType: "compaction_cut" }).id;
  const result = { summary, firstKeptEntryId, tokensBefore, details };
  store.append({ type: "compaction", ...result });
  return result;
}

function keepFailure(
  store: SessionStore,
  data: { reason: CompactionReason; aborted: boolean; errorMessage: string },
): void {
  try {
    store.append({ type: "custom", customType: "compaction_failed", data });
  } catch {
    // The store told its failure at the first append that failed.
  }
}
