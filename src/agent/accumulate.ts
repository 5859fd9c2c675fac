import type { AssistantMessageEvent } from "../contract/events.ts";
import { assertNever } from "../contract/json.ts";
import {
  type AssistantContent,
  type AssistantMessage,
  type StopReason,
  type ToolCall,
  type Usage,
  zeroUsage,
} from "../contract/messages.ts";
import type { Model, ProviderEvent, TokenCounts } from "../contract/provider.ts";
import { type ParsedArguments, parseArguments } from "./arguments.ts";
import { createGrowingText, type GrowingText } from "./growing-text.ts";
import { createTextGate, type TextGate } from "./text-gate.ts";

/** A tool call of a reply: the block, and why it cannot run when its arguments did not parse. */
export type AccumulatedCall = {
  readonly call: ToolCall;
  readonly arguments: ParsedArguments;
};

/** How a reply ended, as the turn decided it. */
export type ReplyEnd = {
  readonly stopReason: StopReason;
  readonly stopReasonRaw?: string | undefined;
  readonly errorMessage?: string | undefined;
};

export type AccumulatorOptions = {
  readonly model: Model;
  /** Milliseconds since the epoch. */
  readonly timestamp: number;
  /** Gives a call's id back, or a fresh one when it is empty or taken. */
  readonly uniqueCallId: (id: string) => string;
  /** Credentials that never leave the process, not even when the model says them. */
  readonly secrets: readonly string[];
  /** Takes each event at once; `partial` is the live message. */
  readonly emit: (event: AssistantMessageEvent) => void;
};

/** Grows one assistant message from a provider's events and tells each step. */
export type Accumulator = {
  /** The live message; final after `finish`. */
  readonly message: AssistantMessage;
  readonly calls: readonly AccumulatedCall[];
  push(event: Exclude<ProviderEvent, { type: "end" }>): void;
  /** Ends the open blocks with what they had, sets how the message ended and tells `done` or `error`. */
  finish(end: ReplyEnd): void;
};

type OpenBlock = {
  readonly contentIndex: number;
  readonly block: AssistantContent;
  readonly gate: TextGate;
  /** What its deltas add up to; of a tool call, the arguments' JSON text. */
  readonly text: GrowingText;
};

