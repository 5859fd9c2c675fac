import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { ProviderError, type ProviderErrorKind } from "../../src/contract/errors.ts";
import type { ModelMessage } from "../../src/contract/messages.ts";
import type { Model, Provider, ProviderEvent } from "../../src/contract/provider.ts";
import type { Tool, ToolContext, ToolResult } from "../../src/contract/tool.ts";

/** What a generated run does. */
export type RunPlan = {
  readonly prompts: readonly string[];
  /** One a request; the last is followed by a plain answer. */
  readonly replies: readonly ReplyPlan[];
  /** Aborts the run within the telling of so manieth an event, or right after it. */
  readonly abort: { readonly atEvent: number; readonly later: boolean } | undefined;
};

type ReplyPlan = {
  readonly events: readonly ProviderEvent[];
  readonly end: ReplyEnd;
};

type ReplyEnd =
  | { readonly kind: "end"; readonly stopReason: "stop" | "length" | "toolUse" }
  /** The generator returns without an end, throws an error of that kind or of none, or says nothing more. */
  | { readonly kind: "cut" }
  | { readonly kind: "error"; readonly error: ProviderErrorKind }
  | { readonly kind: "bug" }
  | { readonly kind: "stall" };

/** A credential that replies and tools give away. */
export const secret = "sk-secret-0123456789";

export const model: Model = {
  id: "m",
  name: "m",
  provider: "fake",
  api: "openai-completions",
  baseUrl: "",
  reasoning: true,
  input: ["text"],
  contextWindow: 1_000_000,
  maxTokens: 1000,
  cost: { input: 1, output: 2, cacheRead: 0.5, cacheWrite: 1.5 },
  headers: {},
  compat: {},
};

/** A provider that answers as planned, and keeps the messages of each request. */
export function scriptedProvider(plan: RunPlan, requests: (readonly ModelMessage[])[]): Provider {
  return {
    async *stream({ messages }, signal) {
      const reply = plan.replies[requests.push(structuredClone(messages)) - 1] ?? lastReply;
      const { end } = reply;
      // A reply that is complete has closed its calls; any other may stop within one.
      const rest = end.kind === "end" && end.stopReason !== "length" ? missingEnds(reply.events) : [];
      for (const event of [...reply.events, ...rest]) {
        if (event.type === "activity") await setImmediate();
        signal.throwIfAborted();
        yield event;
      }
      if (end.kind === "end") yield { type: "end", stopReason: end.stopReason };
      else await fail(end, signal);
    },
  };
}

function missingEnds(events: readonly ProviderEvent[]): ProviderEvent[] {
  const open = new Set<number>();
  for (const event of events) {
    if (event.type === "toolcall_start") open.add(event.index);
    if (event.type === "toolcall_end") open.delete(event.index);
  }
  return [...open].map((index) => ({ type: "toolcall_end", index }));
}

/** Tools that end in every way; `wait` ends early when it is aborted. */
export const faultyTools: readonly Tool[] = [
  tool("look", true, async () => success("a\ud800b \u2028 \0 c")),
  tool("say", false, async () => success(`the key is ${secret}`)),
  tool("fail", true, async () => ({ content: [], isError: true, details: { status: 1 } })),
  tool("throw", false, () => Promise.reject(new Error(`no: ${secret}`))),
  tool("crash", true, () => {
    throw new TypeError("not even a promise");
  }),
  tool("wait", false, async ({ signal, onUpdate }) => {
    onUpdate({ content: [{ type: "text", text: "so far" }] });
    await sleep(2, undefined, { signal });
    onUpdate({ content: [{ type: "text", text: "so far, so good" }] });
    return success("waited");
  }),
  tool("late", true, async ({ onUpdate }) => {
    setImmediate().then(() => onUpdate({ content: [] }));
    return success("before its update");
  }),
];

function tool(name: string, readOnly: boolean, execute: (context: ToolContext) => Promise<ToolResult>): Tool {
  const execution: Tool["execute"] = (_, context) => execute(context);
  return { name, description: name, parameters: { type: "object" }, readOnly, execute: execution };
}

function success(text: string): ToolResult {
  return { content: [{ type: "text", text }], isError: false };
}

async function fail(end: Exclude<ReplyEnd, { kind: "end" }>, signal: AbortSignal): Promise<void> {
  switch (end.kind) {
    case "cut":
      return;
    case "error":
      throw new ProviderError(end.error, `${end.error}: ${secret}`, { stopReasonRaw: end.error });
    case "bug":
      throw new TypeError("cannot read properties of undefined");
    case "stall":
      await sleep(60_000, undefined, { signal });
  }
}

const lastReply: ReplyPlan = {
  events: [
    { type: "text_start", index: 0 },
    { type: "text_delta", index: 0, delta: "done" },
    { type: "text_end", index: 0 },
  ],
  end: { kind: "end", stopReason: "stop" },
};

