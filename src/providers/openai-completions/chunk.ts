import { isJsonObject, type JsonObject, type JsonValue } from "../../contract/json.ts";
import type { TokenCounts } from "../../contract/provider.ts";
import { isBareError } from "../errors/error-body.ts";
import { toArgumentsText, toObjects, toText } from "../json-values.ts";

/** A piece of what the model said. */
export type ContentPart = { readonly kind: "text" | "thinking"; readonly text: string };

/** A piece of a tool call. What the server did not state is undefined or empty. */
export type ToolCallDelta = {
  /** A number, which some servers write as a text. */
  readonly index: number | string | undefined;
  /** Where it stood in its chunk, which is all that some servers tell calls apart by. */
  readonly position: number;
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  /** Opaque data as JSON text that has to be sent back with the call. */
  readonly signature: string | undefined;
};

/** What a delta or a message says. */
export type Said = {
  readonly parts: readonly ContentPart[];
  /** OpenRouter's structured reasoning, which the plain reasoning text repeats. */
  readonly reasoningDetails: readonly JsonObject[];
  readonly refusal: string;
  readonly calls: readonly ToolCallDelta[];
};

/** One chunk of a reply in one shape, whatever dialect the server speaks. */
export type CompletionChunk = Said & {
  readonly id: string;
  readonly model: string;
  /** The number of the choice whose words these are. */
  readonly choice: number;
  /** A message instead of a delta, or beside it: in a stream it may tell again what the deltas said. */
  readonly message: Said | undefined;
  readonly finishReason: string;
  readonly usage: TokenCounts | undefined;
  /** What holds an error, when anything in the chunk does. */
  readonly error: JsonObject | undefined;
};

/** Reads a chunk of a stream or a whole completion. What is not usable in it is passed over. */
export function readChunk(chunk: JsonObject): CompletionChunk {
  const choices = toObjects(chunk.choices);
  const [choice = {}] = choices;
  const groq = isJsonObject(chunk.x_groq) ? chunk.x_groq : {};
  return {
    id: text(chunk.id),
    model: text(chunk.model),
    choice: typeof choice.index === "number" ? choice.index : 0,
    ...readSaid(choices, "delta"),
    message: choices.some(({ message }) => isJsonObject(message)) ? readSaid(choices, "message") : undefined,
    finishReason: readReason(choices),
    usage: toTokenCounts(chunk.usage) ?? toTokenCounts(choice.usage) ?? toTokenCounts(groq.usage),
    error: readError(chunk, choice, groq),
  };
}

function readSaid(choices: readonly JsonObject[], field: "delta" | "message"): Said {
  const first = saidIn(choices[0], field);
  const thoughts = readReasoning(first);
  const words = readContent(first.content);
  return {
    parts: thoughts.length === 0 ? words : [...thoughts, ...words],
    reasoningDetails: toObjects(first.reasoning_details),
    refusal: text(first.refusal),
    // One choice is asked for: where a server sends several, the calls of one answer are in another than its text.
    calls:
      choices.length < 2 ? readCalls(first) : choices.flatMap((choice) => readCalls(saidIn(choice, field))),
  };
}

function saidIn(choice: JsonObject | undefined, field: "delta" | "message"): JsonObject {
  const said = choice?.[field];
  return isJsonObject(said) ? said : {};
}

/** Some servers write out that there is no reason yet. */
function readReason(choices: readonly JsonObject[]): string {
  for (const { finish_reason } of choices) {
    const reason = text(finish_reason);
    if (reason !== "" && reason !== "null") return reason;
  }
  return "";
}

/** The first of these that states a text: servers that send two of them send the same twice. */
const reasoningFields = ["reasoning_content", "reasoning", "reasoning_text"] as const;

function readReasoning(delta: JsonObject): ContentPart[] {
  for (const field of reasoningFields) {
    const said = text(delta[field]);
    if (said !== "") return toParts("thinking", said);
  }
  if (delta.reasoning_details === undefined) return [];
  return toParts("thinking", toObjects(delta.reasoning_details).map(reasoningDetailText).join(""));
}

/** The words of one structured reasoning item; empty for an encrypted one. */
function reasoningDetailText(detail: JsonObject): string {
  return text(detail.text) || text(detail.summary);
}

