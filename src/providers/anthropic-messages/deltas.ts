import { ProviderError } from "../../contract/errors.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../contract/json.ts";
import type { ProviderEvent, TokenCounts } from "../../contract/provider.ts";
import { toStreamError } from "../errors/http-error.ts";
import type { ServerEvent } from "../http/sse.ts";
import { toArgumentsText, toCount, toText } from "../json-values.ts";
import { isError, toMessageEvents } from "./events.ts";

type EndReason = Extract<ProviderEvent, { type: "end" }>["stopReason"];

const stopReasons: Readonly<Record<string, EndReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  pause_turn: "stop",
  tool_use: "toolUse",
  max_tokens: "length",
  model_context_window_exceeded: "length",
};

/** A content block of the reply that is still open. `index` is set once it has something to show. */
type OpenBlock =
  | { kind: "text"; index?: number }
  | { kind: "thinking"; index?: number; signature: string }
  | { kind: "redacted"; index: number; data: string }
  | { kind: "toolCall"; index: number; input: string; hasDelta: boolean }
  /** What is stepped over. */
  | { kind: "other"; index?: undefined };

/**
 * Turns the events of a reply into deltas, up to the reply's own end: what the server sends after it is not read.
 * Throws a ProviderError when the reply fails or stops before its end.
 */
export async function* toDeltas(
  events: AsyncIterable<ServerEvent>,
  provider: string,
): AsyncGenerator<ProviderEvent, void, undefined> {
  const next = createMessageMachine(provider);
  for await (const event of events) {
    for (const data of toMessageEvents(event)) {
      for (const delta of next(data)) {
        yield delta;
        if (delta.type === "end") return;
      }
    }
  }
  throw new ProviderError("protocol", `${provider}: the reply broke off before its end (no message_stop)`);
}

/** Takes one event of a Messages stream and gives what it means; throws a ProviderError when it ends in failure. */
export type MessageMachine = (event: JsonObject) => Generator<ProviderEvent, void, undefined>;

/**
 * Makes the state machine of one reply. Its last event is `end`; after that it takes no more. Blocks of the server's
 * own tools are stepped over.
 */
