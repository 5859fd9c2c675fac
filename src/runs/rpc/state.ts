import type { Model } from "../../contract/provider.ts";
import type { AgentSession } from "../../session/agent-session.ts";
import { shownMessages } from "../../session/context/context.ts";
import type { Conversation, OpenedSession } from "../conversation.ts";
import type { RpcModel, RpcSessionPlace, RpcSessionStats, RpcState } from "../protocol.ts";
import type { LiveSettings } from "./actions.ts";

/** A model as clients see it. */
export function toModel({
  id,
  name,
  provider,
  api,
  reasoning,
  input,
  contextWindow,
  maxTokens,
  cost,
}: Model): RpcModel {
  const known = { id, name, provider, api, reasoning, input, contextWindow, maxTokens };
  return cost === undefined ? known : { ...known, cost };
}

/** Where a session is. */
export function toPlace({ session: { store }, cwd }: OpenedSession): RpcSessionPlace {
  const { name } = store.settings();
  return {
    sessionId: store.header.id,
    ...(store.path === undefined ? {} : { sessionFile: store.path }),
    ...(name === undefined ? {} : { sessionName: name }),
    cwd,
  };
}

/** All that a client may want to show of a run. */
export function toState(
  conversation: Conversation,
  { settings, ...flags }: { settings: LiveSettings; isCompacting: boolean; isBashRunning: boolean },
): RpcState {
  const current = conversation.current();
  const { session } = current;
  const { model, thinkingLevel } = session.choice();
  const actions = session.actions();
  return {
    ...toPlace(current),
    model: toModel(model),
    thinkingLevel,
    isStreaming: conversation.active() === "prompt",
    ...flags,
    steeringMode: settings.steeringMode,
    followUpMode: settings.followUpMode,
    autoCompactionEnabled: settings.compaction.enabled,
    autoRetryEnabled: settings.retry.enabled,
    messageCount: shownMessages(session.store.branch()).length,
    pendingMessageCount: actions.queuedCount,
    actions,
  };
}

/** Counts what a session's context holds, and what this process has used. */
export function toStats({ store, ledger }: AgentSession): RpcSessionStats {
  const messages = shownMessages(store.branch());
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
