import type { AgentSessionEvent } from "../contract/events.ts";

/** What a run is doing, in one line for a person who waits. */
export type Progress = {
  take(event: AgentSessionEvent): void;
  /** For instance `bash · 12s · 3.4k tokens · $0.012`. */
  line(): string;
};

/** Makes the progress of a run that starts now. `now` is in milliseconds. */
export function createProgress(now: () => number): Progress {
  const startMs = now();
  const tools = new Map<string, string>();
  let doing = "starting";
  let tokens = 0;
  let dollars = 0;

  function take(event: AgentSessionEvent): void {
    if (event.type === "tool_execution_start") tools.set(event.toolCallId, event.toolName);
    if (event.type === "tool_execution_end") tools.delete(event.toolCallId);
    if (event.type === "message_end" && event.message.role === "assistant") {
      tokens += event.message.usage.totalTokens;
      dollars += event.message.usage.cost.total;
    }
    doing = activity(event) ?? doing;
  }

  function line(): string {
    const parts = [tools.size > 0 ? [...tools.values()].join(", ") : doing, toDuration(now() - startMs)];
    if (tokens > 0) parts.push(`${toCount(tokens)} tokens`);
    if (dollars > 0) parts.push(`$${dollars.toFixed(dollars < 1 ? 3 : 2)}`);
    return parts.join(" · ");
  }

  return { take, line };
}

function activity(event: AgentSessionEvent): string | undefined {
  switch (event.type) {
    case "turn_start":
    case "tool_execution_end":
      return "waiting for the model";
    case "message_update":
      return activities[event.assistantMessageEvent.type];
    case "session_action_update": {
      const { active } = event.actions;
      return active?.phase === "committing" ? active.label : undefined;
    }
    case "compaction_start":
      return "compacting";
    case "auto_retry_start":
      return `retry ${event.attempt} of ${event.maxAttempts} in ${toDuration(event.delayMs)}`;
    default:
      return undefined;
  }
}

const activities: Readonly<Record<string, string>> = {
  text_start: "answering",
  thinking_start: "thinking",
  toolcall_start: "calling a tool",
};

function toDuration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
}

function toCount(count: number): string {
  if (count < 1000) return String(count);
  return count < 1e6 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1e6).toFixed(1)}M`;
}
