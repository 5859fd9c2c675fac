import type { ScriptedReply } from "./provider-server.ts";

/** What a scripted reply says, whatever the API. */
export type ScriptedAnswer = {
  readonly thinking?: string | readonly string[];
  /** One delta an item. */
  readonly text?: string | readonly string[];
  readonly calls?: readonly ScriptedCall[];
  /** The API's own finish reason; by default the right one for the content. */
  readonly finish?: string | null;
  readonly usage?: { readonly input: number; readonly output: number; readonly cached?: number };
};

export type ScriptedCall = {
  readonly id?: string;
  readonly name: string;
  /** An object, or the raw text of the arguments. */
  readonly args: object | string;
};

/** A Chat Completions stream. */
export function chatReply(answer: ScriptedAnswer): ScriptedReply {
  const events = [...deltas(answer), finish(answer), usage(answer)];
  return { body: `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("")}data: [DONE]\n\n` };
}

/** The pieces of what may be given as one string or as several. */
export function pieces(text: string | readonly string[] | undefined): readonly string[] {
  return text === undefined ? [] : typeof text === "string" ? [text] : text;
}

/** The JSON text of a call's arguments. */
export function argumentText({ args }: ScriptedCall): string {
  return typeof args === "string" ? args : JSON.stringify(args);
}

function deltas({ thinking, text, calls = [] }: ScriptedAnswer): object[] {
  return [
    ...pieces(thinking).map((reasoning_content) => chunk({ reasoning_content })),
    ...pieces(text).map((content) => chunk({ content })),
    ...calls.flatMap((call, index) => {
      const raw = argumentText(call);
      const half = Math.floor(raw.length / 2);
      const { id = `call_${index + 1}`, name } = call;
      return [
        chunk({
          tool_calls: [{ index, id, type: "function", function: { name, arguments: raw.slice(0, half) } }],
        }),
        chunk({ tool_calls: [{ index, function: { arguments: raw.slice(half) } }] }),
      ];
    }),
  ];
}

function finish({ finish, calls = [] }: ScriptedAnswer): object {
  return chunk({}, finish === undefined ? (calls.length > 0 ? "tool_calls" : "stop") : finish);
}

function usage({ usage: { input, output, cached = 0 } = { input: 10, output: 5 } }: ScriptedAnswer): object {
  return {
    id: "c1",
    object: "chat.completion.chunk",
    model: "m",
    choices: [],
    usage: {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output,
      prompt_tokens_details: { cached_tokens: cached },
    },
  };
}

function chunk(delta: object, finish_reason: string | null = null): object {
  return {
    id: "c1",
    object: "chat.completion.chunk",
    model: "m",
    choices: [{ index: 0, delta, finish_reason }],
  };
}
