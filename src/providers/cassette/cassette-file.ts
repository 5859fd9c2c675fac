import { StartupError } from "../../contract/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../contract/json.ts";
import type { Api } from "../../contract/messages.ts";
import type { Compat, Model, Prices } from "../../contract/provider.ts";
import { parseJson } from "../json-values.ts";

/** The first line of a recording. */
export type CassetteHeader = { readonly type: "cassette"; readonly version: 1; readonly model: Model };

/** Why a recorded request got no whole reply. */
export type RecordedFailure = {
  /** The kind of the ProviderError; `network` when absent. */
  readonly kind?: string;
  readonly code?: string;
  readonly message: string;
  /** Whether the run tried again; where absent, the kind decides. */
  readonly transient?: boolean;
};

/** Text, or bytes that are no text by themselves (a character cut in two). */
export type RecordedChunk = string | { readonly base64: string };

/** One request and what came back: a reply, a failure, or a reply that broke off with a failure. */
export type RecordedExchange = {
  readonly type: "exchange";
  readonly request: { readonly method: string; readonly url: string; readonly body?: JsonValue };
  readonly response?: {
    readonly status: number;
    /** The server's words for the status; errors quote them. */
    readonly statusText?: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly chunks: readonly RecordedChunk[];
  };
  readonly failure?: RecordedFailure;
};

/**
 * Reads the text of a recording. A last line that was cut (the recording run was killed) is left out; anything else
 * that does not fit throws a StartupError with the file and the line.
 */
export function parseCassette(text: string, path: string): { model: Model; exchanges: RecordedExchange[] } {
  const lines = text.split("\n");
  const torn = lines.at(-1) !== "" && lines.length > 1;
  const [header, ...exchanges] = lines.flatMap((line, index) => {
    const where = `${path}:${index + 1}`;
    if (line.trim() === "") return [];
    const value = parseJson(line);
    if (value === undefined && torn && index === lines.length - 1) return [];
    if (!isJsonObject(value)) throw bad(where, "is not a JSON object");
    return [{ value, where }];
  });
  if (header === undefined) throw bad(path, "is empty");
  return {
    model: toHeader(header.value, header.where).model,
    exchanges: exchanges.map(({ value, where }) => toExchange(value, where)),
  };
}

function toHeader(line: JsonObject, where: string): CassetteHeader {
  if (line.type !== "cassette") throw bad(where, 'is no recording: its first line has no "type":"cassette"');
  if (line.version !== 1)
    throw bad(where, `has version ${JSON.stringify(line.version)}; this program reads 1`);
  if (!isJsonObject(line.model)) throw bad(where, 'has no "model"');
  return { type: "cassette", version: 1, model: toModel(line.model, where) };
}

function toModel(line: JsonObject, where: string): Model {
  const id = text(line.id, where, "model.id");
  const cost = line.cost === undefined ? undefined : toPrices(line.cost, where);
  return {
    id,
    name: text(line.name ?? id, where, "model.name"),
    provider: text(line.provider, where, "model.provider"),
    api: toApi(line.api, where),
    baseUrl: url(line.baseUrl, where, "model.baseUrl"),
    reasoning: line.reasoning === true,
    input: toInput(line.input),
    contextWindow: count(line.contextWindow ?? 128_000, where, "model.contextWindow"),
    maxTokens: count(line.maxTokens ?? 16_384, where, "model.maxTokens"),
    ...(cost !== undefined && { cost }),
    headers: {},
    compat: toCompat(line.compat ?? {}, where),
  };
}

const apis: readonly Api[] = [
  "openai-completions",
  "openai-responses",
  "openai-codex-responses",
  "anthropic-messages",
];

function toApi(value: JsonValue | undefined, where: string): Api {
  const api = apis.find((name) => name === value);
  if (api === undefined) throw bad(where, `needs "model.api": one of ${apis.join(", ")}`);
  return api;
}

function toInput(value: JsonValue | undefined): Model["input"] {
  return Array.isArray(value) && value.includes("image") ? ["text", "image"] : ["text"];
}

function toPrices(value: JsonValue, where: string): Prices {
  const prices = isJsonObject(value) ? value : {};
  const price = (name: keyof Prices) => amount(prices[name] ?? 0, where, `model.cost.${name}`);
  return {
    input: price("input"),
    output: price("output"),
    cacheRead: price("cacheRead"),
    cacheWrite: price("cacheWrite"),
  };
}

