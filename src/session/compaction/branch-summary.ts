import type { NewEntry, SessionEntry } from "../../contract/entries.ts";
import { errorMessage } from "../../contract/errors.ts";
import type { BranchSummaryMessage } from "../../contract/messages.ts";
import type { Model } from "../../contract/provider.ts";
import { contextMessages, withoutSupersededAttempts } from "../context/context.ts";
import type { SessionStore } from "../store/store.ts";
import { collectFiles, withFileLists } from "./files.ts";
import { type SummarizeDeps, summarize } from "./summarize.ts";

/** What is left behind when a conversation goes on from an earlier entry. */
export type LeftBranch = {
  /** The entry that it ended in. */
  readonly fromId: string | null;
  /** Without what both branches have in common. */
  readonly entries: readonly SessionEntry[];
};

/**
 * Makes an earlier entry (an id, the unique beginning of one, or a label) the leaf. The file stays as it is until the
 * next entry.
 *
 * @throws StartupError when the session has no such entry.
 */
export function goBack(store: Pick<SessionStore, "leafId" | "branch" | "moveTo">, entry: string): LeftBranch {
  const fromId = store.leafId();
  const before = [...store.branch()];
  store.moveTo(entry);
  const staying = new Set(store.branch().map(({ id }) => id));
  return { fromId, entries: before.filter(({ id }) => !staying.has(id)) };
}

export type SumUpDeps = SummarizeDeps & {
  readonly model: Model;
  /** Keeps an entry; throws nothing. */
  readonly append: (entry: NewEntry) => void;
};

/** How a summary ended: `nothing` when nothing was left behind. */
export type BranchSummaryOutcome =
  | { readonly kind: "done"; readonly message: BranchSummaryMessage }
  | { readonly kind: "nothing" }
  | { readonly kind: "aborted" }
  | { readonly kind: "failed"; readonly message: string };

/** Has the model sum up what was left and keeps the summary on the branch that goes on. Never throws. */
export async function sumUpBranch(
  { fromId, entries }: LeftBranch,
  deps: SumUpDeps,
  signal: AbortSignal,
): Promise<BranchSummaryOutcome> {
  const messages = withoutSupersededAttempts(contextMessages(entries));
  if (messages.length === 0 || fromId === null) return { kind: "nothing" };
  const { model } = deps;
  try {
    const { text, usage } = await summarize({ messages, model, purpose: "branch_summary" }, deps, signal);
    const { readFiles, modifiedFiles } = collectFiles(messages);
    const summary = withFileLists(text, { readFiles, modifiedFiles });
    deps.append({
      type: "branch_summary",
      fromId,
      summary,
      details: { readFiles, modifiedFiles, usage },
    });
    return { kind: "done", message: { role: "branchSummary", summary, fromId, timestamp: deps.now() } };
  } catch (error) {
    if (signal.aborted) return { kind: "aborted" };
    return { kind: "failed", message: deps.redact(errorMessage(error)) };
  }
}
