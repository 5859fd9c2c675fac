import type { ProviderError } from "../../../src/contract/errors.ts";
import type { JsonValue } from "../../../src/contract/json.ts";
import type { Model, ProviderEvent, ProviderRequest, TokenCounts } from "../../../src/contract/provider.ts";
import { toHttpError } from "../../../src/providers/errors/http-error.ts";
import { type ReplyBody, toReplyBody, toResponse } from "../../../src/providers/http/reply.ts";
import { createOpenAICompletions } from "../../../src/providers/openai-completions/adapter.ts";
import { textOf } from "../../support/provider-replies.ts";

/** A reply of a server that does not exist. */
export type FakeReply = {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body in the pieces in which it arrives. */
  readonly chunks: Iterable<Uint8Array>;
  /** The server leaves its socket open behind the body. */
  readonly staysOpen?: boolean;
};

/** What a reader makes of a provider's events. */
export type Outcome = {
  readonly text: string;
  /** Blocks joined by a blank line. */
  readonly thinking: string;
  readonly toolCalls: { id: string; name: string; arguments: string }[];
  readonly usage: TokenCounts | undefined;
  readonly stopReason: string;
  readonly stopReasonRaw: string | undefined;
  readonly error: ProviderError | undefined;
  readonly events: ProviderEvent[];
};

export const testModel: Model = {
  id: "m",
  name: "M",
  provider: "test",
  api: "openai-completions",
  baseUrl: "http://127.0.0.1:1/v1",
  reasoning: false,
  input: ["text", "image"],
  contextWindow: 128_000,
  maxTokens: 16_384,
  headers: {},
  compat: {},
};

export function testRequest(changes: Partial<ProviderRequest> = {}): ProviderRequest {
  return {
    model: testModel,
    systemPrompt: "",
    messages: [{ role: "user", content: "hi", timestamp: 0 }],
    tools: [],
    thinkingLevel: "off",
    sessionId: "session-1",
    ...changes,
  };
}

export type SentRequest = {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: Readonly<Record<string, JsonValue>>;
};

/** Asks the adapter against a fake fetch that answers with the reply and keeps what was sent. */
export async function askFake(
  reply: FakeReply,
  {
    request = testRequest(),
    apiKey = "key",
    signal = new AbortController().signal,
  }: { request?: ProviderRequest; apiKey?: string | null; signal?: AbortSignal } = {},
): Promise<Outcome & { sent: SentRequest[] }> {
  const sent: SentRequest[] = [];
  const adapter = createOpenAICompletions({
    credentials: apiKey === null ? {} : { apiKey },
    fetch: async (url, init) => {
      const body: Readonly<Record<string, JsonValue>> = JSON.parse(textOf(init?.body));
      sent.push({ url: String(url), headers: Object.fromEntries(new Headers(init?.headers)), body });
      const headers = new Headers(reply.headers);
      const status = reply.status ?? 200;
      if (status >= 400) {
        const text = Buffer.concat([...reply.chunks]).toString();
        throw toHttpError({
          status,
          header: (name) => headers.get(name),
          body: text,
          provider: request.model.provider,
        });
      }
      return toResponse({
        status,
        statusText: "",
        url: String(url),
        headers: new Map(headers),
        body: toBody(reply, init?.signal ?? undefined),
      });
    },
  });
  return { ...(await collect(adapter.stream(request, signal))), sent };
}

/** A body whose server may stay silent for ever; an abort breaks it. `onReturn` hears that its reader gave it up. */
export function toBody(
  { chunks, staysOpen }: FakeReply,
  signal?: AbortSignal,
  onReturn?: () => void,
): ReplyBody {
  async function* read() {
    for (const chunk of chunks) {
      signal?.throwIfAborted();
      yield chunk;
    }
    if (!staysOpen) return;
    await new Promise((_, reject) => {
      if (signal?.aborted) reject(signal.reason);
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
  }
  return toReplyBody(read(), onReturn);
}

/** Cuts bytes into pieces of the given sizes, over and over. */
export function* cut(bytes: Uint8Array, sizes: readonly number[]): Generator<Uint8Array> {
  let at = 0;
  for (let i = 0; at < bytes.length; i++) {
    const size = sizes[i % sizes.length] ?? bytes.length;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

/** Reads all events, holding them to the contract: blocks numbered in order, each ended once, `end` last. */
export async function collect(stream: AsyncIterable<ProviderEvent>): Promise<Outcome> {
  const events: ProviderEvent[] = [];
  let error: ProviderError | undefined;
  try {
    for await (const event of stream) events.push(event);
  } catch (thrown) {
    if (!(thrown instanceof Error) || thrown.name !== "ProviderError") throw thrown;
    error = thrown as ProviderError;
  }
  const blocks: { kind: string; text: string; id: string; name: string; isOpen: boolean }[] = [];
  for (const event of events) {
    if (!("index" in event)) continue;
    const [kind = "", step] = event.type.split("_");
    if (step === "start") {
      if (event.index !== blocks.length) throw new Error(`block ${event.index} out of order`);
      blocks.push({ kind, text: "", id: "", name: "", ...event, isOpen: true });
      continue;
    }
    const block = blocks[event.index];
    if (block === undefined || !block.isOpen || block.kind !== kind)
      throw new Error(`${event.type} ${event.index} without an open block`);
    if ("delta" in event) block.text += event.delta;
    else block.isOpen = false;
  }
  const end = events.find((event) => event.type === "end");
  if ((end === undefined) === (error === undefined)) throw new Error("neither or both of end and error");
  if (end !== undefined && (events.at(-1) !== end || blocks.some(({ isOpen }) => isOpen)))
    throw new Error("something is open at the end");
  const usage = events.findLast((event) => event.type === "usage")?.tokens;
  const texts = (kind: string) => blocks.filter((block) => block.kind === kind).map(({ text }) => text);
  return {
    text: texts("text").join(""),
    thinking: texts("thinking").join("\n\n"),
    toolCalls: blocks
      .filter(({ kind }) => kind === "toolcall")
      .map(({ id, name, text }) => ({ id, name, arguments: text })),
    usage,
    stopReason: end?.stopReason ?? "error",
    stopReasonRaw: end?.stopReasonRaw ?? error?.stopReasonRaw,
    error,
    events,
  };
}
