import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject, type JsonValue } from "../../contract/json.ts";
import { parseJson, toArgumentsText, toText } from "../json-values.ts";

type BlockKind = "text" | "thinking" | "toolcall";

/** A content block of ours: one part of a message item, a whole reasoning item, a call. */
export type Block = {
  readonly kind: BlockKind;
  readonly index: number;
  /** The input of a custom tool is plain text: it is passed on as the JSON of `{input}`. */
  readonly custom: boolean;
  /** The arguments that a call began with. */
  readonly atStart?: string;
  /** The provider's text that was passed on so far. */
  sent: string;
  open: boolean;
  signature?: string;
};

export type Item = {
  readonly type: string;
  /** Its place in the reply, which some servers give to several items one after the other. */
  readonly place: string;
  /** Whether the place is a number; else it is the id. */
  readonly hasIndex: boolean;
  /** What it is called in the events that go on with it; empty when that is not stated. */
  id: string;
  /** A call's own id and name, which its result answers to. */
  callId?: string;
  name?: string;
  /** The arguments of a call that were told before its name. */
  early?: string;
  /** Whether its end was told. */
  done: boolean;
  /** Whether the server said that it is not complete, whatever it says of the reply. */
  isCut?: boolean;
  /** By content index; reasoning and calls have one, at 0. */
  readonly blocks: Map<number, Block>;
  phase?: string;
  /** Which part of a reasoning item is being told: its kind and number. */
  part?: { kind: ReasoningKind; number: number };
};

export type ReasoningKind = "summary" | "content";

/** The items of a reply, in the order in which they began. Each of its functions begins an item that is new. */
export type ItemList = {
  readonly all: readonly Item[];
  /** Those that are calls to run. */
  calls(): Item[];
  /** The item that an event goes on with. */
  of(event: JsonObject, type: string): Item;
  /** The item that an event adds. */
  added(event: JsonObject, data: JsonObject): Item;
  /** The item that an event tells the end of. */
  done(event: JsonObject, data: JsonObject): Item;
};

export function createItemList(): ItemList {
  const all: Item[] = [];

  function of(event: JsonObject, type: string): Item {
    return at(event, type) ?? begin(event, type);
  }

  function at(event: JsonObject, type: string): Item | undefined {
    const place = placeOf(event, type);
    const id = idOf(event);
    const there = all.filter((item) => item.place === place);
    return there.findLast((item) => id !== "" && item.id === id) ?? there.at(-1);
  }

  function added(event: JsonObject, data: JsonObject): Item {
    const type = string(data.type);
    const item = of(event, type);
    if (isSameCall(item, data)) return item;
    const isOther = item.id !== "" && string(data.id) !== "" && item.id !== data.id;
    return item.done || isOther ? begin(event, type) : item;
  }

  /** Ids may change until here, so that only what is done already can be another item. */
  function done(event: JsonObject, data: JsonObject): Item {
    const type = string(data.type);
    const item = all.find((each) => isSameCall(each, data)) ?? at(event, type) ?? onlyOpen(event, type);
    if (item === undefined) return begin(event, type);
    const isOther = isCall(type) ? !isSameCall(item, data) : item.id !== data.id;
    return item.done && isOther ? begin(event, type) : item;
  }

  /** What an end without the place of a beginning can only mean. */
  function onlyOpen(event: JsonObject, type: string): Item | undefined {
    const [item, ...more] = all.filter((each) => each.type === type && !each.done);
    const isNamed = item?.hasIndex === true && event.output_index !== undefined;
    return more.length > 0 || isNamed ? undefined : item;
  }

  function begin(event: JsonObject, type: string): Item {
    const hasIndex = event.output_index !== undefined;
    const item: Item = {
      type,
      place: placeOf(event, type),
      hasIndex,
      id: idOf(event),
      done: false,
      blocks: new Map(),
    };
    all.push(item);
    return item;
  }

  return { all, calls: () => all.filter(({ callId }) => callId !== undefined), of, added, done };
}

/** Servers leave out indexes or ids, but not both; the type keeps apart what then has the same place. */
function placeOf(event: JsonObject, type: string): string {
  return `${type} ${event.output_index ?? (idOf(event) || "")}`;
}

function idOf({ item_id, item }: JsonObject): string {
  return string(item_id) || (isJsonObject(item) ? string(item.id) : "");
}

/** What the result of a call answers to. */
export function callIdOf(data: JsonObject): string {
  return string(data.call_id) || string(data.id);
}

function isSameCall(item: Item, data: JsonObject): boolean {
  return (
    isCall(item.type) && item.callId !== undefined && item.callId !== "" && item.callId === callIdOf(data)
  );
}

/**
 * Whether a call of the final list is one that was streamed: the same tool with the same arguments, or with the
 * beginning of them when its end was never told.
 */
export function saysSame({ name, blocks, done }: Item, data: JsonObject): boolean {
  const sent = blocks.get(0)?.sent ?? "";
  const whole = toArgumentsText(data.arguments) || string(data.input);
  if (!done && name === data.name && whole.startsWith(sent)) return true;
  return name === data.name && (sent === whole || isDeepStrictEqual(parseJson(sent) ?? "", parseJson(whole)));
}

export function isCall(type: string): boolean {
  return type === "function_call" || type === "custom_tool_call";
}

function string(value: JsonValue | undefined): string {
  return toText(value) ?? "";
}
