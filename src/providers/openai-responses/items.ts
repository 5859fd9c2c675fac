import { isJsonObject, type JsonObject, type JsonValue } from "../../contract/json.ts";
import type { ProviderEvent } from "../../contract/provider.ts";
import { toArgumentsText, toObjects, toText } from "../json-values.ts";
import { type Block, callIdOf, createItemList, type Item, isCall, saysSame } from "./item-list.ts";

/** The output items of one Responses reply, as they grow. Items of the server's own tools are stepped over. */
export type OutputItems = {
  /** Takes an event that is not the reply's last. */
  next(type: string, event: JsonObject): Generator<ProviderEvent, void, undefined>;
  /** Ends what is open and adds the items that only the final list holds. */
  finish(output: readonly JsonValue[]): Generator<ProviderEvent, void, undefined>;
  /** How many calls there are to run. */
  calls(): number;
  /** The words with which the model declined to answer; undefined when it did not. */
  refusal(): string | undefined;
  /** Whether there was an item of the server's own tools. */
  hasServerWork(): boolean;
};

/** What the model says and thinks; every other item but a call is the server's work. */
const ownTypes: ReadonlySet<string> = new Set(["message", "reasoning", ""]);

/** Makes the items of one reply. */
export function createOutputItems(): OutputItems {
  const items = createItemList();
  let blocks = 0;
  let refusal: string | undefined;

  return {
    *next(type, event) {
      switch (type) {
        case "response.output_item.added":
          if (isJsonObject(event.item)) yield* add(items.added(event, event.item), event.item);
          return;
        case "response.output_item.done":
          if (isJsonObject(event.item)) yield* complete(items.done(event, event.item), event.item);
          return;
        case "response.output_text.delta":
        case "response.output_text.done":
          yield* addText(event, { delta: string(event.delta), whole: string(event.text) });
          return;
        case "response.refusal.delta":
        case "response.refusal.done":
          refusal = string(event.refusal) || (refusal ?? "") + string(event.delta);
          yield* addText(event, { delta: string(event.delta), whole: string(event.refusal) });
          return;
        case "response.reasoning_summary_text.delta":
          yield* addThinking(event, { kind: "summary", number: Number(event.summary_index ?? 0) });
          return;
        case "response.reasoning_text.delta":
          yield* addThinking(event, { kind: "content", number: Number(event.content_index ?? 0) });
          return;
        case "response.function_call_arguments.delta":
        case "response.function_call_arguments.done":
          yield* addArguments(
            items.of(event, "function_call"),
            toArgumentsText(event.delta),
            toArgumentsText(event.arguments),
          );
          return;
        case "response.custom_tool_call_input.delta":
        case "response.custom_tool_call_input.done":
          yield* addArguments(items.of(event, "custom_tool_call"), string(event.delta), string(event.input));
          return;
        default:
          yield { type: "activity" };
      }
    },

    *finish(output) {
      yield* addMissing(output.filter(isJsonObject));
      for (const item of items.all) yield* endBlocks(item);
    },

    calls: () => items.calls().length,
    refusal: () => refusal,
    hasServerWork: () => items.all.some(({ type }) => !ownTypes.has(type) && !isCall(type)),
  };

  function* add(item: Item, data: JsonObject): Generator<ProviderEvent> {
    if (typeof data.phase === "string") item.phase = data.phase;
    if (isCall(item.type) && string(data.name) !== "") {
      yield* startCall(item, data);
    } else if (item.type === "reasoning" && string(data.encrypted_content) !== "") {
      // Starts now, so that it keeps its place even if its text never comes.
      yield* block(item, 0, "thinking");
    } else {
      yield { type: "activity" };
    }
  }

  function* startCall(item: Item, data: JsonObject): Generator<ProviderEvent, Block> {
    const known = item.blocks.get(0);
    if (known !== undefined) return known;
    const custom = item.type === "custom_tool_call";
    const atStart = custom ? string(data.input) : toArgumentsText(data.arguments);
    const call: Block = { kind: "toolcall", index: blocks++, custom, atStart, sent: "", open: true };
    item.blocks.set(0, call);
    item.callId = callIdOf(data);
    item.name = string(data.name);
    yield { type: "toolcall_start", index: call.index, id: item.callId, name: item.name };
    if (custom) yield { type: "toolcall_delta", index: call.index, delta: '{"input":"' };
    yield* push(call, item.early ?? "");
    return call;
  }

  /** The block at a place of an item, started when it is new. */
  function* block(item: Item, at: number, kind: "text" | "thinking"): Generator<ProviderEvent, Block> {
    const known = item.blocks.get(at);
    if (known !== undefined) return known;
    const started: Block = { kind, index: blocks++, custom: false, sent: "", open: true };
    item.blocks.set(at, started);
    yield { type: `${kind}_start`, index: started.index };
    return started;
  }

  function* addText(event: JsonObject, text: { delta: string; whole: string }): Generator<ProviderEvent> {
    if (text.delta === "" && text.whole === "") return yield { type: "activity" };
    const item = items.of(event, "message");
    const part = yield* block(item, Number(event.content_index ?? 0), "text");
    if (text.delta !== "") return yield* push(part, text.delta);
    yield* pushRest(part, text.whole);
    yield* end(part, item);
  }

  function* addThinking(event: JsonObject, part: NonNullable<Item["part"]>): Generator<ProviderEvent> {
    const item = items.of(event, "reasoning");
    const delta = string(event.delta);
    // Where a server tells both the reasoning and its summary, the one that came first is kept.
    if (delta === "" || (item.part !== undefined && item.part.kind !== part.kind)) {
      return yield { type: "activity" };
    }
    const thinking = yield* block(item, 0, "thinking");
    if (item.part !== undefined && item.part.number !== part.number) yield* push(thinking, "\n\n");
    item.part = part;
    yield* push(thinking, delta);
  }

  function* addArguments(item: Item, delta: string, whole: string): Generator<ProviderEvent> {
    const call = item.blocks.get(0);
    if (call === undefined) item.early = whole || (item.early ?? "") + delta;
    if (call === undefined || delta + whole === "") yield { type: "activity" };
    else if (delta !== "") yield* push(call, delta);
    else yield* pushRest(call, whole);
  }

  /** Adds what an item's deltas left out, and ends it. */
  function* complete(item: Item, data: JsonObject): Generator<ProviderEvent> {
    if (typeof data.phase === "string") item.phase = data.phase;
    if (isCall(item.type)) {
      if (data.status === "incomplete") item.isCut = true;
      const call = yield* startCall(item, data);
      yield* pushRest(call, call.custom ? string(data.input) : toArgumentsText(data.arguments));
    } else if (item.type === "reasoning") {
      yield* completeReasoning(item, data);
    } else if (item.type === "message") {
      yield* completeMessage(item, data);
    } else {
      yield { type: "activity" };
    }
    item.done = true;
    yield* endBlocks(item);
  }

  function* completeMessage(item: Item, data: JsonObject): Generator<ProviderEvent> {
    for (const [at, part] of toContentParts(data.content).entries()) {
      if (part.type === "refusal") refusal = string(part.refusal) || (refusal ?? "");
      const text = string(part.text) || string(part.refusal);
      if (text !== "") yield* pushRest(yield* block(item, at, "text"), text);
    }
  }

  function* completeReasoning(item: Item, data: JsonObject): Generator<ProviderEvent> {
    const kind = item.part?.kind ?? (toObjects(data.summary).length > 0 ? "summary" : "content");
    const text = toObjects(data[kind])
      .map((part) => string(part.text))
      .join("\n\n");
    const encrypted = string(data.encrypted_content);
    if (text === "" && encrypted === "") return;
    const thinking = yield* block(item, 0, "thinking");
    yield* pushRest(thinking, text);
    if (encrypted === "") return;
    const { id = null, summary = [] } = data;
    thinking.signature = JSON.stringify({ type: "reasoning", id, summary, encrypted_content: encrypted });
  }

  /**
   * Adds what only the final list holds: whole items, and the rest of those whose end was never told. Calls are told by
   * their ids, or by what they say where a server makes up other ids for this list; other items by their number.
   */
  function* addMissing(output: readonly JsonObject[]): Generator<ProviderEvent> {
    const listed = new Set(output.map(callIdOf));
    const renamed = items.calls().filter(({ callId = "" }) => !listed.has(callId));
    const callOf = (data: JsonObject) => {
      const known = items.calls().find(({ callId }) => callId === callIdOf(data));
      if (known !== undefined) return known;
      const at = renamed.findIndex((item) => saysSame(item, data));
      return at < 0 ? undefined : renamed.splice(at, 1)[0];
    };
    const streamed = [...items.all];
    const next = (type: string) => {
      const at = streamed.findIndex((item) => item.type === type);
      return at < 0 ? undefined : streamed.splice(at, 1)[0];
    };
    for (const [i, data] of output.entries()) {
      const type = string(data.type);
      const known = isCall(type) ? callOf(data) : next(type);
      const item = known ?? items.of({ output_index: `final ${i}` }, type);
      if (!item.done) yield* complete(item, data);
    }
  }

  function* endBlocks(item: Item): Generator<ProviderEvent> {
    for (const part of item.blocks.values()) yield* end(part, item);
  }
}

