import { toUsage } from "../agent/accumulate.ts";
import { ProviderError } from "../contract/errors.ts";
import type { AgentMessage, Usage } from "../contract/messages.ts";
import type { Model, Provider, ProviderRequest, TokenCounts } from "../contract/provider.ts";
import { summaryPrompt } from "./compaction-prompt.ts";
import { measureMessage } from "./estimate.ts";
import { type RetrySettings, retryDelayMs, waitUnlessAborted } from "./retry.ts";
import type { SessionStore } from "./store.ts";
import type { UsageLedger, UsagePurpose } from "./usage.ts";

export type SummarizeRequest = {
  readonly messages: readonly AgentMessage[];
  readonly earlierSummary?: string | undefined;
  readonly instructions?: string | undefined;
  readonly splitsTurn?: boolean;
  readonly model: Model;
  /** How much of the conversation the request may hold, in tokens. */
  readonly maxInputTokens: number;
  readonly purpose: Extract<UsagePurpose, "compaction" | "branch_summary">;
};

export type SummarizeDeps = {
  readonly provider: Provider;
  readonly store: SessionStore;
  readonly retry: RetrySettings;
  readonly ledger: UsageLedger;
  readonly redact: (text: string) => string;
  readonly now: () => number;
};

export type Summary = {
  readonly text: string;
  readonly usage: Usage;
  /** About how many tokens the summary stands for. */
  readonly tokensBefore: number;
};

/** A summary is never longer than this, in tokens. */
const maxSummaryTokens = 8192;
/** How often the input is halved when the request itself is larger than the context. */
const maxHalvings = 3;

/**
 * Has the model sum up messages, with the input bounded to what it can take. Faults that pass are tried again, an
 * overflow with half of the input. Throws a ProviderError, or the signal's reason.
 */
export async function summarize(
  request: SummarizeRequest,
  deps: SummarizeDeps,
  signal: AbortSignal,
): Promise<Summary> {
  const maxTokens = Math.min(maxSummaryTokens, request.model.maxTokens);
  let inputTokens = Math.max(500, request.maxInputTokens - maxTokens, Math.floor(request.maxInputTokens / 2));
  let retries = 0;
  for (let halvings = 0; ; ) {
    try {
      return await ask(toRequest(request, { inputTokens, maxTokens }, deps), { request, deps }, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ProviderError)) throw error;
      if (error.kind === "overflow" && halvings < maxHalvings) {
        halvings++;
        inputTokens = Math.floor(inputTokens / 2);
        continue;
      }
      const delayMs = retryDelayMs(error, ++retries, { settings: deps.retry, random: Math.random });
      if (delayMs === undefined) throw error;
      if (!(await waitUnlessAborted(delayMs, signal))) signal.throwIfAborted();
    }
  }
}

function toRequest(
  { messages, earlierSummary, instructions, splitsTurn, model }: SummarizeRequest,
  { inputTokens, maxTokens }: { inputTokens: number; maxTokens: number },
  { store, now }: SummarizeDeps,
): ProviderRequest {
  const { systemPrompt, message } = summaryPrompt(
    {
      messages,
      ...(earlierSummary === undefined ? {} : { earlierSummary }),
      ...(instructions === undefined ? {} : { instructions }),
      ...(splitsTurn === undefined ? {} : { splitsTurn }),
      maxTokens: inputTokens,
    },
    now(),
  );
  return {
    model,
    systemPrompt,
    messages: [message],
    tools: [],
    thinkingLevel: "off",
    maxTokens,
    sessionId: store.header.id,
  };
}

async function ask(
  request: ProviderRequest,
  { request: { messages, model, purpose }, deps }: { request: SummarizeRequest; deps: SummarizeDeps },
  signal: AbortSignal,
): Promise<Summary> {
  let text = "";
  let tokens: TokenCounts | undefined;
  let complete = false;
  try {
    for await (const event of deps.provider.stream(request, signal)) {
      if (event.type === "text_delta") text += event.delta;
      else if (event.type === "usage") tokens = event.tokens;
      else if (event.type === "end") complete = true;
      signal.throwIfAborted();
    }
  } finally {
    if (tokens !== undefined) deps.ledger.add(model, purpose, toUsage(tokens, model));
  }
  const clean = deps.redact(text.toWellFormed()).trim();
  if (!complete || clean === "")
    throw new ProviderError("protocol", `${model.provider} sent an empty summary`);
  const usage = toUsage(tokens ?? { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, model);
  const tokensBefore = messages.reduce((sum, message) => sum + measureMessage(message), 0);
  return { text: clean, usage, tokensBefore };
}
