import { anthropicReply } from "../support/anthropic-wire.ts";
import { chatReply } from "../support/chat-wire.ts";
import { responsesReply } from "../support/responses-wire.ts";
import type { Answer } from "./provider-answers.ts";

/** Turns an answer into the body of a reply. */
export type Wire = (answer: Answer) => string;

/** The API that a request's URL belongs to. */
export function wireOf(url: string): Wire | undefined {
  return wires.find(([path]) => path.test(url))?.[1];
}

const wires: readonly (readonly [RegExp, Wire])[] = [
  [/\/chat\/completions$/, kept((answer) => String(chatReply(answer).body))],
  [/\/responses$/, kept((answer) => String(responsesReply(answer).body))],
  [/\/messages(\?|$)/, kept((answer) => String(anthropicReply(answer).body))],
  [/:streamGenerateContent/, kept(geminiBody)],
];

/** The time that a body takes to make must not be measured with the program that waits for it. */
function kept(wire: Wire): Wire {
  const bodies = new WeakMap<Answer, string>();
  return (answer) => {
    const body = bodies.get(answer) ?? wire(answer);
    bodies.set(answer, body);
    return body;
  };
}

function geminiBody({ text = [], calls = [] }: Answer): string {
  const parts = [
    ...text.map((piece) => ({ text: piece })),
    ...calls.map(({ name, args }) => ({ functionCall: { name, args } })),
  ];
  const events = parts.map((part, index) => ({
    candidates: [
      {
        content: { role: "model", parts: [part] },
        ...(index === parts.length - 1 ? { finishReason: "STOP" } : {}),
      },
    ],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
    modelVersion: "m",
  }));
  return events.map((event) => `data: ${JSON.stringify(event)}\r\n\r\n`).join("");
}
