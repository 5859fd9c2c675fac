import { errorMessage } from "../contract/errors.ts";
import type { AgentSessionEvent, Emit } from "../contract/events.ts";
import type { AgentMessage, BashExecutionMessage, CustomMessage } from "../contract/messages.ts";
import type { SessionActions } from "./actions.ts";
import type { PromptEnd } from "./agent-session.ts";
import type { SessionRecord } from "./session-record.ts";

export type PromptCourseDeps = {
  readonly record: SessionRecord;
  readonly actions: SessionActions;
  readonly emit: Emit;
};

/** Leads prompts from `agent_start` to `agent_end`, one at a time, and knows what each of them added. */
export type PromptCourse = {
  /** Tells an event of the prompt at work. */
  readonly emit: Emit;
  /** Runs the work of a prompt and tells its end, whatever becomes of it. What the work throws is a failure of the outcome. */
  run(work: (end: PromptEnd) => Promise<void>): Promise<void>;
  /** The failed attempt that was told last is no part of what the prompt came to, once another one begins. */
  supersede(): void;
  /** Keeps a command that the user ran: at once, or before the next request of the prompt that is at work. */
  addMessage(message: BashExecutionMessage): void;
  /** Keeps the commands that wait, where they come between no call and its result. */
  keepWaiting(): void;
};

/** Makes the course of a session's prompts. */
export function createPromptCourse({ record, actions, emit }: PromptCourseDeps): PromptCourse {
  /** The messages of the prompt at work, without superseded attempts. */
  let added: AgentMessage[] = [];
  let isSuperseded = false;
  let isAtWork = false;
  let waiting: BashExecutionMessage[] = [];

  function tell(event: AgentSessionEvent): void {
    if (event.type === "message_start" && event.message.role === "assistant" && isSuperseded) {
      added.splice(
        added.findLastIndex(({ role }) => role === "assistant"),
        1,
      );
      isSuperseded = false;
    }
    if (event.type === "message_end") added.push(event.message);
    emit(event);
  }

  async function run(work: (end: PromptEnd) => Promise<void>): Promise<void> {
    added = [];
    isSuperseded = false;
    isAtWork = true;
    delete record.outcome.terminal;
    tell({ type: "agent_start" });
    actions.setActive({ kind: "turn", phase: "preparing" });
    try {
      await work({ messages: added, tell: tellOfEnd, busy });
    } catch (error) {
      record.fail("internal", errorMessage(error));
    }
    isAtWork = false;
    keepWaiting();
    actions.setActive(undefined);
    tell({ type: "agent_end", messages: added });
  }

  /** Tells a message that the model does not see. */
  function tellOfEnd(message: CustomMessage): void {
    const { customType, details } = message;
    record.append({ type: "custom", customType, ...(details === undefined ? {} : { data: details }) });
    tell({ type: "message_start", message });
    tell({ type: "message_end", message });
  }

  function busy(label: string): void {
    actions.setActive({ kind: "turn", phase: "committing", label });
  }

  function keepWaiting(): void {
    for (const message of waiting) record.message(message);
    waiting = [];
  }

  return {
    emit: tell,
    run,
    supersede() {
      isSuperseded = true;
    },
    addMessage(message) {
      waiting.push(message);
      if (!isAtWork) keepWaiting();
    },
    keepWaiting,
  };
}
