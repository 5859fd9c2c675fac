import { isAbsolute } from "node:path";
import * as acp from "@agentclientprotocol/sdk";
import { errorMessage, StartupError } from "../../contract/errors.ts";
import type { AgentSessionEvent } from "../../contract/events.ts";
import type { AgentMessage, AssistantMessage } from "../../contract/messages.ts";
import type { RunOutcome } from "../../contract/outcome.ts";
import { thinkingLevels } from "../../contract/provider.ts";
import type { ClientPrompt, Conversation } from "../conversation.ts";
import { toPrompt } from "./prompt.ts";
import { createUpdateMaker, replayUpdates } from "./updates.ts";

/** What an editor asks for: a session that begins, or one that goes on. */
export type AcpTarget = { readonly cwd: string; readonly sessionId?: string };

/** Where a session's events go. */
export type AcpOutlet = {
  readonly emit: (event: AgentSessionEvent) => void;
  /** Resolves when there is room for more. */
  readonly ready: () => Promise<void>;
};

/** A session of an editor's. */
export type AcpSession = {
  readonly conversation: Conversation;
  /** All that was said so far, from the beginning. */
  history(): readonly AgentMessage[];
  close(): Promise<void>;
};

export type AcpSessionsOptions = {
  /** Throws a StartupError. */
  readonly open: (target: AcpTarget, outlet: AcpOutlet) => Promise<AcpSession>;
  /** Resolves when the output has room for more. */
  readonly ready: () => Promise<void>;
  /** Takes credentials out of what is told. */
  readonly clean: <T>(value: T) => T;
  /** Tells a person something, in one line. */
  readonly warn: (line: string) => void;
};

type Opened = AcpSession & {
  readonly tell: (update: acp.SessionUpdate) => void;
  /** The answer that the last prompt ended in. */
  readonly lastAnswer: () => AssistantMessage | undefined;
  isCancelled: boolean;
};

/** The sessions that an editor has open, by the ids that it knows them by. */
export function createAcpSessions(options: AcpSessionsOptions) {
  const sessions = new Map<string, Opened>();

  async function open(
    { cwd, sessionId, mcpServers }: AcpTarget & Pick<acp.NewSessionRequest, "mcpServers">,
    client: acp.AgentContext,
  ): Promise<{ id: string; opened: Opened }> {
    if (!isAbsolute(cwd)) throw new acp.RequestError(invalidParams, `cwd is not an absolute path: ${cwd}`);
    if (mcpServers.length > 0)
      options.warn(
        `MCP servers are not supported: the ${mcpServers.length} that the editor named are left out`,
      );
    let id = sessionId ?? "";
    let lastAnswer: AssistantMessage | undefined;
    const toUpdates = createUpdateMaker(cwd);
    function tell(update: acp.SessionUpdate): void {
      // Nobody is told of what cannot be sent: the end of the connection tells that.
      client.notify("session/update", options.clean({ sessionId: id, update })).catch(() => undefined);
    }
    const session = await options.open(sessionId === undefined ? { cwd } : { cwd, sessionId }, {
      emit(event) {
        if (event.type === "agent_start") lastAnswer = undefined;
        if (event.type === "message_end" && event.message.role === "assistant") lastAnswer = event.message;
        for (const update of toUpdates(event)) tell(update);
      },
      ready: options.ready,
    });
    id = sessionId ?? session.conversation.current().session.store.header.id;
    const opened: Opened = { ...session, tell, lastAnswer: () => lastAnswer, isCancelled: false };
    sessions.set(id, opened);
    // The editor has to know the session before it hears of it.
    setImmediate(() => void tellCommands(opened));
    return { id, opened };
  }

  function known(sessionId: string): Opened {
    const session = sessions.get(sessionId);
    if (session === undefined) throw acp.RequestError.resourceNotFound(sessionId);
    return session;
  }

  async function close(sessionId: string): Promise<void> {
    const session = known(sessionId);
    sessions.delete(sessionId);
    await session.conversation.abort();
    await session.close();
  }

  /** Opens a session that may be open by now; it stays open as it is when that does not work. */
  async function openAnew(
    target: Required<AcpTarget> & Pick<acp.NewSessionRequest, "mcpServers">,
    client: acp.AgentContext,
  ): Promise<Opened> {
    const { sessionId } = target;
    const before = sessions.get(sessionId)?.conversation;
    if (before === undefined) return (await open(target, client)).opened;
    refuseWhileBusy(before);
    const { cwd } = before.current();
    await close(sessionId);
    try {
      return (await open(target, client)).opened;
    } catch (error) {
      await open({ sessionId, cwd, mcpServers: [] }, client);
      throw error;
    }
  }

  return {
    async begin(request: acp.NewSessionRequest, client: acp.AgentContext): Promise<acp.NewSessionResponse> {
      const { id, opened } = await refusing(() =>
        open({ cwd: request.cwd, mcpServers: request.mcpServers }, client),
      );
      return { sessionId: id, configOptions: configOptions(opened) };
    },

    async goOn(
      { sessionId, cwd, mcpServers = [] }: acp.LoadSessionRequest | acp.ResumeSessionRequest,
      client: acp.AgentContext,
      { replay }: { replay: boolean },
    ): Promise<acp.LoadSessionResponse> {
      if (!/^[0-9a-f-]{4,36}$/.test(sessionId)) throw acp.RequestError.resourceNotFound(sessionId);
      const opened = await refusing(() => openAnew({ cwd, sessionId, mcpServers }, client));
      const updates = replay ? replayUpdates(opened.history(), cwd) : [];
      for (const update of updates) {
        opened.tell(update);
        await options.ready();
      }
      return { configOptions: configOptions(opened) };
    },

    async prompt(request: acp.PromptRequest, signal: AbortSignal): Promise<acp.PromptResponse> {
      const session = known(request.sessionId);
      const { conversation } = session;
      const said = toPrompt(request.prompt);
      if (!said.ok) throw new acp.RequestError(invalidParams, said.problem);
      refuseWhileBusy(conversation);
      const prompt = conversation.current().toPrompt(said.text, said.images);
      session.isCancelled = false;
      const cancel = () => void cancelPrompt(session);
      signal.addEventListener("abort", cancel, { once: true });
      try {
        const { outcome } = await conversation.run(prompt);
        if (prompt.kind === "command") tellSettings(session);
        return { stopReason: toStopReason(session, prompt, outcome) };
      } finally {
        signal.removeEventListener("abort", cancel);
      }
    },

    async cancel(sessionId: string): Promise<void> {
      const session = sessions.get(sessionId);
      // Nobody answers a notification: one for a session that is closed by now has nothing to do.
      if (session !== undefined) await cancelPrompt(session);
    },

    async configure(request: acp.SetSessionConfigOptionRequest): Promise<acp.SetSessionConfigOptionResponse> {
      const opened = known(request.sessionId);
      const level = thinkingLevels.find((each) => each === request.value);
      if (request.configId !== thinkingId || level === undefined)
        throw new acp.RequestError(
          invalidParams,
          `${request.configId} cannot be set to ${String(request.value)}`,
        );
      opened.conversation.current().session.choose({ thinkingLevel: level });
      return { configOptions: configOptions(opened) };
    },

    close,

    async closeAll(): Promise<void> {
      for (const id of [...sessions.keys()]) await close(id);
    },
  };
}