/** Starts a message. Nothing is told before the first event (or `finish`) arrives. */
export function createAccumulator(options: AccumulatorOptions): Accumulator {
  const message = emptyMessage(options);
  const open = new Map<number, OpenBlock>();
  const calls: AccumulatedCall[] = [];
  let started = false;

  function start(): void {
    if (started) return;
    started = true;
    options.emit({ type: "start", partial: message });
  }

  function openBlock(index: number, block: AssistantContent): void {
    const contentIndex = message.content.push(block) - 1;
    open.set(index, {
      contentIndex,
      block,
      gate: createTextGate(options.secrets),
      text: createGrowingText(),
    });
    options.emit({ type: startEvents[block.type], contentIndex, partial: message });
  }

  function append(index: number, delta: string): void {
    const target = open.get(index);
    if (target !== undefined) grow(target, target.gate.push(delta));
  }

  function grow(target: OpenBlock, delta: string): void {
    if (delta === "") return;
    const { block, contentIndex } = target;
    target.text.append(delta);
    if (block.type === "text") block.text = target.text.whole();
    else if (block.type === "thinking") block.thinking = target.text.whole();
    options.emit({ type: deltaEvents[block.type], contentIndex, delta, partial: message });
  }

  function closeBlock(index: number, complete: boolean): void {
    const target = open.get(index);
    if (target === undefined) return;
    grow(target, target.gate.flush());
    open.delete(index);
    const { block, contentIndex } = target;
    switch (block.type) {
      case "text":
        options.emit({ type: "text_end", contentIndex, content: block.text, partial: message });
        return;
      case "thinking":
        options.emit({ type: "thinking_end", contentIndex, content: block.thinking, partial: message });
        return;
      case "toolCall": {
        const read = parseArguments(target.text.whole());
        // A call that was cut is told with what it had, but never run.
        const parsed: ParsedArguments = complete
          ? read
          : { ok: false, raw: target.text.whole(), problem: "the call was cut off" };
        if (read.ok) block.arguments = read.value;
        calls.push({ call: block, arguments: parsed });
        options.emit({ type: "toolcall_end", contentIndex, toolCall: block, partial: message });
        return;
      }
      default:
        assertNever(block);
    }
  }

  function push(event: Exclude<ProviderEvent, { type: "end" }>): void {
    start();
    switch (event.type) {
      case "meta":
        if (event.responseId !== undefined) message.responseId = event.responseId;
        if (event.responseModel !== undefined && event.responseModel !== message.model)
          message.responseModel = event.responseModel;
        return;
      case "usage":
        message.usage = toUsage(event.tokens, options.model);
        return;
      case "activity":
        return;
      case "text_start":
        openBlock(event.index, { type: "text", text: "" });
        return;
      case "thinking_start":
        openBlock(event.index, { type: "thinking", thinking: "" });
        return;
      case "toolcall_start":
        openBlock(event.index, {
          type: "toolCall",
          id: options.uniqueCallId(event.id),
          name: event.name,
          arguments: {},
        });
        return;
      case "text_delta":
      case "thinking_delta":
      case "toolcall_delta":
        append(event.index, event.delta);
        return;
      case "text_end":
      case "thinking_end":
      case "toolcall_end":
        sign(open.get(event.index)?.block, event);
        closeBlock(event.index, !("isCut" in event));
        return;
      default:
        assertNever(event);
    }
  }

  function finish(end: ReplyEnd): void {
    start();
    for (const index of [...open.keys()]) closeBlock(index, false);
    calls.sort((a, b) => message.content.indexOf(a.call) - message.content.indexOf(b.call));
    message.stopReason = end.stopReason;
    if (end.stopReasonRaw !== undefined) message.stopReasonRaw = end.stopReasonRaw;
    if (end.errorMessage !== undefined) message.errorMessage = end.errorMessage;
    if (end.stopReason === "error" || end.stopReason === "aborted")
      options.emit({ type: "error", reason: end.stopReason, error: message });
    else options.emit({ type: "done", reason: end.stopReason, message });
  }

  return { message, calls, push, finish };
}

/** Usage in tokens and US dollars at the model's prices; cost 0 when they are not known. */
export function toUsage(tokens: TokenCounts, model: Model): Usage {
  const usage = zeroUsage();
  const { input, output, cacheRead, cacheWrite } = tokens;
  Object.assign(usage, { input, output, cacheRead, cacheWrite });
  usage.totalTokens = input + output + cacheRead + cacheWrite;
  if (model.cost === undefined) return usage;
  const { cost } = usage;
  cost.input = (input * model.cost.input) / 1e6;
  cost.output = (output * model.cost.output) / 1e6;
  cost.cacheRead = (cacheRead * model.cost.cacheRead) / 1e6;
  cost.cacheWrite = (cacheWrite * model.cost.cacheWrite) / 1e6;
  cost.total = cost.input + cost.output + cost.cacheRead + cost.cacheWrite;
  return usage;
}

const startEvents = { text: "text_start", thinking: "thinking_start", toolCall: "toolcall_start" } as const;
const deltaEvents = { text: "text_delta", thinking: "thinking_delta", toolCall: "toolcall_delta" } as const;

function sign(block: AssistantContent | undefined, event: { signature?: string; redacted?: boolean }): void {
  if (block === undefined) return;
  if (block.type === "thinking" && event.redacted === true) block.redacted = true;
  if (event.signature === undefined) return;
  if (block.type === "text") block.textSignature = event.signature;
  else if (block.type === "thinking") block.thinkingSignature = event.signature;
  else block.thoughtSignature = event.signature;
}

function emptyMessage({ model, timestamp }: AccumulatorOptions): AssistantMessage {
  return {
    role: "assistant",
    content: [],
    api: model.api,
    provider: model.provider,
    model: model.id,
    usage: zeroUsage(),
    // What it counts as until it ends; `message_end` says how it did.
    stopReason: "stop",
    timestamp,
  };
}