const piece = fc.oneof(
  fc.string({ maxLength: 8 }),
  fc.constantFrom(
    "\ud83d",
    "\ude00",
    "😀",
    "\u2028",
    "\0",
    "",
    " ",
    secret,
    secret.slice(0, 9),
    secret.slice(9),
  ),
);
const pieces = fc.array(piece, { maxLength: 5 });
const rawArguments = fc.oneof(
  fc.constantFrom(
    '{"path":"x"}',
    '{"path":',
    "",
    "null",
    "[]",
    "7",
    '"{\\"path\\":1}"',
    '{"a":"\\ud83d"}',
    "{}{}",
  ),
  fc.json({ maxDepth: 2 }),
);

type BlockPlan = readonly ProviderEvent[];

function textBlock(type: "text" | "thinking") {
  return fc
    .tuple(pieces, fc.boolean(), fc.boolean())
    .map(
      ([deltas, signed, ended]): BlockPlan => [
        { type: `${type}_start`, index: 0 },
        ...deltas.map((delta): ProviderEvent => ({ type: `${type}_delta`, index: 0, delta })),
        ...(ended
          ? [{ type: `${type}_end` as const, index: 0, ...(signed ? { signature: "c2ln" } : {}) }]
          : []),
      ],
    );
}

const callBlock = fc
  .record({
    id: fc.constantFrom("", "a", "a", "b", "call_1"),
    name: fc.constantFrom("look", "look", "say", "fail", "throw", "crash", "wait", "late", "nope", ""),
    raw: rawArguments,
    cut: fc.nat({ max: 6 }),
    ended: fc.boolean(),
  })
  .map(
    ({ id, name, raw, cut, ended }): BlockPlan => [
      { type: "toolcall_start", index: 0, id, name },
      { type: "toolcall_delta", index: 0, delta: raw.slice(0, cut) },
      { type: "toolcall_delta", index: 0, delta: raw.slice(cut) },
      ...(ended ? [{ type: "toolcall_end" as const, index: 0 }] : []),
    ],
  );

const extras: readonly ProviderEvent[] = [
  { type: "activity" },
  { type: "meta", responseId: "r1", responseModel: "m-2026" },
  { type: "usage", tokens: { input: 10, output: 5, cacheRead: 3, cacheWrite: 1 } },
  // More than the context holds, which calls for a compaction.
  { type: "usage", tokens: { input: 999_000, output: 5, cacheRead: 0, cacheWrite: 0 } },
];

const events = fc
  .record({
    blocks: fc.array(fc.oneof(textBlock("text"), textBlock("thinking"), callBlock, callBlock), {
      maxLength: 4,
    }),
    interleaved: fc.boolean(),
    extra: fc.array(fc.tuple(fc.nat({ max: 12 }), fc.constantFrom(...extras)), { maxLength: 3 }),
    cutAt: fc.option(fc.nat({ max: 20 }), { nil: undefined, freq: 2 }),
  })
  .map(({ blocks, interleaved, extra, cutAt }) => {
    const numbered = blocks.map((block, index) => block.map((event) => withIndex(event, index)));
    const all = interleaved ? interleave(numbered) : numbered.flat();
    for (const [at, event] of extra) all.splice(at, 0, event);
    return all.slice(0, cutAt);
  });

function withIndex(event: ProviderEvent, index: number): ProviderEvent {
  return "index" in event ? { ...event, index } : event;
}

/** The starts in order, then an event of each block in turn. */
function interleave(blocks: readonly BlockPlan[]): ProviderEvent[] {
  const longest = Math.max(0, ...blocks.map(({ length }) => length));
  return Array.from({ length: longest }, (_, at) =>
    blocks.flatMap((block) => block.slice(at, at + 1)),
  ).flat();
}

const replyEnd: fc.Arbitrary<ReplyEnd> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .constantFrom("stop" as const, "toolUse" as const, "length" as const)
      .map((stopReason) => ({ kind: "end" as const, stopReason })),
  },
  { weight: 1, arbitrary: fc.constantFrom<ReplyEnd>({ kind: "cut" }, { kind: "bug" }, { kind: "stall" }) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom<ProviderErrorKind>(
        "overloaded",
        "network",
        "rate_limit",
        "protocol",
        "auth",
        "quota",
        "refusal",
        "overflow",
      )
      .map((error) => ({ kind: "error" as const, error })),
  },
);

/** Runs of every kind. */
export const runPlan: fc.Arbitrary<RunPlan> = fc.record({
  prompts: fc.array(fc.constantFrom("hi", "more"), { minLength: 1, maxLength: 2 }),
  replies: fc.array(fc.record({ events, end: replyEnd }), { maxLength: 7 }),
  abort: fc.option(fc.record({ atEvent: fc.nat({ max: 60 }), later: fc.boolean() }), {
    nil: undefined,
    freq: 2,
  }),
});