export function createMessageMachine(provider: string): MessageMachine {
  const open = new Map<JsonValue, OpenBlock>();
  let nextIndex = 0;
  let calls = 0;
  let hasServerWork = false;
  let tokens: TokenCounts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  let stopReason: string | undefined;
  let stopDetails: JsonValue | undefined;

  return function* next(event) {
    if (isError(event)) throw toStreamError(event, provider);
    switch (event.type) {
      case "message_start":
        if (isJsonObject(event.message)) yield* start(event.message);
        return;
      case "content_block_start":
        // A block that never ended does when another one takes its place.
        yield* endBlock(event.index ?? null);
        if (isJsonObject(event.content_block)) yield* startBlock(event.index ?? null, event.content_block);
        return;
      case "content_block_delta":
        if (isJsonObject(event.delta))
          yield* addDelta(blockOf(event.index ?? null, event.delta), event.delta);
        return;
      case "content_block_stop":
        yield* endBlock(event.index ?? null);
        return;
      case "message_delta":
        if (isJsonObject(event.delta)) {
          stopReason = toText(event.delta.stop_reason) ?? stopReason;
          stopDetails = event.delta.stop_details ?? stopDetails;
        }
        yield* addUsage(event.usage);
        return;
      case "message_stop":
        yield* finish();
        return;
      default:
        yield { type: "activity" };
    }
  };

  function* start(message: JsonObject): Generator<ProviderEvent> {
    const responseId = toText(message.id);
    const responseModel = toText(message.model);
    yield {
      type: "meta",
      ...(responseId !== undefined && { responseId }),
      ...(responseModel !== undefined && { responseModel }),
    };
    yield* addUsage(message.usage);
  }

  function* startBlock(key: JsonValue, block: JsonObject): Generator<ProviderEvent> {
    switch (block.type) {
      case "text":
        open.set(key, { kind: "text" });
        yield* addDelta(open.get(key), { type: "text_delta", text: block.text ?? "" });
        return;
      case "thinking":
        open.set(key, { kind: "thinking", signature: "" });
        yield* addDelta(open.get(key), { type: "thinking_delta", thinking: block.thinking ?? "" });
        yield* addDelta(open.get(key), { type: "signature_delta", signature: block.signature ?? "" });
        return;
      case "redacted_thinking": {
        const index = nextIndex++;
        open.set(key, { kind: "redacted", index, data: toText(block.data) ?? "" });
        yield { type: "thinking_start", index };
        return;
      }
      case "tool_use": {
        const index = nextIndex++;
        calls++;
        open.set(key, {
          kind: "toolCall",
          index,
          input: toArgumentsText(block.input),
          hasDelta: false,
        });
        yield { type: "toolcall_start", index, id: toText(block.id) ?? "", name: toText(block.name) ?? "" };
        return;
      }
      default:
        if (/_tool_use$/.test(String(block.type))) hasServerWork = true;
        open.set(key, { kind: "other" });
        yield { type: "activity" };
    }
  }

  /** The block of a delta, which begins it where its start is missing. A call cannot be told without one. */
  function blockOf(key: JsonValue, { type, partial_json }: JsonObject): OpenBlock | undefined {
    const known = open.get(key);
    if (known !== undefined) return known;
    if (type === "input_json_delta" && toArgumentsText(partial_json) !== "")
      throw new ProviderError("protocol", `${provider} sent a piece of a tool call that never began`);
    if (type === "text_delta") open.set(key, { kind: "text" });
    else if (type === "thinking_delta") open.set(key, { kind: "thinking", signature: "" });
    return open.get(key);
  }

  function* addDelta(block: OpenBlock | undefined, delta: JsonObject): Generator<ProviderEvent> {
    const said = delta[deltaFields[String(delta.type)] ?? ""];
    const text = delta.type === "input_json_delta" ? toArgumentsText(said) : (toText(said) ?? "");
    if (block === undefined || text === "") {
      yield { type: "activity" };
    } else if (block.kind === "text" && delta.type === "text_delta") {
      const index = yield* shown(block);
      yield { type: "text_delta", index, delta: text };
    } else if (block.kind === "thinking" && delta.type === "thinking_delta") {
      const index = yield* shown(block);
      yield { type: "thinking_delta", index, delta: text };
    } else if (block.kind === "thinking" && delta.type === "signature_delta") {
      // A signature without text stands for thinking that is not shown; the block still has to be sent back.
      yield* shown(block);
      block.signature += text;
    } else if (block.kind === "toolCall" && delta.type === "input_json_delta") {
      block.hasDelta = true;
      yield { type: "toolcall_delta", index: block.index, delta: text };
    }
  }

  /** Starts a block with its first content, so that a block that stays empty never shows. */
  function* shown(
    block: Extract<OpenBlock, { kind: "text" | "thinking" }>,
  ): Generator<ProviderEvent, number> {
    if (block.index !== undefined) return block.index;
    const index = nextIndex++;
    block.index = index;
    yield { type: `${block.kind}_start`, index };
    return index;
  }

  function* endBlock(key: JsonValue): Generator<ProviderEvent> {
    const block = open.get(key);
    open.delete(key);
    if (block?.index === undefined) return;
    const { index } = block;
    switch (block.kind) {
      case "text":
        yield { type: "text_end", index };
        return;
      case "thinking":
        yield { type: "thinking_end", index, ...(block.signature !== "" && { signature: block.signature }) };
        return;
      case "redacted":
        yield { type: "thinking_end", index, signature: block.data, redacted: true };
        return;
      case "toolCall":
        // Arguments that came whole at the start count only when no pieces of them followed.
        if (!block.hasDelta && block.input !== "" && block.input !== "{}") {
          yield { type: "toolcall_delta", index, delta: block.input };
        }
        yield { type: "toolcall_end", index };
    }
  }

  function* addUsage(usage: JsonValue | undefined): Generator<ProviderEvent> {
    if (!isJsonObject(usage)) return;
    const input = toCount(usage.input_tokens);
    const cacheRead = toCount(usage.cache_read_input_tokens);
    const cacheWrite = toCount(usage.cache_creation_input_tokens);
    // Counts are cumulative, so the last ones hold; servers that state the input at the start only repeat it as 0.
    const statesInput = (input ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0) > 0;
    tokens = {
      input: statesInput ? (input ?? tokens.input) : tokens.input,
      cacheRead: statesInput ? (cacheRead ?? tokens.cacheRead) : tokens.cacheRead,
      cacheWrite: statesInput ? (cacheWrite ?? tokens.cacheWrite) : tokens.cacheWrite,
      output: toCount(usage.output_tokens) ?? tokens.output,
    };
    yield { type: "usage", tokens: { ...tokens } };
  }

  function* finish(): Generator<ProviderEvent> {
    for (const key of [...open.keys()]) yield* endBlock(key);
    if (stopReason === undefined) {
      throw new ProviderError("protocol", `${provider}: the reply ended without a stop reason; try again`);
    }
    if (stopReason === "refusal") throw refusal(stopReason, stopDetails, provider);
    const reason = stopReasons[stopReason];
    if (reason === undefined) {
      throw new ProviderError(
        "protocol",
        `${provider}: the reply stopped for an unknown reason, "${stopReason}"; the answer may be incomplete`,
        { stopReasonRaw: stopReason, transient: false },
      );
    }
    yield {
      type: "end",
      stopReason: fromContent(reason, calls),
      stopReasonRaw: stopReason,
      ...(hasServerWork && { hasServerWork }),
    };
  }
}

const deltaFields: Readonly<Record<string, string>> = {
  text_delta: "text",
  thinking_delta: "thinking",
  signature_delta: "signature",
  input_json_delta: "partial_json",
};

/** What the reply holds outranks the word: calls that were sent want to be run. */
function fromContent(reason: EndReason, calls: number): EndReason {
  if (reason === "length") return "length";
  return calls > 0 ? "toolUse" : "stop";
}

function refusal(reason: string, details: JsonValue | undefined, provider: string): ProviderError {
  const why = isJsonObject(details) ? toText(details.explanation) : undefined;
  const code = isJsonObject(details) ? toText(details.category) : undefined;
  return new ProviderError("refusal", `${provider}: the model declined to answer${why ? `: ${why}` : ""}`, {
    stopReasonRaw: reason,
    ...(code !== undefined && { code }),
  });
}
