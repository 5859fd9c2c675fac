import { toUsage } from "../../agent/accumulate.ts";
import { ProviderError } from "../../contract/errors.ts";
import { type AgentMessage, type Usage, zeroUsage } from "../../contract/messages.ts";
import type { Model, Provider, ProviderRequest } from "../../contract/provider.ts";
import { measureText } from "../context/estimate.ts";
import { type RetrySettings, retryDelayMs, waitUnlessAborted } from "../retry.ts";
import type { UsageLedger, UsagePurpose } from "../usage.ts";
import { summaryPrompt } from "./prompt.ts";

export type SummarizeRequest = {
  readonly messages: readonly AgentMessage[];
  readonly earlierSummary?: string | undefined;
  readonly instructions?: string | undefined;
  readonly splitsTurn?: boolean;
  readonly model: Model;
  readonly purpose: Extract<UsagePurpose, "compaction" | "branch_summary">;
};

export type SummarizeDeps = {
  readonly provider: Provider;
  /** The key of the provider's prompt cache. */
  readonly sessionId: string;
  readonly retry: RetrySettings;
  readonly ledger: UsageLedger;
  readonly redact: (text: string) => string;
  readonly now: () => number;
};

export type Summary = {
  readonly text: string;
  /** Of the request that worked. */
  readonly usage: Usage;
};

/**
 * Has the model sum up messages, with input and output bounded to what it can take. Faults that pass are tried again,
 * an overflow with half of the input. Throws a ProviderError, or the signal's reason.
 */
export async function summarize(
  request: SummarizeRequest,
  deps: SummarizeDeps,
  signal: AbortSignal,
): Promise<Summary> {
  const { model } = request;
  const maxTokens = maxSummaryTokens(model);
  let inputTokens = Math.floor(model.contextWindow * (1 - marginShare)) - maxTokens;
  let retries = 0;
  for (let halvings = 0; ; ) {
    const asked = toRequest(request, { inputTokens, maxTokens }, deps);
    try {
      return await ask(asked, request.purpose, { deps, signal });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ProviderError)) throw error;
      if (error.kind === "overflow" && halvings++ < maxHalvings) {
        // Of what was sent, which may have been far less than the bound.
        inputTokens = Math.floor(Math.min(inputTokens, measureRequest(asked)) / 2);
        continue;
      }
      const delayMs = retryDelayMs(error, ++retries, { settings: deps.retry, random: Math.random });
      if (delayMs === undefined) throw error;
      if (!(await waitUnlessAborted(delayMs, signal))) signal.throwIfAborted();
    }
  }
}

/** The share of the window that is left free because tokens are only estimated. */
const marginShare = 0.1;
/** How often the input is halved when the request itself is larger than the context. */
const maxHalvings = 4;

/** What a model thinks counts too. */
function maxSummaryTokens({ reasoning, maxTokens, contextWindow }: Model): number {
  return Math.min(reasoning ? 16_384 : 8192, maxTokens, Math.floor(contextWindow / 4));
}

function toRequest(
  { messages, earlierSummary, instructions, splitsTurn, model }: SummarizeRequest,
  { inputTokens, maxTokens }: { inputTokens: number; maxTokens: number },
  { sessionId, now }: SummarizeDeps,
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
  return { model, systemPrompt, messages: [message], tools: [], thinkingLevel: "off", maxTokens, sessionId };
}

function measureRequest({ systemPrompt, messages }: ProviderRequest): number {
  return measureText(systemPrompt) + measureText(messages.map(({ content }) => content).join(""));
}

async function ask(
  request: ProviderRequest,
  purpose: SummarizeRequest["purpose"],
  { deps, signal }: { deps: SummarizeDeps; signal: AbortSignal },
): Promise<Summary> {
  const { model } = request;
  let text = "";
  let calls = 0;
  let isComplete = false;
  let usage = zeroUsage();
  try {
    for await (const event of deps.provider.stream(request, signal)) {
      if (event.type === "text_delta") text += event.delta;
      else if (event.type === "toolcall_start") calls++;
      else if (event.type === "usage") usage = toUsage(event.tokens, model);
      else if (event.type === "end") isComplete = true;
      signal.throwIfAborted();
    }
  } finally {
    deps.ledger.add(model, purpose, usage);
  }
  if (!isComplete) throw new ProviderError("protocol", `${model.provider} ended its reply without an end`);
  const clean = deps.redact(text.toWellFormed()).trim();
  if (clean !== "") return { text: clean, usage };
  // A model that calls tools which it was not offered does so again.
  throw new ProviderError("protocol", `${model.provider} answered without a summary`, {
    transient: calls === 0,
  });
}
