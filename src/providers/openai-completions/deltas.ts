import { isJsonObject, type JsonObject, type JsonValue } from "../../contract/json.ts";
import type { ProviderEvent, TokenCounts } from "../../contract/provider.ts";
import type { ReplyContext } from "../create-adapter.ts";
import { toStreamError } from "../errors/http-error.ts";
import type { ServerEvent, ServerEvents } from "../http/sse.ts";
import { settleWithin, withinIdle } from "../settle-within.ts";
import { createContentBlocks } from "./blocks.ts";
import { type CompletionChunk, readChunk, type Said } from "./chunk.ts";
import { laterFinishReason, toEnd } from "./finish.ts";
import { createRetelling } from "./retelling.ts";
import { createToolCalls } from "./tool-calls.ts";

/**
 * How long the usage may take after the finish reason when the server leaves its stream open. Long enough for an event
 * that arrives byte by byte.
 */
const defaultGraceMs = 5_000;

export type DeltaOptions = ReplyContext & { readonly graceMs?: number };

/**
 * Turns a server's events into deltas. Reads on behind the finish reason, since usage (and late errors) follow it, up
 * to the end mark or the end of the stream, or until nothing came for a while. Throws a ProviderError when the reply
 * fails or is not complete.
 */
export async function* toDeltas(
  events: ServerEvents,
  { provider, idleMs, isTool, graceMs = withinIdle(defaultGraceMs, idleMs) }: DeltaOptions,
): AsyncGenerator<ProviderEvent, void, undefined> {
  const reply = createCompletion(provider, isTool);
  let isDone = false;
  try {
    while (!isDone) {
      const next = events.next();
      const result = await (reply.isFinished() ? settleWithin(next, graceMs, events.abandon) : next);
      if (result === undefined || result.done) break;
      const event = result.value;
      isDone = event.kind !== "event";
      if (event.kind !== "done") yield* takeEvent(reply, event, provider);
    }
    yield* reply.end(isDone);
  } finally {
    // Not awaited: what was abandoned may never settle.
    events.return(undefined).catch(() => undefined);
  }
}

function* takeEvent(
  reply: Completion,
  event: Exclude<ServerEvent, { kind: "done" }>,
  provider: string,
): Generator<ProviderEvent, void, undefined> {
  const { data } = event;
  const isError = event.kind === "event" ? event.name === "error" : !Array.isArray(data) && !hasChoices(data);
  if (isError) throw toStreamError(data, provider);
  const chunks: JsonValue[] = Array.isArray(data) ? data : [data];
  for (const chunk of chunks) {
    if (isJsonObject(chunk)) yield* reply.push(chunk);
    else yield { type: "activity" };
  }
}

function hasChoices(data: JsonValue): boolean {
  return isJsonObject(data) && Array.isArray(data.choices);
}

/** The state machine of one reply. */
export type Completion = {
  /** Takes a chunk and gives what it means; throws a ProviderError when it holds an error. */
  push(chunk: JsonObject): Generator<ProviderEvent, void, undefined>;
  /** Whether the server has said why it stopped. */
  isFinished(): boolean;
  /** Ends the blocks and the reply; throws a ProviderError when it is not complete. `isDone`: the end mark came. */
  end(isDone: boolean): Generator<ProviderEvent, void, undefined>;
};

export function createCompletion(provider: string, isTool?: (name: string) => boolean): Completion {
  let blockCount = 0;
  const nextIndex = () => blockCount++;
  const blocks = createContentBlocks(nextIndex);
  const calls = createToolCalls(nextIndex, isTool);
  const stated = createStatedOnce();
  const retelling = createRetelling();
  let refusal = "";
  let finishReason = "";

  function takeContent(said: Said, appendCall: typeof calls.append): ProviderEvent[] {
    refusal += said.refusal;
    const events: ProviderEvent[] = [];
    let isKept = said.reasoningDetails.length === 0;
    const keep = () => {
      if (!isKept) events.push(...blocks.keep(said.reasoningDetails));
      isKept = true;
    };
    if (said.parts.length > 0) events.push(...calls.announce());
    for (const part of said.parts) {
      // Before the text of the same chunk, which closes the thinking that they belong to.
      if (part.kind === "text") keep();
      events.push(...blocks.append(part));
    }
    keep();
    for (const call of said.calls) events.push(...blocks.close(), ...appendCall(call));
    return events;
  }

  function takeChunk(chunk: CompletionChunk): ProviderEvent[] {
    const events = takeContent(retelling.ofOneChoice(chunk), calls.append);
    if (chunk.message === undefined) return events;
    // Without deltas, messages are a server's word for them.
    const appendCall = retelling.hasDeltas() ? calls.complete : calls.append;
    return [...events, ...takeContent(retelling.news(chunk.message), appendCall)];
  }

  return {
    *push(data) {
      const chunk = readChunk(data);
      const events = [...stated.meta(chunk), ...takeChunk(chunk), ...stated.usage(chunk.usage)];
      finishReason = laterFinishReason(finishReason, chunk.finishReason);
      yield* events.length > 0 ? events : [{ type: "activity" } as const];
      if (chunk.error !== undefined) throw toStreamError(chunk.error, provider, finishReason);
    },
    isFinished: () => finishReason !== "",
    *end(isDone) {
      const end = toEnd({
        provider,
        finishReason,
        isDone,
        refusal,
        callCount: calls.count(),
        callsAreWhole: calls.areWhole(),
        hasNamelessCall: calls.hasNameless(),
      });
      yield* blocks.close();
      yield* calls.end();
      yield end;
    },
  };
}

/** Facts that servers repeat in every chunk, told when they are new. */
function createStatedOnce() {
  let responseId = "";
  let responseModel = "";
  let counted = "";
  return {
    meta({ id, model }: CompletionChunk): ProviderEvent[] {
      const news = {
        ...(responseId === "" && id !== "" && { responseId: id }),
        ...(responseModel === "" && model !== "" && { responseModel: model }),
      };
      responseId ||= id;
      responseModel ||= model;
      return Object.keys(news).length > 0 ? [{ type: "meta", ...news }] : [];
    },
    usage(tokens: TokenCounts | undefined): ProviderEvent[] {
      const text = JSON.stringify(tokens) ?? counted;
      if (tokens === undefined || text === counted) return [];
      counted = text;
      return [{ type: "usage", tokens }];
    },
  };
}
