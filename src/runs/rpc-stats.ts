import type { AgentSession } from "../session/agent-session.ts";
import { contextMessages } from "../session/context.ts";
import type { RpcSessionStats } from "./protocol.ts";

/** Counts what a session's context holds, and what this process has used. */
export function toStats({ store, ledger }: AgentSession): RpcSessionStats {
  const messages = contextMessages(store.branch());
  const count = (role: string) => messages.filter((message) => message.role === role).length;
  const { input, output, cacheRead, cacheWrite, totalTokens, cost } = ledger.total();
  return {
    sessionId: store.header.id,
    ...(store.path === undefined ? {} : { sessionFile: store.path }),
    userMessages: count("user"),
    assistantMessages: count("assistant"),
    toolCalls: messages.reduce(
      (sum, message) =>
        message.role === "assistant"
          ? sum + message.content.filter(({ type }) => type === "toolCall").length
          : sum,
      0,
    ),
    toolResults: count("toolResult"),
    totalMessages: messages.length,
    requests: ledger.rows().reduce((sum, { requests }) => sum + requests, 0),
    tokens: { input, output, cacheRead, cacheWrite, total: totalTokens },
    cost: cost.total,
  };
}
