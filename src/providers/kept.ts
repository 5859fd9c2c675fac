import type { JsonObject } from "../contract/json.ts";
import type { ModelMessage } from "../contract/messages.ts";
import type { Model, ToolSchema } from "../contract/provider.ts";

/** How a conversation becomes part of a request. */
export type Conversion<State> = {
  /** What an empty conversation is. */
  start(): State;
  /** Adds a message. Objects that are in the state already must not be changed: they were sent. */
  take(state: State, message: ModelMessage): void;
};

/**
 * Converts a conversation for a request to a model. All of a long history is sent at every turn: what the last request
 * to the model held is not made again, and the same objects stand for it. Messages never change.
 */
export function carryOn<State>(
  model: Model,
  messages: readonly ModelMessage[],
  { start, take }: Conversion<State>,
): State {
  const last = lastConversations.get(model);
  // What a model's requests are made of depends on its API alone.
  const known =
    last !== undefined && isBeginning(last.messages, messages) ? (last.state as State) : undefined;
  const state = known ?? start();
  lastConversations.delete(model);
  for (const message of known === undefined ? messages : messages.slice(last?.messages.length))
    take(state, message);
  lastConversations.set(model, { messages, state });
  return state;
}

const lastConversations = new WeakMap<Model, { messages: readonly ModelMessage[]; state: unknown }>();

function isBeginning(start: readonly ModelMessage[], messages: readonly ModelMessage[]): boolean {
  if (start.length > messages.length) return false;
  for (let index = 0; index < start.length; index++) if (start[index] !== messages[index]) return false;
  return true;
}

const toolsBefore = new WeakMap<Model, WeakMap<readonly ToolSchema[], JsonObject[]>>();

/** Makes the tools of a request as the model's server takes them, once for each model and list of tools. */
export function keepTools(
  model: Model,
  tools: readonly ToolSchema[],
  make: () => JsonObject[],
): JsonObject[] {
  const known = toolsBefore.get(model) ?? new WeakMap<readonly ToolSchema[], JsonObject[]>();
  toolsBefore.set(model, known);
  const made = known.get(tools) ?? make();
  known.set(tools, made);
  return made;
}