/** Content is a text, or (Mistral) an array of texts and thoughts, or one of them without the array. */
function readContent(content: JsonValue | undefined): ContentPart[] {
  return Array.isArray(content) ? content.flatMap(readContentPart) : readContentPart(content ?? null);
}

function readContentPart(part: JsonValue): ContentPart[] {
  if (typeof part === "string") return toParts("text", part);
  if (!isJsonObject(part)) return [];
  if (part.thinking === undefined) return toParts("text", text(part.text));
  const thoughts = Array.isArray(part.thinking) ? part.thinking : [part.thinking];
  return toParts("thinking", thoughts.map(thoughtText).join(""));
}

function thoughtText(thought: JsonValue): string {
  return isJsonObject(thought) ? text(thought.text) : text(thought);
}

function toParts(kind: ContentPart["kind"], said: string): ContentPart[] {
  return said === "" ? [] : [{ kind, text: said }];
}

function readCalls(delta: JsonObject): ToolCallDelta[] {
  if (delta.tool_calls == null && delta.function_call == null) return [];
  const calls = Array.isArray(delta.tool_calls)
    ? toObjects(delta.tool_calls)
    : toObjects([delta.tool_calls ?? null]);
  // The one call of the API's first version has neither id nor index.
  const legacy = isJsonObject(delta.function_call) ? [{ index: 0, function: delta.function_call }] : [];
  return [...calls, ...legacy].map((call: JsonObject, position) => {
    // Some servers leave the inner object out and state the name and arguments beside the id.
    const called = isJsonObject(call.function) ? call.function : call;
    return {
      index: typeof call.index === "number" ? call.index : text(call.index) || undefined,
      position,
      id: text(call.id),
      name: text(called.name),
      arguments: toArgumentsText(called.arguments),
      signature: isJsonObject(call.extra_content) ? JSON.stringify(call.extra_content) : undefined,
    };
  });
}

function readError(chunk: JsonObject, choice: JsonObject, groq: JsonObject): JsonObject | undefined {
  if (chunk.object === "error" || chunk.type === "error" || isBareError(chunk)) return chunk;
  const holder = [chunk, choice, groq].find(({ error }) => error != null && error !== false && error !== "");
  return holder === undefined ? undefined : withoutReply(holder);
}

/** What a chunk or a choice says beside what every one of them holds: the rest is no reason for an error. */
function withoutReply(holder: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(holder).filter(([key]) => !replyFields.has(key)));
}

const replyFields: ReadonlySet<string> = new Set([
  ...["id", "object", "created", "model", "system_fingerprint", "usage", "choices"],
  ...["index", "delta", "logprobs", "finish_reason"],
]);

/**
 * Reads a usage object of any OpenAI-compatible server. Undefined when it counts nothing. The prompt's tokens include
 * the cached ones on the wire; here they are taken apart.
 */
function toTokenCounts(usage: JsonValue | undefined): TokenCounts | undefined {
  if (!isJsonObject(usage)) return undefined;
  const prompt = firstCount(usage.prompt_tokens, usage.input_tokens);
  const output = firstCount(usage.completion_tokens, usage.output_tokens);
  if (prompt + output === 0) return undefined;
  const details = [usage.prompt_tokens_details, usage.input_tokens_details].find(isJsonObject) ?? {};
  const cacheRead = firstCount(
    details.cached_tokens,
    usage.prompt_cache_hit_tokens,
    usage.cached_tokens,
    usage.cache_read_input_tokens,
  );
  const cacheWrite = firstCount(
    details.cache_write_tokens,
    details.cache_creation_tokens,
    usage.cache_creation_input_tokens,
  );
  const fresh = prompt - cacheRead - cacheWrite;
  // More cached than there was prompt: this server counts them apart.
  return { input: fresh < 0 ? prompt : fresh, output, cacheRead, cacheWrite };
}

/** The first value that is a count, else 0. */
function firstCount(...values: readonly (JsonValue | undefined)[]): number {
  for (const value of values) if (typeof value === "number" && value > 0) return value;
  return 0;
}

function text(value: JsonValue | undefined): string {
  return toText(value) ?? "";
}
