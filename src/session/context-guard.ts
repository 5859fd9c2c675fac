import type { ProviderError } from "../contract/errors.ts";
import type { AssistantMessage } from "../contract/messages.ts";
import type { Model, ProviderRequest, ThinkingLevel } from "../contract/provider.ts";
import { type CompactionOutcome, type CompactorDeps, compact, compactionThreshold } from "./compaction.ts";
import { estimateTokens } from "./estimate.ts";

export type ContextGuardDeps = CompactorDeps & {
  readonly choice: () => { readonly model: Model; readonly thinkingLevel: ThinkingLevel };
  readonly buildRequest: () => ProviderRequest;
  /** Tells a person something, in one line. */
  readonly warn: (line: string) => void;
};

/** Keeps the context within what the model takes. */
export type ContextGuard = {
  /** Compacts when the next request would be too large. Gives why the work cannot go on, if it cannot. */
  beforeRequest(signal: AbortSignal): Promise<string | undefined>;
  /** Compacts after the provider found a request too large. Gives how that went. */
  onOverflow(error: ProviderError, signal: AbortSignal): Promise<CompactionOutcome>;
  /** Takes what a reply that worked says of the context's size. */
  onReply(message: AssistantMessage): void;
  /** Compacts because the user asks for it. */
  compactNow(instructions: string | undefined, signal: AbortSignal): Promise<CompactionOutcome>;
};

/** How often room is looked for in vain. */
const maxTries = 2;

/** Makes the guard of one session. */
export function createContextGuard(deps: ContextGuardDeps): ContextGuard {
  /** Tries since the context was last known to be small enough, and how many of them failed. */
  let tries = 0;
  let failed = 0;
  let overflowed = false;

  const threshold = () => compactionThreshold(deps.choice().model, deps.settings);

  async function beforeRequest(signal: AbortSignal): Promise<string | undefined> {
    if (!deps.settings.enabled) return undefined;
    const { messages, systemPrompt, tools } = deps.buildRequest();
    const tokens = estimateTokens(messages, systemPrompt, tools);
    if (tokens <= threshold()) return undefined;
    if (tries >= maxTries)
      return mayGoOn(tokens) ? undefined : stuck(tokens, threshold(), deps.choice().model);
    const outcome = await compact({ reason: "threshold", ...deps.choice(), willRetry: false }, deps, signal);
    tries++;
    if (outcome.kind === "failed") {
      failed++;
      deps.warn(`the context could not be compacted, going on without: ${outcome.message}`);
    }
    return undefined;
  }

  /** Summaries that failed are put up with while half of the reserve is free. */
  function mayGoOn(tokens: number): boolean {
    return failed > 0 && tokens <= (threshold() + deps.choice().model.contextWindow) / 2;
  }

  async function onOverflow(error: ProviderError, signal: AbortSignal): Promise<CompactionOutcome> {
    if (overflowed || !deps.settings.enabled) return { kind: "failed", message: deps.redact(error.message) };
    overflowed = true;
    return compact({ reason: "overflow", ...deps.choice(), willRetry: true }, deps, signal);
  }

  function onReply({ usage }: AssistantMessage): void {
    overflowed = false;
    if (usage.totalTokens > threshold()) return;
    tries = 0;
    failed = 0;
  }

  return {
    beforeRequest,
    onOverflow,
    onReply,
    compactNow: (instructions, signal) =>
      compact({ reason: "manual", ...deps.choice(), instructions, willRetry: false }, deps, signal),
  };
}

function stuck(tokens: number, threshold: number, { id, contextWindow }: Model): string {
  return (
    `the context cannot be made small enough: it still has about ${tokens} tokens after ${maxTries} tries to compact it, ` +
    `and ${id} has room for ${threshold} of its ${contextWindow}; use a model with a larger context, or give it a smaller task`
  );
}
