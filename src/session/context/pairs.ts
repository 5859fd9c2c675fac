import type { AssistantMessage, ModelMessage, ToolCall, ToolResultMessage } from "../../contract/messages.ts";

/**
 * Gives every tool call a unique id and exactly one result, right behind its message and in call order. A call that
 * was never answered gets an error result; a result without a call before it, and a second one, is left out. All
 * other messages stay, in their order.
 */
export function pairCalls(messages: readonly ModelMessage[]): ModelMessage[] {
  if (pairedIds(messages) !== undefined) return [...messages];
  const calls = openCalls(messages);
  return messages.flatMap((message): ModelMessage[] => {
    if (message.role === "toolResult") return [];
    if (message.role === "user") return [message];
    const own = calls.get(message) ?? [];
    return own.length === 0
      ? [message]
      : [withIds(message, own), ...own.map((call) => resultOf(call, message))];
  });
}

/**
 * The ids of the calls of messages that are paired as they are; undefined when they are not. Nearly always they are, and
 * to make all the pairs of a long history takes longer than to look.
 *
 * @param taken ids of calls before these messages
 */
export function pairedIds(
  messages: readonly ModelMessage[],
  taken: ReadonlySet<string> = new Set(),
): Set<string> | undefined {
  const used = new Set<string>();
  /** The calls of the last assistant message, and how many of them were answered. */
  let calls: ToolCall[] = [];
  let answered = 0;
  for (const message of messages) {
    if (message.role === "toolResult") {
      const call = calls[answered++];
      if (call?.id !== message.toolCallId || call.name !== message.toolName) return undefined;
      continue;
    }
    if (answered !== calls.length) return undefined;
    if (message.role === "user") continue;
    calls = [];
    answered = 0;
    for (const block of message.content) {
      if (block.type !== "toolCall") continue;
      if (block.id === "" || used.has(block.id) || taken.has(block.id)) return undefined;
      used.add(block.id);
      calls.push(block);
    }
  }
  return answered === calls.length ? used : undefined;
}

type PairedCall = {
  readonly call: ToolCall;
  /** Unique in the request. */
  readonly id: string;
  result?: ToolResultMessage;
};

/** The calls of each assistant message, with the results that came for them. */
function openCalls(messages: readonly ModelMessage[]): Map<ModelMessage, PairedCall[]> {
  const byMessage = new Map<ModelMessage, PairedCall[]>();
  /** Calls that wait for a result, by the id that they were stored with: those of the latest message that has it. */
  const waiting = new Map<string, PairedCall[]>();
  const uniqueId = createUniqueIds();
  for (const message of messages) {
    if (message.role === "assistant") {
      const own = message.content.flatMap((block): PairedCall[] =>
        block.type === "toolCall" ? [{ call: block, id: uniqueId(block.id) }] : [],
      );
      byMessage.set(message, own);
      for (const [id, same] of groupById(own)) waiting.set(id, same);
    } else if (message.role === "toolResult") {
      const paired = waiting.get(message.toolCallId)?.shift();
      if (paired !== undefined) paired.result = message;
    }
  }
  return byMessage;
}

function groupById(calls: readonly PairedCall[]): Map<string, PairedCall[]> {
  const groups = new Map<string, PairedCall[]>();
  for (const paired of calls) groups.set(paired.call.id, [...(groups.get(paired.call.id) ?? []), paired]);
  return groups;
}

function createUniqueIds(): (id: string) => string {
  const used = new Set<string>();
  let next = 1;
  return (id) => {
    let unique = id;
    while (unique === "" || used.has(unique)) unique = `${id || "call"}_${next++}`;
    used.add(unique);
    return unique;
  };
}

/** The message itself where its ids are unique: what is made of it may then be kept. */
function withIds(message: AssistantMessage, calls: readonly PairedCall[]): AssistantMessage {
  if (calls.every(({ call, id }) => call.id === id)) return message;
  const ids = calls.values();
  const content = message.content.map((block) => {
    if (block.type !== "toolCall") return block;
    return { ...block, id: ids.next().value?.id ?? block.id };
  });
  return { ...message, content };
}

function resultOf({ call, id, result }: PairedCall, { timestamp }: AssistantMessage): ToolResultMessage {
  if (result?.toolCallId === id && result.toolName === call.name) return result;
  if (result !== undefined) return { ...result, toolCallId: id, toolName: call.name };
  const text = "No result: the session ended before this call did. It may have run in part, or not at all.";
  return {
    role: "toolResult",
    toolCallId: id,
    toolName: call.name,
    content: [{ type: "text", text }],
    isError: true,
    timestamp,
  };
}