// Of JSON-RPC.
const invalidRequest = -32600;
const invalidParams = -32602;
const internalError = -32603;
const thinkingId = "thinking";
/** How providers say that the model declined. */
const refusals: ReadonlySet<string> = new Set(["refusal", "content_filter", "content-filter", "safety"]);

/** What the user can put right is told as it is. */
async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof acp.RequestError) throw error;
    throw new acp.RequestError(
      error instanceof StartupError ? invalidParams : internalError,
      errorMessage(error),
    );
  }
}

function refuseWhileBusy(conversation: Conversation): void {
  if (conversation.active() !== undefined)
    throw new acp.RequestError(
      invalidRequest,
      "a prompt is running in this session; cancel it or wait for its end",
    );
}

async function cancelPrompt(session: Opened): Promise<void> {
  session.isCancelled = true;
  await session.conversation.abort();
}

async function tellCommands({ conversation, tell }: Opened): Promise<void> {
  const commands = await conversation.current().commands();
  tell({
    sessionUpdate: "available_commands_update",
    availableCommands: commands.map(({ name, description, source }) => ({
      name,
      description: description ?? descriptions[source],
    })),
  });
}

/** What a command of the session may have changed. */
function tellSettings({ conversation, tell }: Opened): void {
  const { name } = conversation.current().session.store.settings();
  tell({ sessionUpdate: "config_option_update", configOptions: configOptions({ conversation }) });
  if (name !== undefined) tell({ sessionUpdate: "session_info_update", title: name });
}

const descriptions = { session: "A command of the session", prompt: "A prompt template", skill: "A skill" };

function configOptions({ conversation }: Pick<Opened, "conversation">): acp.SessionConfigOption[] {
  const { model, thinkingLevel } = conversation.current().session.choice();
  if (!model.reasoning) return [];
  return [
    {
      id: thinkingId,
      name: "Thinking",
      category: "thought_level",
      type: "select",
      currentValue: thinkingLevel,
      options: thinkingLevels.map((level) => ({ value: level, name: level })),
    },
  ];
}

/** How the prompt ended that was run last. Throws a protocol error for one that failed. */
function toStopReason(
  { lastAnswer, isCancelled }: Opened,
  { kind }: ClientPrompt,
  { failures, limit, gateNotPassed, terminal: answer }: RunOutcome,
): acp.StopReason {
  // A session command gets no answer: the one before it says nothing about it.
  const terminal = kind === "command" ? undefined : answer;
  if (isCancelled || terminal?.stopReason === "aborted") return "cancelled";
  if (terminal?.stopReason === "error") {
    if (refusals.has(lastAnswer()?.stopReasonRaw ?? "")) return "refusal";
    throw new acp.RequestError(internalError, terminal.errorMessage ?? "the model's reply ended in an error");
  }
  // A session that is not saved any more is told on stderr.
  const failure = failures.find(({ kind }) => kind !== "persistence");
  if (failure !== undefined) throw new acp.RequestError(internalError, failure.message);
  if (gateNotPassed !== undefined && kind === "message")
    throw new acp.RequestError(internalError, gateNotPassed);
  if (limit !== undefined) return "max_turn_requests";
  return terminal?.stopReason === "length" ? "max_tokens" : "end_turn";
}
