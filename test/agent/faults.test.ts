import fc from "fast-check";
import { expect, test } from "vitest";
import { defaultSettings } from "../../src/config/settings.ts";
import type { AgentMessage, ModelMessage } from "../../src/contract/messages.ts";
import type { AbortCause } from "../../src/contract/outcome.ts";
import { withTimeLimits } from "../../src/providers/time-limits.ts";
import { createAgentSession } from "../../src/session/agent-session.ts";
import { createSession } from "../../src/session/store/store.ts";
import { createDeltaSink } from "../../src/sinks/deltas.ts";
import { createJsonSink } from "../../src/sinks/json.ts";
import { toDeltaLine } from "../support/delta-projection.ts";
import {
  faultyTools,
  model,
  type RunPlan,
  runPlan,
  scriptedProvider,
  secret,
} from "../support/faulty-run.ts";
import { checkStream } from "../support/grammar.ts";
import { createMemoryWriter } from "../support/memory-writer.ts";

test("1,000 runs with faults keep the stream, the session and the requests whole", async () => {
  await fc.assert(
    fc.asyncProperty(runPlan, async (plan) => {
      const { plain, deltas, announced, kept, requests } = await play(plan);
      const lines = plain.map((line): unknown => JSON.parse(line));
      expect(checkStream(lines)).toEqual([]);
      expect(
        checkStream(
          deltas.map((line) => JSON.parse(line)),
          { deltas: true },
        ),
      ).toEqual([]);
      expect(deltas).toEqual(project(plain));
      expect(announced).toEqual(kept);
      for (const messages of requests) expect(unanswered(messages)).toEqual([]);
      expect([...plain, ...deltas].flatMap(unsafeText)).toEqual([]);
    }),
    { numRuns: 1000 },
  );
}, 120_000);

/** Runs the plan with the real session, and gives both streams, the messages that ended and those that were kept. */
async function play(plan: RunPlan) {
  const [plainWriter, deltaWriter] = [createMemoryWriter(), createMemoryWriter()];
  const redact = (text: string) => text.replaceAll(secret, "[redacted]");
  const sinks = [
    createJsonSink({ writer: plainWriter, redact }),
    createDeltaSink({ writer: deltaWriter, redact }),
  ];
  const store = createSession({ folder: "/nowhere", cwd: "/work", pid: process.pid, persist: false });
  const controller = new AbortController();
  const requests: (readonly ModelMessage[])[] = [];
  const announced: AgentMessage[] = [];
  const cause: AbortCause = { kind: "signal", signal: "SIGINT" };
  let eventCount = 0;
  const session = createAgentSession({
    provider: withTimeLimits(scriptedProvider(plan, requests), { firstEventMs: 4, idleMs: 4 }),
    model,
    thinkingLevel: "off",
    tools: faultyTools,
    store,
    cwd: "/work",
    systemPrompt: "",
    settings: {
      ...defaultSettings,
      retry: { ...defaultSettings.retry, baseDelayMs: 0 },
      compaction: { ...defaultSettings.compaction, keepRecentTokens: 10 },
    },
    emit(event) {
      for (const sink of sinks) sink.emit(event);
      if (event.type === "message_end") announced.push(structuredClone(event.message));
      if (eventCount++ !== plan.abort?.atEvent) return;
      if (plan.abort.later) setImmediate(() => controller.abort(cause));
      else controller.abort(cause);
    },
    ready: () => Promise.resolve(),
    secrets: [secret],
    redact,
    warn: () => undefined,
    chooseModel: () => Promise.reject(new Error("there is one model only")),
    exportTo: () => Promise.reject(new Error("there is nothing to export to")),
    now: () => 1_767_323_045_678,
  });
  for (const sink of sinks) sink.header(store.header);
  for (const content of plan.prompts) {
    if (controller.signal.aborted) break;
    await session.prompt({ role: "user", content, timestamp: 1 }, controller.signal);
  }
  const kept = store.branch().flatMap((entry) => (entry.type === "message" ? [entry.message] : []));
  return { plain: plainWriter.lines(), deltas: deltaWriter.lines(), announced, kept, requests };
}

/** What a line must not hold: a credential, half a character, or what some readers take for the end of a line. */
function unsafeText(line: string): string[] {
  const found = line.includes(secret) || /[\u2028\u2029\0\n\r]/.test(line) ? [line] : [];
  JSON.parse(line, (key: string, value: unknown) => {
    if (!key.isWellFormed() || (typeof value === "string" && !value.isWellFormed())) found.push(line);
    return value;
  });
  return found;
}

/** The delta stream that belongs to a plain one. */
function project(plain: readonly string[]): string[] {
  let messageId = 0;
  return plain.map((line) => {
    if (line.startsWith('{"type":"message_start","message":{"role":"assistant"')) messageId++;
    return toDeltaLine(line, messageId);
  });
}

/** The calls of a request that do not have exactly one result right behind their message, and results without a call. */
function unanswered(messages: readonly ModelMessage[]): string[] {
  const problems: string[] = [];
  let open: string[] = [];
  for (const message of messages) {
    if (message.role === "toolResult") {
      if (open.shift() !== message.toolCallId) problems.push(`a stray result of ${message.toolCallId}`);
      continue;
    }
    problems.push(...open);
    open = message.role === "assistant" ? message.content.flatMap(toCallIds) : [];
  }
  return [...problems, ...open];
}

function toCallIds(block: { type: string; id?: string }): string[] {
  return block.type === "toolCall" && block.id !== undefined ? [block.id] : [];
}
