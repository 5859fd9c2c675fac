import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import type { AgentSessionEvent } from "../../src/contract/events.ts";
import type { Model, Provider } from "../../src/contract/provider.ts";
import {
  BusyError,
  type Conversation,
  createConversation,
  type PromptResult,
  type RunPrompt,
} from "../../src/runs/conversation.ts";
import { createAgentSession } from "../../src/session/agent-session.ts";
import { createSession } from "../../src/session/store/store.ts";

const model: Model = {
  id: "m",
  name: "m",
  provider: "p",
  api: "openai-completions",
  baseUrl: "",
  reasoning: false,
  input: ["text"],
  contextWindow: 100_000,
  maxTokens: 1000,
  headers: {},
  compat: {},
};

test("what is queued while a prompt's end is told becomes a prompt of its own", async () => {
  const { conversation, events } = converse((event, { current }) => {
    if (event.type === "agent_end" && events.filter(({ type }) => type === "agent_end").length === 1)
      current().session.followUp("late");
  });
  expect(await conversation.run(say("hi"))).toMatchObject({ endedWell: true });
  const ends = events.flatMap((event) => (event.type === "agent_end" ? [event.messages] : []));
  expect(ends.map(([first]) => first)).toMatchObject([{ content: "hi" }, { content: "late" }]);
  expect(conversation.active()).toBeUndefined();
});

test("one piece of work is done at a time", async () => {
  const { conversation } = converse();
  const running = conversation.run(say("hi"));
  expect(conversation.active()).toBe("prompt");
  await expect(conversation.run(say("again"))).rejects.toThrow(BusyError);
  await expect(conversation.replace(() => Promise.reject(new Error("no")))).rejects.toThrow(/is running/);
  expect(await running).toMatchObject({ endedWell: true });
  await conversation.close();
  await expect(conversation.run(say("again"))).rejects.toThrow("the run is ending");
});

test.each<[string, RunPrompt, (event: AgentSessionEvent) => boolean]>([
  ["a prompt", say("hi"), ({ type }) => type === "agent_end"],
  [
    "a command",
    { kind: "command", name: "name", args: "new" },
    (event) => event.type === "session_action_update" && event.actions.active === undefined,
  ],
])(
  "who hears that %s has ended can ask for the next one, though the sink is full",
  async (_, prompt, isEnd) => {
    let next: Promise<PromptResult> | undefined;
    const { conversation } = converse(
      (event) => {
        if (isEnd(event) && next === undefined)
          next = new Promise((resolve) => setImmediate(() => resolve(conversation.run(say("next")))));
      },
      async () => void (await setTimeout(2)),
    );
    expect(await conversation.run(prompt)).toMatchObject({ endedWell: true });
    expect(await next).toMatchObject({ endedWell: true });
  },
);

test("an abort ends the prompt alone and takes what is queued", async () => {
  const { conversation, signal } = converse((event, { current, abort }) => {
    if (event.type !== "message_update") return;
    current().session.steer("more");
    void abort();
  });
  expect(await conversation.run(say("hi"))).toMatchObject({ endedWell: false });
  expect(conversation.outcome().terminal).toMatchObject({ stopReason: "aborted" });
  expect(conversation.current().session.actions().queuedCount).toBe(0);
  expect(signal.aborted).toBe(false);
  expect(await conversation.abort()).toEqual({ aborted: false, dropped: [] });
});

test("a session that cannot be opened leaves the open one in its place", async () => {
  const { conversation } = converse();
  const before = conversation.current();
  await expect(conversation.replace(() => Promise.reject(new Error("gone")))).rejects.toThrow("gone");
  expect(conversation.current()).toBe(before);
  expect(await conversation.run(say("hi"))).toMatchObject({ endedWell: true });
});

test("the new session begins when the old one is closed", async () => {
  const { conversation, steps } = converse();
  const { conversation: other, steps: otherSteps } = converse();
  await conversation.replace(async () => other.current());
  expect([...steps, ...otherSteps]).toEqual(["close", "begin"]);
  expect(conversation.current()).toBe(other.current());
});

function say(content: string): RunPrompt {
  return { kind: "message", message: { role: "user", content, timestamp: 0 } };
}

/** A conversation on a session in memory, with a model that always says the same. */
function converse(
  onEvent: (event: AgentSessionEvent, conversation: Conversation) => void = () => {},
  ready: () => Promise<void> = async () => {},
) {
  const provider: Provider = {
    async *stream(_, signal) {
      yield { type: "text_start", index: 0 };
      yield { type: "text_delta", index: 0, delta: "Yes" };
      signal.throwIfAborted();
      yield { type: "text_end", index: 0 };
      yield { type: "end", stopReason: "stop" };
    },
  };
  const events: AgentSessionEvent[] = [];
  const steps: string[] = [];
  const { signal } = new AbortController();
  const choice = { model, provider, thinkingLevel: "off" } as const;
  const session = createAgentSession({
    ...choice,
    tools: [],
    store: createSession({ folder: "/nowhere", cwd: "/", pid: 1, persist: false }),
    cwd: "/",
    systemPrompt: "",
    settings: {
      retry: { enabled: false, maxRetries: 0, baseDelayMs: 0, maxDelayMs: 0 },
      compaction: { enabled: false, reserveTokens: 0, keepRecentTokens: 0 },
      steeringMode: "all",
      followUpMode: "all",
    },
    emit(event) {
      events.push(event);
      onEvent(event, conversation);
    },
    ready,
    secrets: [],
    redact: (text) => text,
    warn: () => {},
    now: () => 0,
    chooseModel: async () => choice,
    exportTo: async () => "",
  });
  const conversation = createConversation({
    opened: {
      session,
      cwd: "/",
      toPrompt: () => ({ kind: "message", message: { role: "user", content: "", timestamp: 0 } }),
      commands: async () => [],
      begin: () => void steps.push("begin"),
      close: async () => void steps.push("close"),
    },
    signal,
    isServed: true,
  });
  return { conversation, events, steps, signal };
}
