import type { AssistantMessage, ModelMessage } from "../../contract/messages.ts";
import type { Model, ProviderRequest } from "../../contract/provider.ts";
import {
  type CompactionOutcome,
  type CompactorDeps,
  compact,
  compactionThreshold,
} from "../compaction/compaction.ts";
import { estimateTokens } from "./estimate.ts";

export type ContextGuardDeps = CompactorDeps & {
  /** The model that is asked next. */
  readonly model: () => Model;
  readonly buildRequest: () => ProviderRequest;
  /** Tells a person something, in one line. */
  readonly warn: (line: string) => void;
};

/** Keeps the context within what the model takes. */
export type ContextGuard = {
  /** Compacts when the next request would be too large. Gives why the work cannot go on, if it cannot. */
  beforeRequest(signal: AbortSignal): Promise<string | undefined>;
  /** About how many tokens the next request will have. */
  size(): number;
  /** Compacts after the provider found a request too large; `off` when the settings say that nobody is to. */
  onOverflow(signal: AbortSignal): Promise<CompactionOutcome | { readonly kind: "off" }>;
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
  let hasOverflowed = false;
  /** A request is measured before it is made and when it is. */
  let measured: { messages: readonly ModelMessage[]; tokens: number } | undefined;

  const threshold = () => compactionThreshold(deps.model(), deps.settings);

  function measure(): number {
    const { messages, systemPrompt, tools } = deps.buildRequest();
    if (measured?.messages !== messages)
      measured = { messages, tokens: estimateTokens(messages, systemPrompt, tools) };
    return measured.tokens;
  }

  async function beforeRequest(signal: AbortSignal): Promise<string | undefined> {
    if (!deps.settings.enabled) return undefined;
    const tokens = measure();
    if (tokens <= threshold()) return undefined;
    if (tries >= maxTries) return mayGoOn(tokens) ? undefined : stuck(tokens, threshold(), deps.model());
    const request = { reason: "threshold", model: deps.model(), tokensBefore: tokens } as const;
    const outcome = await compact(request, deps, signal);
    if (outcome.kind !== "nothing") tries++;
    if (outcome.kind === "failed") {
      failed++;
      deps.warn(`the context could not be compacted, going on without: ${outcome.message}`);
    }
    return undefined;
  }

  /** Summaries that failed are put up with while half of the reserve is free. */
  function mayGoOn(tokens: number): boolean {
    return failed > 0 && tokens <= (threshold() + deps.model().contextWindow) / 2;
  }

  async function onOverflow(signal: AbortSignal): ReturnType<ContextGuard["onOverflow"]> {
    if (!deps.settings.enabled) return { kind: "off" };
    if (hasOverflowed) return { kind: "failed", message: "it was compacted before and is still too large" };
    hasOverflowed = true;
    tries++;
    return compact({ reason: "overflow", model: deps.model(), tokensBefore: measure() }, deps, signal);
  }

  function onReply({ usage }: AssistantMessage): void {
    hasOverflowed = false;
    // A provider that reports nothing leaves only the estimate.
    const tokens = usage.totalTokens > 0 ? usage.totalTokens : measure();
    if (tokens > threshold()) return;
    tries = 0;
    failed = 0;
  }

  return {
    beforeRequest,
    size: measure,
    onOverflow,
    onReply,
    compactNow: (instructions, signal) =>
      compact({ reason: "manual", model: deps.model(), tokensBefore: measure(), instructions }, deps, signal),
  };
}

function stuck(tokens: number, threshold: number, { id, contextWindow }: Model): string {
  return (
    `the context cannot be made small enough: it still has about ${tokens} tokens after ${maxTries} tries to compact it, ` +
    `and ${id} has room for ${threshold} of its ${contextWindow}; use a model with a larger context, or give it a smaller task`
  );
}
