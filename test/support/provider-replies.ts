import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { ProviderError } from "../../src/contract/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/contract/json.ts";
import type { Api } from "../../src/contract/messages.ts";
import type { Model, Provider, ProviderRequest, TokenCounts } from "../../src/contract/provider.ts";
import type { CreateAdapter, ProviderFetch, ProviderInit } from "../../src/providers/adapter.ts";
import { toHttpError } from "../../src/providers/errors/http-error.ts";

/** How a body is cut into network chunks: whole, or pieces of these sizes over and over. */
export const chunkings = {
  whole: undefined,
  "1 byte at a time": [1],
  "odd sizes": [7, 1, 64, 3, 129, 2, 31],
} as const satisfies Record<string, readonly number[] | undefined>;

/** What an adapter asked of its fetch. */
export type SentRequest = {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: JsonObject;
};

/** A fetch that gives one reply, as ours does: a status that is not 2xx is thrown. */
export function replyingFetch(
  body: string | Uint8Array,
  options: {
    sizes?: readonly number[] | undefined;
    status?: number;
    headers?: Record<string, string>;
    provider?: string;
    /** Keeps the connection open behind the body. */
    hang?: boolean;
  } = {},
): ProviderFetch & { sent: SentRequest[] } {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  const { status = 200, headers = { "content-type": "text/event-stream" } } = options;
  const sent: SentRequest[] = [];
  const fetch: ProviderFetch = async (url, init) => {
    sent.push(readSent(url, init));
    if (status >= 300) {
      throw toHttpError({
        status,
        header: (name) => headers[name] ?? null,
        body: new TextDecoder().decode(bytes),
        provider: options.provider ?? "test",
      });
    }
    return new Response(toStream(bytes, options.sizes, options.hang ?? false), { status, headers });
  };
  return Object.assign(fetch, { sent });
}

/** Everything that came of one request, in the shape of the recordings' expectations. */
export type Reply = {
  text: string;
  thinking: string;
  toolCalls: { id: string; name: string; argumentsText: string }[];
  signatures: string[];
  tokens: TokenCounts | undefined;
  responseId?: string;
  responseModel?: string;
  stopReason: string;
  stopReasonRaw?: string;
  error?: ProviderError;
};

/** Runs a request and gathers its events; a ProviderError becomes `stopReason: "error"`. Checks the order of events. */
export async function gather(provider: Provider, request: ProviderRequest): Promise<Reply> {
  const blocks: {
    kind: string;
    text: string;
    open: boolean;
    id: string;
    name: string;
    signature?: string;
  }[] = [];
  const reply: Reply = {
    text: "",
    thinking: "",
    toolCalls: [],
    signatures: [],
    tokens: undefined,
    stopReason: "none",
  };
  try {
    for await (const event of provider.stream(request, new AbortController().signal)) {
      if (reply.stopReason !== "none") throw new Error("an event behind the end");
      switch (event.type) {
        case "meta":
          if (event.responseId !== undefined) reply.responseId = event.responseId;
          if (event.responseModel !== undefined) reply.responseModel = event.responseModel;
          break;
        case "usage":
          reply.tokens = event.tokens;
          break;
        case "text_start":
        case "thinking_start":
        case "toolcall_start": {
          if (event.index !== blocks.length) throw new Error(`block ${event.index} started out of order`);
          const [kind = ""] = event.type.split("_");
          const names =
            event.type === "toolcall_start" ? { id: event.id, name: event.name } : { id: "", name: "" };
          blocks.push({ kind, text: "", open: true, ...names });
          break;
        }
        case "text_delta":
        case "thinking_delta":
        case "toolcall_delta":
          openBlock(event).text += event.delta;
          break;
        case "text_end":
        case "thinking_end":
        case "toolcall_end": {
          const block = openBlock(event);
          block.open = false;
          if (event.signature !== undefined) block.signature = event.signature;
          break;
        }
        case "end":
          if (blocks.some((block) => block.open)) throw new Error("a block is open at the end");
          reply.stopReason = event.stopReason;
          if (event.stopReasonRaw !== undefined) reply.stopReasonRaw = event.stopReasonRaw;
      }
    }
    if (reply.stopReason === "none") throw new Error("no end");
  } catch (thrown) {
    if (!(thrown instanceof ProviderError)) throw thrown;
    reply.stopReason = "error";
    reply.error = thrown;
    if (thrown.stopReasonRaw !== undefined) reply.stopReasonRaw = thrown.stopReasonRaw;
  }
  const of = (kind: string) => blocks.filter((block) => block.kind === kind);
  reply.text = of("text")
    .map((block) => block.text)
    .join("");
  reply.thinking = of("thinking")
    .map((block) => block.text)
    .filter((text) => text !== "")
    .join("\n\n");
  reply.toolCalls = of("toolcall").map(({ id, name, text }) => ({ id, name, argumentsText: text }));
  reply.signatures = of("thinking").flatMap((block) => block.signature ?? []);
  return reply;

  function openBlock({ type, index }: { type: string; index: number }) {
    const block = blocks[index];
    if (block === undefined || !block.open || !type.startsWith(block.kind))
      throw new Error(`${type} of no open block`);
    return block;
  }
}

