import { isJsonObject } from "../../contract/json.ts";
import type { ProviderEvent } from "../../contract/provider.ts";
import { parseJson } from "../json-values.ts";
import type { ToolCallDelta } from "./chunk.ts";

/** Puts the pieces of a reply's tool calls together. The calls stay open until the reply ends. */
export type ToolCalls = {
  append(delta: ToolCallDelta): ProviderEvent[];
  /** Takes a whole call of a message behind the deltas: adds what they left out of it. */
  complete(call: ToolCallDelta): ProviderEvent[];
  /** Tells the calls whose names may be going on in the next piece: something else comes. */
  announce(): ProviderEvent[];
  count(): number;
  /** Whether a call never got its name, so that nobody can run it. */
  hasNameless(): boolean;
  /** Whether the arguments of every call are a whole JSON object (or nothing). */
  areWhole(): boolean;
  end(): ProviderEvent[];
};

type Call = {
  /** The server's own key: its index, or its place in the chunk that began it. */
  readonly key: string;
  id: string;
  name: string;
  arguments: string;
  signature: string | undefined;
  /** Set when the call was announced, which needs its whole name. */
  index: number | undefined;
};

/**
 * @param nextIndex Numbers the blocks of the reply, texts among them.
 * @param isTool Whether a name is one of a tool: any other may be the first piece of one.
 */
export function createToolCalls(
  nextIndex: () => number,
  isTool: (name: string) => boolean = () => true,
): ToolCalls {
  const calls: Call[] = [];
  const byKey = new Map<string, Call>();

  function callFor(delta: ToolCallDelta): Call {
    const key = delta.index === undefined ? `position ${delta.position}` : `index ${delta.index}`;
    const named = calls.findLast(
      ({ id, ...call }) => id !== "" && id === delta.id && (delta.index === undefined || key === call.key),
    );
    const known = named ?? byKey.get(key) ?? (isContinuation(delta) ? calls.at(-1) : undefined);
    if (known !== undefined && (goesOnWithName(known, delta, isTool) || !startsAnother(known, delta)))
      return known;
    const call = { key, id: delta.id, name: "", arguments: "", signature: undefined, index: undefined };
    calls.push(call);
    byKey.set(key, call);
    return call;
  }

  function append(delta: ToolCallDelta): ProviderEvent[] {
    const before = calls.length;
    const call = callFor(delta);
    const earlier = calls.length > before ? calls.slice(0, before).flatMap(announce) : [];
    return repeats(call, delta) ? earlier : [...earlier, ...add(call, delta)];
  }

  function add(call: Call, delta: ToolCallDelta): ProviderEvent[] {
    call.id ||= delta.id;
    call.name = joinName(call, delta);
    call.signature ??= delta.signature;
    call.arguments += delta.arguments;
    if (call.index !== undefined) return toDelta(call.index, delta.arguments);
    return isTool(call.name) || call.arguments !== "" ? announce(call) : [];
  }

  function announce(call: Call): ProviderEvent[] {
    if (call.index !== undefined || call.name === "") return [];
    call.index = nextIndex();
    const { index, id, name } = call;
    return [{ type: "toolcall_start", index, id, name }, ...toDelta(index, call.arguments)];
  }

  return {
    append,
    complete(whole) {
      const call = calls.find(({ id }) => id !== "" && id === whole.id) ?? calls[whole.position];
      if (call === undefined) return append(whole);
      const goesOn = whole.arguments.startsWith(call.arguments);
      return add(call, { ...whole, arguments: goesOn ? whole.arguments.slice(call.arguments.length) : "" });
    },
    announce: () => calls.flatMap(announce),
    count: () => calls.length,
    hasNameless: () => calls.some(({ name }) => name === ""),
    areWhole: () => calls.every((call) => call.arguments.trim() === "" || isWhole(call.arguments)),
    end: () => calls.flatMap((call) => [...announce(call), ...toEnd(call)]),
  };
}

function toDelta(index: number, delta: string): ProviderEvent[] {
  return delta === "" ? [] : [{ type: "toolcall_delta", index, delta }];
}

function toEnd({ index, signature }: Call): ProviderEvent[] {
  if (index === undefined) return [];
  return [{ type: "toolcall_end", index, ...(signature !== undefined && { signature }) }];
}

/** A name comes in pieces until it is a tool's; the name of another tool begins another call. */
function goesOnWithName(call: Call, { id, name }: ToolCallDelta, isTool: (name: string) => boolean): boolean {
  if (call.index !== undefined || call.name === "" || name === "") return false;
  return (id === "" || id === call.id) && (name.startsWith(call.name) || !isTool(name));
}

/** Pieces of a name are joined; a piece that begins with all of it tells it again. What was announced stays. */
function joinName({ name, index }: Call, piece: ToolCallDelta): string {
  if (index !== undefined || piece.name === "") return name;
  return piece.name.startsWith(name) ? piece.name : name + piece.name;
}

/** A piece that names nothing goes on with what came last. */
function isContinuation({ index, id, name }: ToolCallDelta): boolean {
  return index === undefined && id === "" && name === "";
}

/**
 * Tells whether a piece under a known call's key is another call: it has another id; or it states none, and has another
 * name, or more arguments although the call's are whole (servers that number all calls 0, with or without ids, or give
 * all of them one id).
 */
function startsAnother(call: Call, delta: ToolCallDelta): boolean {
  if (delta.id !== "" && call.id !== "" && delta.id !== call.id) return !goesOnUnderNewId(call, delta);
  if (delta.name === "" || call.name === "") return false;
  if (delta.id === "" && delta.name !== call.name) return true;
  return delta.arguments.trim() !== "" && isWhole(call.arguments) && !repeats(call, delta);
}

/** Some servers make up an id for every piece. Such a piece is one that no call can begin with. */
function goesOnUnderNewId(call: Call, delta: ToolCallDelta): boolean {
  if (isWhole(call.arguments)) return false;
  if (delta.name === "") return true;
  if (delta.name !== call.name || isWhole(delta.arguments)) return false;
  return call.arguments === "" ? delta.arguments !== "" : !delta.arguments.trimStart().startsWith("{");
}

/** Some servers send a whole call again under its id. */
function repeats(call: Call, delta: ToolCallDelta): boolean {
  if (delta.id === "" || delta.arguments === "" || delta.arguments !== call.arguments) return false;
  return isWhole(call.arguments);
}

/** A JSON object, or a JSON string that holds one. */
function isWhole(text: string): boolean {
  const end = text.trimEnd().at(-1);
  if (end !== "}" && end !== '"') return false;
  const value = parseJson(text);
  return isJsonObject(typeof value === "string" ? parseJson(value) : value);
}
