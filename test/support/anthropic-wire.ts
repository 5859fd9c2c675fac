import { argumentText, pieces, type ScriptedAnswer } from "./chat-wire.ts";
import type { ScriptedReply } from "./provider-server.ts";

/** A Messages stream. */
export function anthropicReply(answer: ScriptedAnswer): ScriptedReply {
  const { input, output, cached = 0 } = answer.usage ?? { input: 10, output: 5 };
  const blocks = toBlocks(answer);
  const stop = answer.finish === undefined ? (answer.calls?.length ? "tool_use" : "end_turn") : answer.finish;
  const events = [
    {
      type: "message_start",
      message: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "m",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: input - cached, cache_read_input_tokens: cached, output_tokens: 1 },
      },
    },
    ...blocks.flatMap(({ start, deltas }, index) => [
      { type: "content_block_start", index, content_block: start },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    {
      type: "message_delta",
      delta: { stop_reason: stop, stop_sequence: null },
      usage: { output_tokens: output },
    },
    { type: "message_stop" },
  ];
  return { body: events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("") };
}

type Block = { readonly start: object; readonly deltas: readonly object[] };

function toBlocks({ thinking, text, calls = [] }: ScriptedAnswer): Block[] {
  const blocks: Block[] = [];
  if (thinking !== undefined)
    blocks.push({
      start: { type: "thinking", thinking: "", signature: "" },
      deltas: [
        ...pieces(thinking).map((piece) => ({ type: "thinking_delta", thinking: piece })),
        { type: "signature_delta", signature: "c2lnbmF0dXJl" },
      ],
    });
  if (text !== undefined)
    blocks.push({
      start: { type: "text", text: "" },
      deltas: pieces(text).map((piece) => ({ type: "text_delta", text: piece })),
    });
  for (const [index, call] of calls.entries())
    blocks.push({
      start: { type: "tool_use", id: call.id ?? `toolu_${index + 1}`, name: call.name, input: {} },
      deltas: [{ type: "input_json_delta", partial_json: argumentText(call) }],
    });
  return blocks;
}
