import type { Api } from "../../src/contract/messages.ts";
import { anthropicReply } from "./anthropic-wire.ts";
import { chatReply, type ScriptedAnswer } from "./chat-wire.ts";
import type { ScriptedReply } from "./provider-server.ts";
import { responsesReply } from "./responses-wire.ts";

/** How one API says what all of them can say. */
export type ApiWire = {
  readonly api: Api;
  reply(answer: ScriptedAnswer): ScriptedReply;
  /** A reply that the output limit cut. */
  length(answer: ScriptedAnswer): ScriptedReply;
  /** A reply that a filter or the model itself broke off. */
  refusal(answer: ScriptedAnswer): ScriptedReply;
  /** A reply that ended for a reason that nobody knows. */
  unknownFinish(answer: ScriptedAnswer, reason: string): ScriptedReply;
  /** The event of an error within a stream. */
  errorEvent(message: string): string;
  /** The failed replies that are worded differently. */
  readonly failures: Readonly<Record<"overflow" | "quota", ScriptedReply>>;
  /** A failed reply of this status, as this API words it. */
  failure(status: number, message: string): ScriptedReply;
};

const completions: ApiWire = {
  api: "openai-completions",
  reply: chatReply,
  length: (answer) => chatReply({ ...answer, finish: "length" }),
  refusal: (answer) => chatReply({ ...answer, finish: "content_filter" }),
  unknownFinish: (answer, finish) => chatReply({ ...answer, finish }),
  errorEvent: (message) => `data: ${JSON.stringify({ error: { message, code: 502 } })}\n\n`,
  failures: {
    overflow: json(400, {
      error: {
        message: "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
        type: "invalid_request_error",
        param: "messages",
        code: "context_length_exceeded",
      },
    }),
    quota: json(429, {
      error: {
        message: "You exceeded your current quota",
        type: "insufficient_quota",
        code: "insufficient_quota",
      },
    }),
  },
  failure: (status, message) => json(status, { error: { message, type: "some_error" } }),
};

const anthropic: ApiWire = {
  api: "anthropic-messages",
  reply: anthropicReply,
  length: (answer) => anthropicReply({ ...answer, finish: "max_tokens" }),
  refusal: (answer) => anthropicReply({ ...answer, finish: "refusal" }),
  unknownFinish: (answer, finish) => anthropicReply({ ...answer, finish }),
  errorEvent: (message) => named({ type: "error", error: { type: "overloaded_error", message } }),
  failures: {
    overflow: json(400, {
      type: "error",
      error: { type: "invalid_request_error", message: "prompt is too long: 210000 tokens > 200000 maximum" },
    }),
    quota: json(400, {
      type: "error",
      error: {
        type: "invalid_request_error",
        message: "Your credit balance is too low to access the Anthropic API.",
      },
    }),
  },
  failure: (status, message) => json(status, { type: "error", error: { type: "some_error", message } }),
};

const responses: ApiWire = {
  api: "openai-responses",
  reply: responsesReply,
  length: (answer) => responsesReply({ ...answer, finish: "incomplete" }),
  refusal: (answer) => incomplete(answer, "content_filter"),
  unknownFinish: incomplete,
  errorEvent: (message) => named({ type: "error", error: { code: "server_error", message } }),
  failures: completions.failures,
  failure: completions.failure,
};

const codex: ApiWire = {
  ...responses,
  api: "openai-codex-responses",
  errorEvent: (message) =>
    named({
      type: "response.failed",
      response: { id: "resp_1", status: "failed", error: { code: "server_error", message } },
    }),
  failures: {
    overflow: completions.failures.overflow,
    quota: json(429, {
      error: {
        type: "usage_limit_reached",
        message: "The usage limit has been reached",
        resets_in_seconds: 529_498,
      },
    }),
  },
  failure: (status, message) => json(status, { detail: message }),
};

/** All APIs. */
export const apiWires: readonly ApiWire[] = [completions, anthropic, responses, codex];

/** The reply up to the event that first says `last`, and nothing after it. */
export function cutBehind({ body }: ScriptedReply, last: string): string {
  const text = String(body);
  const end = text.indexOf("\n\n", text.indexOf(last));
  return text.slice(0, end + 2);
}

/** The reply in writes of one byte each. */
export function byteByByte(reply: ScriptedReply): ScriptedReply {
  const { length } = Buffer.from(reply.body ?? "");
  return { ...reply, split: Array.from({ length }, (_, at) => at) };
}

function incomplete(answer: ScriptedAnswer, reason: string): ScriptedReply {
  const reply = responsesReply({ ...answer, finish: "incomplete" });
  return { ...reply, body: String(reply.body).replaceAll('"max_output_tokens"', JSON.stringify(reason)) };
}

function json(status: number, body: object): ScriptedReply {
  return { status, type: "application/json", body: JSON.stringify(body) };
}

function named(event: { readonly type: string } & Record<string, unknown>): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
