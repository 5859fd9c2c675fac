import type { JsonObject } from "./json.ts";
import type { Api, ModelMessage } from "./messages.ts";

export const thinkingLevels = ["off", "minimal", "low", "medium", "high", "xhigh", "max"] as const;
export type ThinkingLevel = (typeof thinkingLevels)[number];

/** How one OpenAI-compatible endpoint differs from the others. Every switch has a default by provider and base URL. */
export type Compat = {
  /** Which field bounds the output. */
  maxTokensField?: "max_tokens" | "max_completion_tokens";
  /** Whether every request says how much the model may write; else that is left to the server. */
  sendsMaxTokens?: boolean;
  /** The system prompt's role for reasoning models: `developer` when true, else `system`. */
  supportsDeveloperRole?: boolean;
  /** Whether `reasoning_effort` is understood. */
  supportsReasoningEffort?: boolean;
  /** How thinking is asked for. */
  thinkingFormat?: "openai" | "openrouter" | "zai" | "qwen" | "deepseek" | "none";
  /** Whether `store: false` may be sent. */
  supportsStore?: boolean;
  /** Whether `stream_options: {include_usage: true}` may be sent. */
  supportsUsageInStreaming?: boolean;
  /** Whether a tool result must carry the tool's name. */
  requiresToolResultName?: boolean;
  /** The field in which the model's thinking is sent back with the assistant message; absent: it is not sent. */
  reasoningRoundTripField?: "reasoning_content" | "reasoning" | "reasoning_details";
  /** Whether `strict` may be sent in tool definitions. */
  supportsStrictTools?: boolean;
  /** Whether tool results may hold images; otherwise they follow in a user message. */
  supportsToolResultImages?: boolean;
};

/** US dollars per million tokens. */
export type Prices = {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
};

/** A model at a provider, with everything an adapter has to know. */
export type Model = {
  readonly id: string;
  readonly name: string;
  readonly provider: string;
  readonly api: Api;
  /** What the official SDK of the API takes as its base URL. */
  readonly baseUrl: string;
  readonly reasoning: boolean;
  readonly input: readonly ("text" | "image")[];
  /** Tokens. */
  readonly contextWindow: number;
  /** Output tokens. */
  readonly maxTokens: number;
  /** Absent when the prices are not known. */
  readonly cost?: Prices;
  readonly headers: Readonly<Record<string, string>>;
  readonly compat: Compat;
};

/** A tool as the model sees it. */
export type ToolSchema = {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of an object. */
  readonly parameters: JsonObject;
};

export type ProviderRequest = {
  readonly model: Model;
  readonly systemPrompt: string;
  /** Valid as they stand: every tool call has its result right behind it, no block is empty. */
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolSchema[];
  readonly thinkingLevel: ThinkingLevel;
  /** Output tokens; the model's own limit when absent. */
  readonly maxTokens?: number;
  /** About how many tokens of the model's window the request itself takes. */
  readonly contextTokens?: number;
  /** Stable for the session: the key of the provider's prompt cache. */
  readonly sessionId: string;
  /** JSON Schema that the text of the answer has to follow, where the API can be told. */
  readonly outputSchema?: JsonObject;
};

/** Token counts as the provider stated them, already free of overlap. */
export type TokenCounts = {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
};

/**
 * One step of a provider's reply. `index` numbers the content blocks from 0 in the order of their starts; several
 * blocks may be open at once. Exactly one `end` closes a reply that the protocol itself declared complete; anything
 * else is thrown as a ProviderError.
 */
export type ProviderEvent =
  | { type: "meta"; responseId?: string; responseModel?: string }
  | { type: "usage"; tokens: TokenCounts }
  /** Something arrived that carries no content (a ping): it only shows that the provider is alive. */
  | { type: "activity" }
  | { type: "text_start"; index: number }
  | { type: "text_delta"; index: number; delta: string }
  | { type: "text_end"; index: number; signature?: string }
  | { type: "thinking_start"; index: number }
  | { type: "thinking_delta"; index: number; delta: string }
  | {
      type: "thinking_end";
      index: number;
      signature?: string;
      redacted?: boolean;
    }
  | { type: "toolcall_start"; index: number; id: string; name: string }
  /** A piece of the arguments' JSON text. */
  | { type: "toolcall_delta"; index: number; delta: string }
  /** `isCut`: the server says that the call is not complete, so that it must not be run. */
  | { type: "toolcall_end"; index: number; signature?: string; isCut?: true }
  | {
      type: "end";
      stopReason: "stop" | "length" | "toolUse";
      stopReasonRaw?: string;
      /** The reply held work of the server's own tools, which is stepped over: even without text it is not empty. */
      hasServerWork?: boolean;
    };

/**
 * Asks a model. The generator yields events as they arrive and reads no further ahead than it is asked for, so that a
 * slow consumer slows the provider. It throws a ProviderError on every failure, and the signal's reason on abort.
 */
export type Provider = {
  stream(request: ProviderRequest, signal: AbortSignal): AsyncGenerator<ProviderEvent, void, undefined>;
};

/** Time limits of one reply, in milliseconds. */
export type Timeouts = {
  readonly firstEventMs: number;
  readonly idleMs: number;
};