/** A model for tests; `fields` overrides. */
export function testModel(api: Api, fields: Partial<Model> = {}): Model {
  return {
    id: "test-model",
    name: "Test",
    provider: "test",
    api,
    baseUrl: "http://127.0.0.1:1/v1",
    reasoning: false,
    input: ["text", "image"],
    contextWindow: 200_000,
    maxTokens: 8192,
    headers: {},
    compat: {},
    ...fields,
  };
}

/** A request for tests; `fields` overrides. */
export function testRequest(model: Model, fields: Partial<ProviderRequest> = {}): ProviderRequest {
  return {
    model,
    systemPrompt: "Be brief.",
    messages: [{ role: "user", content: "hi", timestamp: 0 }],
    tools: [],
    thinkingLevel: "off",
    sessionId: "session-1",
    ...fields,
  };
}

/** Asks an adapter with a key, over the given fetch. */
export function ask(create: CreateAdapter, fetch: ProviderFetch, request: ProviderRequest): Promise<Reply> {
  return gather(create({ credentials: { apiKey: "test-key", accountId: "account-1" }, fetch }), request);
}

/** A recorded reply and what it has to come out as. */
export type Recording = {
  name: string;
  body: Uint8Array;
  model: string;
  status: number;
  headers: Record<string, string>;
  expected: JsonObject;
};

/** The folder of recorded replies, when this machine has one. */
export const recordingsFolder = process.env.BASE_CONTEXT_FIXTURES;

/** The recordings of one API, empty without the folder. */
export function readRecordings(api: string): Recording[] {
  return recordingsFolder === undefined ? [] : readReplies(join(recordingsFolder, api));
}

/** The replies under test/fixtures that were written by hand, in the form of the recordings. */
export function readHandWritten(folder: string): Recording[] {
  return readReplies(join(import.meta.dirname, "../fixtures", folder));
}

function readReplies(folder: string): Recording[] {
  const names = readdirSync(folder);
  return names
    .filter((name) => name.endsWith(".meta.json"))
    .map((metaName) => {
      const stem = metaName.slice(0, -".meta.json".length);
      const name = names.find((other) => other.startsWith(`${stem}.`) && other !== metaName) ?? "";
      const meta = parseObject(readFileSync(join(folder, metaName), "utf8"));
      return {
        name,
        body: readFileSync(join(folder, name)),
        model: typeof meta.model === "string" ? meta.model : "some-model",
        status: Number(meta.httpStatus),
        headers: Object.fromEntries(
          Object.entries(object(meta.headers)).map(([key, value]) => [key, String(value)]),
        ),
        expected: object(meta.expected),
      };
    });
}

/** The scripted answers of a spec file under test/fixtures/specs. */
export function readSpec(name: string): { status: number; headers: Record<string, string>; body: string }[] {
  const text = readFileSync(join(import.meta.dirname, "../fixtures/specs", `${name}.json`), "utf8");
  const entries: JsonValue = JSON.parse(text);
  return (Array.isArray(entries) ? entries : []).map((entry) => ({
    status: Number(object(entry).status ?? 200),
    headers: { "content-type": String(object(entry).type ?? "text/event-stream") },
    body: String(object(entry).body),
  }));
}

/** Server-sent events, each named by its type, as Anthropic and the Responses API send them. */
export function toEventStream(events: readonly JsonObject[]): string {
  return events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

function readSent(url: string | URL | Request, init: ProviderInit | undefined): SentRequest {
  return {
    method: init?.method ?? "GET",
    url: String(url),
    headers: Object.fromEntries(new Headers(init?.headers)),
    body: parseObject(textOf(init?.body)),
  };
}

/** The text of a request's body, which may come in parts. */
export function textOf(body: ProviderInit["body"]): string {
  return Array.isArray(body) ? Buffer.concat(body).toString() : String(body);
}

function parseObject(text: string): JsonObject {
  return object(JSON.parse(text));
}

function object(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function toStream(
  bytes: Uint8Array,
  sizes: readonly number[] = [bytes.length],
  hang: boolean,
): ReadableStream<Uint8Array> {
  let offset = 0;
  let turn = 0;
  return new ReadableStream({
    pull(controller) {
      if (offset >= bytes.length) return hang ? new Promise(() => {}) : controller.close();
      const size = sizes[turn++ % sizes.length] || 1;
      controller.enqueue(bytes.subarray(offset, offset + size));
      offset += size;
    },
  });
}
