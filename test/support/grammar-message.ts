import { isDeepStrictEqual } from "node:util";
import type { DeltaStreamLine } from "../../src/contract/deltas.ts";
import type { StreamLine } from "../../src/contract/events.ts";
import { isJsonObject } from "../../src/contract/json.ts";
import type { AgentMessage, AssistantContent, AssistantMessage } from "../../src/contract/messages.ts";
import type { Report } from "./grammar.ts";

type UpdateLine = Extract<StreamLine | DeltaStreamLine, { type: "message_update" }>;
type Edge = { readonly message: AgentMessage; readonly messageId?: number };

/** Follows one assistant message from its start to its end. */
export type MessageCheck = {
  update(line: UpdateLine): void;
  end(line: Edge): void;
};

type Block = {
  readonly type: AssistantContent["type"];
  /** The deltas so far. */
  deltas: string;
  hasDeltas: boolean;
  ended: boolean;
};

export function createMessageCheck(
  start: Edge,
  { number, deltas, report }: { number: number; deltas: boolean; report: Report },
): MessageCheck {
  const first = start.message;
  const startedWith = first.role === "assistant" ? first.content.length : 0;
  const blocks: Block[] = [];
  checkId(start);

  function checkId(line: { readonly messageId?: number }): void {
    if (deltas && line.messageId !== number) report(`messageId is ${line.messageId}, not ${number}`);
  }

  function update(line: UpdateLine): void {
    if ("messageId" in line) checkId(line);
    const step = line.assistantMessageEvent;
    const at = step.contentIndex - startedWith;
    const type = typeOf(step.type);
    if (step.type.endsWith("_start")) {
      if (at !== blocks.length) report(`${step.type} has contentIndex ${step.contentIndex} out of turn`);
      blocks[at] = { type, deltas: "", hasDeltas: false, ended: false };
    }
    const block = blocks[at];
    if (block === undefined) report(`${step.type} of block ${step.contentIndex}, which did not start`);
    else if (block.type !== type)
      report(`${step.type} of block ${step.contentIndex}, which is ${block.type}`);
    else if (block.ended) report(`${step.type} of block ${step.contentIndex}, which has ended`);
    else advance(block, step);
    if ("message" in line) checkPartial(line.message, line.assistantMessageEvent.partial);
  }

  function advance(block: Block, step: UpdateLine["assistantMessageEvent"]): void {
    if ("delta" in step) {
      block.deltas += step.delta;
      block.hasDeltas = true;
    }
    if (step.type.endsWith("_end")) block.ended = true;
    if ("content" in step && block.hasDeltas && step.content !== block.deltas)
      report(`${step.type} of block ${step.contentIndex} is not what its deltas add up to`);
  }

  function checkPartial(message: AssistantMessage, partial: AssistantMessage): void {
    if (!isDeepStrictEqual(message, partial)) report("partial differs from message");
    if (message.content.length !== startedWith + blocks.length)
      report("message holds other blocks than have started");
    blocks.forEach((block, at) => {
      const content = message.content[startedWith + at];
      if (content?.type !== block.type) report(`block ${startedWith + at} of message is not ${block.type}`);
      else if (block.hasDeltas && content.type !== "toolCall" && textOf(content) !== block.deltas)
        report(`block ${startedWith + at} of message is not what its deltas add up to`);
    });
  }

  function end(line: Edge): void {
    checkId(line);
    const { message } = line;
    if (message.role !== "assistant") {
      report("an assistant message ends as another's");
      return;
    }
    for (const key of ["api", "provider", "model", "timestamp"] as const)
      if (first.role === "assistant" && message[key] !== first[key])
        report(`${key} changed within the message`);
    if (message.stopReason === "error" && !message.errorMessage) report("an error message does not say why");
    blocks.forEach((block, at) => {
      if (!block.ended) report(`block ${startedWith + at} has no end`);
    });
    if (blocks.length === 0) return;
    if (message.content.length !== startedWith + blocks.length)
      report("the message holds other blocks than its updates");
    blocks.forEach((block, at) => {
      checkFinal(block, { content: message.content[startedWith + at], at: startedWith + at, message });
    });
  }

  function checkFinal(
    block: Block,
    final: { content: AssistantContent | undefined; at: number; message: AssistantMessage },
  ): void {
    const { content, at, message } = final;
    if (content?.type !== block.type) report(`block ${at} of the message is not ${block.type}`);
    else if (!block.hasDeltas) return;
    else if (content.type === "toolCall") {
      const cut = message.stopReason !== "stop" && message.stopReason !== "toolUse";
      const expected = argumentsOf(block.deltas);
      if (
        !isDeepStrictEqual(content.arguments, expected) &&
        !(cut && isDeepStrictEqual(content.arguments, {}))
      )
        report(`the arguments of ${content.id} are not what their deltas add up to`);
    } else if (textOf(content) !== block.deltas)
      report(`block ${at} of the message is not what its deltas add up to`);
  }

  return { update, end };
}

function typeOf(step: string): Block["type"] {
  if (step.startsWith("text_")) return "text";
  return step.startsWith("thinking_") ? "thinking" : "toolCall";
}

function textOf(content: Exclude<AssistantContent, { type: "toolCall" }>): string {
  return content.type === "text" ? content.text : content.thinking;
}

/** What a call's arguments are, given their JSON text: an object, also one in a JSON string; else nothing. */
function argumentsOf(raw: string): unknown {
  const value = parse(raw);
  const inner = typeof value === "string" ? parse(value) : value;
  return isJsonObject(inner) ? inner : {};
}

/** Half a character that an escape spells becomes U+FFFD, as everywhere in a stream. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text, (_, value: unknown) =>
      typeof value === "string" ? value.toWellFormed() : value,
    );
  } catch {
    return undefined;
  }
}