const compatValues: Readonly<Record<keyof Compat, readonly JsonValue[]>> = {
  maxTokensField: ["max_tokens", "max_completion_tokens"],
  sendsMaxTokens: [true, false],
  supportsDeveloperRole: [true, false],
  supportsReasoningEffort: [true, false],
  thinkingFormat: ["openai", "openrouter", "zai", "qwen", "deepseek", "none"],
  supportsStore: [true, false],
  supportsUsageInStreaming: [true, false],
  requiresToolResultName: [true, false],
  reasoningRoundTripField: ["reasoning_content", "reasoning", "reasoning_details"],
  supportsStrictTools: [true, false],
  supportsToolResultImages: [true, false],
};

function toCompat(value: JsonValue, where: string): Compat {
  if (!isCompat(value))
    throw bad(where, '"model.compat" holds a switch or a value that this program does not know');
  return value;
}

function isCompat(value: JsonValue): value is Compat & JsonObject {
  const known = new Map<string, readonly JsonValue[]>(Object.entries(compatValues));
  return (
    isJsonObject(value) &&
    Object.entries(value).every(([name, setting]) => known.get(name)?.includes(setting) === true)
  );
}

function toExchange(line: JsonObject, where: string): RecordedExchange {
  if (line.type !== "exchange") throw bad(where, 'has no "type":"exchange"');
  const { request, response, failure } = line;
  if (!isJsonObject(request)) throw bad(where, 'has no "request"');
  if (response === undefined && failure === undefined)
    throw bad(where, 'has neither "response" nor "failure"');
  return {
    type: "exchange",
    request: {
      method: text(request.method ?? "POST", where, "request.method"),
      url: url(request.url, where, "request.url"),
      ...(request.body !== undefined && { body: request.body }),
    },
    ...(response !== undefined && { response: toResponseLine(response, where) }),
    ...(failure !== undefined && { failure: toFailure(failure, where) }),
  };
}

function toResponseLine(value: JsonValue, where: string): NonNullable<RecordedExchange["response"]> {
  const response = isJsonObject(value) ? value : {};
  const headers = isJsonObject(response.headers) ? Object.entries(response.headers) : [];
  const chunks = response.chunks ?? [];
  if (!Array.isArray(chunks)) throw bad(where, '"response.chunks" is no array');
  const { statusText } = response;
  return {
    status: count(response.status ?? 200, where, "response.status"),
    ...(typeof statusText === "string" && { statusText }),
    headers: Object.fromEntries(
      headers.map(([name, header]) => [name.toLowerCase(), text(header, where, `response.headers.${name}`)]),
    ),
    chunks: chunks.map((chunk: JsonValue, index) => toChunk(chunk, where, `response.chunks[${index}]`)),
  };
}

function toChunk(value: JsonValue, where: string, name: string): RecordedChunk {
  if (typeof value === "string") return value;
  const base64 = isJsonObject(value) ? value.base64 : undefined;
  if (typeof base64 !== "string") throw bad(where, `"${name}" is neither text nor {"base64": text}`);
  return { base64 };
}

function toFailure(value: JsonValue, where: string): RecordedFailure {
  const failure = isJsonObject(value) ? value : {};
  const { kind, code, transient } = failure;
  return {
    message: text(failure.message, where, "failure.message"),
    ...(typeof kind === "string" && { kind }),
    ...(typeof code === "string" && { code }),
    ...(typeof transient === "boolean" && { transient }),
  };
}

function text(value: JsonValue | undefined, where: string, name: string): string {
  if (typeof value !== "string" || value === "") throw bad(where, `needs text in "${name}"`);
  return value;
}

function url(value: JsonValue | undefined, where: string, name: string): string {
  const address = text(value, where, name);
  if (!URL.canParse(address)) throw bad(where, `needs a URL in "${name}"`);
  return address;
}

function amount(value: JsonValue, where: string, name: string): number {
  if (typeof value !== "number" || value < 0) throw bad(where, `needs a number in "${name}"`);
  return value;
}

function count(value: JsonValue, where: string, name: string): number {
  const number = amount(value, where, name);
  if (!Number.isInteger(number) || number === 0) throw bad(where, `needs a whole number in "${name}"`);
  return number;
}

function bad(where: string, what: string): StartupError {
  return new StartupError(`${where}: ${what}; record it again or mend the line`);
}
