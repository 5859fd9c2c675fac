import { argumentText, pieces, type ScriptedAnswer, type ScriptedCall } from "./chat-wire.ts";
import type { ScriptedReply } from "./provider-server.ts";

/** A Responses stream, as both the public and the subscription endpoint send it. */
export function responsesReply(answer: ScriptedAnswer): ScriptedReply {
  const { input, output, cached = 0 } = answer.usage ?? { input: 10, output: 5 };
  const status = answer.finish === undefined ? "completed" : answer.finish;
  const items = toItems(answer);
  const response = {
    id: "resp_1",
    object: "response",
    model: "m",
    status,
    output: items.map(({ done }) => done),
    usage: {
      input_tokens: input,
      output_tokens: output,
      total_tokens: input + output,
      input_tokens_details: { cached_tokens: cached },
      output_tokens_details: { reasoning_tokens: 0 },
    },
    ...(status === "incomplete" ? { incomplete_details: { reason: "max_output_tokens" } } : {}),
  };
  const events: { type: string }[] = [
    {
      type: "response.created",
      response: { ...response, status: "in_progress", output: [], usage: null },
    } as never,
    ...items.flatMap(({ events }) => events),
  ];
  if (status !== null) events.push({ type: `response.${status}`, response } as never);
  const body = events.map((event, sequence_number) => ({ ...event, sequence_number }));
  return { body: body.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("") };
}

type Item = { readonly events: { type: string }[]; readonly done: object };

function toItems({ thinking, text, calls = [] }: ScriptedAnswer): Item[] {
  const items: Item[] = [];
  if (thinking !== undefined) items.push(reasoningItem(pieces(thinking), items.length));
  if (text !== undefined) items.push(messageItem(pieces(text), items.length));
  for (const call of calls) items.push(callItem(call, items.length));
  return items;
}

function reasoningItem(parts: readonly string[], output_index: number): Item {
  const item_id = "rs_1";
  const base = { type: "reasoning", id: item_id };
  const text = parts.join("");
  const place = { item_id, output_index, summary_index: 0 };
  const done = { ...base, summary: [{ type: "summary_text", text }], encrypted_content: "ZW5jcnlwdGVk" };
  return {
    done,
    events: [
      added(output_index, { ...base, summary: [] }),
      { type: "response.reasoning_summary_part.added", ...place, part: { type: "summary_text", text: "" } },
      ...parts.map((delta) => ({ type: "response.reasoning_summary_text.delta", ...place, delta })),
      { type: "response.reasoning_summary_text.done", ...place, text },
      { type: "response.reasoning_summary_part.done", ...place, part: { type: "summary_text", text } },
      finished(output_index, done),
    ] as Item["events"],
  };
}

function messageItem(parts: readonly string[], output_index: number): Item {
  const item_id = "msg_1";
  const base = { type: "message", id: item_id, role: "assistant" };
  const text = parts.join("");
  const place = { item_id, output_index, content_index: 0 };
  const part = { type: "output_text", text, annotations: [] };
  const done = { ...base, status: "completed", content: [part] };
  return {
    done,
    events: [
      added(output_index, { ...base, status: "in_progress", content: [] }),
      { type: "response.content_part.added", ...place, part: { ...part, text: "" } },
      ...parts.map((delta) => ({ type: "response.output_text.delta", ...place, delta })),
      { type: "response.output_text.done", ...place, text },
      { type: "response.content_part.done", ...place, part },
      finished(output_index, done),
    ] as Item["events"],
  };
}

function callItem(call: ScriptedCall, output_index: number): Item {
  const call_id = call.id ?? `call_${output_index + 1}`;
  const raw = argumentText(call);
  const base = { type: "function_call", id: `fc_${output_index}`, call_id, name: call.name };
  const place = { item_id: base.id, output_index };
  const done = { ...base, arguments: raw, status: "completed" };
  return {
    done,
    events: [
      added(output_index, { ...base, arguments: "", status: "in_progress" }),
      { type: "response.function_call_arguments.delta", ...place, delta: raw },
      { type: "response.function_call_arguments.done", ...place, arguments: raw },
      finished(output_index, done),
    ] as Item["events"],
  };
}

function added(output_index: number, item: object) {
  return { type: "response.output_item.added", output_index, item };
}

function finished(output_index: number, item: object) {
  return { type: "response.output_item.done", output_index, item };
}