/** A message's content is a list of parts; some servers send one part, or its text, without the list. */
function toContentParts(content: JsonValue | undefined): JsonObject[] {
  if (typeof content === "string") return [{ text: content }];
  return toObjects(isJsonObject(content) ? [content] : content);
}

function* push(block: Block, text: string): Generator<ProviderEvent> {
  if (!block.open || text === "") return;
  block.sent += text;
  const delta = block.custom ? JSON.stringify(text).slice(1, -1) : text;
  yield { type: `${block.kind}_delta`, index: block.index, delta };
}

/** Passes on what a whole text has more than its deltas had. */
function* pushRest(block: Block, whole: string): Generator<ProviderEvent> {
  if (whole.startsWith(block.sent)) yield* push(block, whole.slice(block.sent.length));
}

function* end(block: Block, item: Item): Generator<ProviderEvent> {
  if (!block.open) return;
  // What came whole at the start counts only when nothing followed.
  if (block.sent === "") yield* push(block, block.atStart ?? "");
  block.open = false;
  const { index, kind, signature } = block;
  switch (kind) {
    case "text":
      yield {
        type: "text_end",
        index,
        ...(item.phase !== undefined && { signature: JSON.stringify({ phase: item.phase }) }),
      };
      return;
    case "thinking":
      yield {
        type: "thinking_end",
        index,
        ...(signature !== undefined && { signature, ...(block.sent === "" && { redacted: true }) }),
      };
      return;
    case "toolcall":
      if (block.custom) yield { type: "toolcall_delta", index, delta: '"}' };
      yield { type: "toolcall_end", index, ...(item.isCut && { isCut: true }) };
  }
}

function string(value: JsonValue | undefined): string {
  return toText(value) ?? "";
}
