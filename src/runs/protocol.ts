import type { SessionActionSnapshot } from "../contract/events.ts";
import type { AgentMessage, ImageContent } from "../contract/messages.ts";
import type { Model, ThinkingLevel } from "../contract/provider.ts";

/**
 * The protocol of `--mode rpc` and of the control socket. Each side sends JSON objects, one a line, UTF-8, LF only.
 * The client sends commands; the program answers each with one response, and sends the session header and the events
 * of `--mode json` as they happen, between them. A response says that a command was done, but for a prompt: that it
 * was taken up. Its end is the next `agent_end`.
 */
export type RpcCommand = RpcCommands[RpcCommandName] & RpcCorrelation;

/** What a client may put on a command to know its response by. */
export type RpcCorrelation = { readonly id?: string | number };

/** The commands by name. A new one is a row here, in RpcResults, in the parser's table and in the handler's. */
export type RpcCommands = {
  /** Starts a prompt. While one runs it is refused, unless `streamingBehavior` says where to queue it. */
  prompt: {
    readonly type: "prompt";
    readonly message: string;
    readonly images?: readonly ImageContent[];
    readonly streamingBehavior?: "steer" | "followUp";
  } & RpcLiteral;
  /** Says something after the running turn's tool calls, before the next request. When nothing runs: a prompt. */
  steer: { readonly type: "steer"; readonly message: string } & RpcLiteral;
  /** Says something when the agent would stop. When nothing runs: a prompt. */
  follow_up: { readonly type: "follow_up"; readonly message: string } & RpcLiteral;
  /** Ends the running prompt or compaction and drops what is queued. Answered when it has ended. */
  abort: { readonly type: "abort" };
  get_state: { readonly type: "get_state" };
  get_messages: { readonly type: "get_messages" };
  /** `modelId` may be `provider/id`; without `provider` it is looked for as `--model` does. */
  set_model: { readonly type: "set_model"; readonly provider?: string; readonly modelId: string };
  set_thinking_level: { readonly type: "set_thinking_level"; readonly level: ThinkingLevel };
  compact: { readonly type: "compact"; readonly customInstructions?: string };
  set_auto_compaction: { readonly type: "set_auto_compaction"; readonly enabled: boolean };
  set_auto_retry: { readonly type: "set_auto_retry"; readonly enabled: boolean };
  /** Ends the wait for the next attempt: the prompt ends with the error that it has. */
  abort_retry: { readonly type: "abort_retry" };
  /** Runs a command of the user's in the shell. Answered when it has ended. */
  bash: {
    readonly type: "bash";
    readonly command: string;
    /** Keep it in the session, but from the model. */
    readonly excludeFromContext?: boolean;
  };
  abort_bash: { readonly type: "abort_bash" };
  get_session_stats: { readonly type: "get_session_stats" };
  /** The next three put another session in place of this one: a new header line follows, before the response. */
  new_session: { readonly type: "new_session" };
  /** A path, an id, or the unique beginning of one. */
  switch_session: { readonly type: "switch_session"; readonly sessionPath: string };
  /** A copy of this session, up to `entryId` where that is given. */
  fork: { readonly type: "fork"; readonly entryId?: string };
  set_session_name: { readonly type: "set_session_name"; readonly name: string };
  get_commands: { readonly type: "get_commands" };
};

/** Whether a slash at the beginning of the message is one, and no template, skill or session command. */
type RpcLiteral = { readonly literal?: boolean };

export type RpcCommandName = keyof RpcCommands;

/** What the `data` of a response holds, by command; undefined: there is none. */
export type RpcResults = {
  prompt: RpcQueued & {
    /** The message was a session command (`session`), which has ended by now. */
    readonly sessionCommand?: string;
    /** What that had to say. */
    readonly output?: string;
  };
  steer: RpcQueued;
  follow_up: RpcQueued;
  abort: {
    /** Whether something ran. */
    readonly aborted: boolean;
    /** What was queued and will not be said. */
    readonly dropped: readonly string[];
  };
  get_state: RpcState;
  get_messages: { readonly messages: readonly AgentMessage[] };
  set_model: RpcModel;
  set_thinking_level: { readonly level: ThinkingLevel };
  compact: { readonly summary: string; readonly firstKeptEntryId: string; readonly tokensBefore: number };
  set_auto_compaction: undefined;
  set_auto_retry: undefined;
  abort_retry: { readonly aborted: boolean };
  bash: RpcBashResult;
  abort_bash: { readonly aborted: boolean };
  get_session_stats: RpcSessionStats;
  new_session: RpcSessionPlace;
  switch_session: RpcSessionPlace;
  fork: RpcSessionPlace;
  set_session_name: undefined;
  get_commands: { readonly commands: readonly RpcCommandInfo[] };
};

/** Whether a message waits in the queue, or was taken up at once. */
export type RpcQueued = { readonly queued: boolean };

/** A model, without how to reach it. */
export type RpcModel = Pick<
  Model,
  "id" | "name" | "provider" | "api" | "reasoning" | "input" | "contextWindow" | "maxTokens" | "cost"
>;

export type RpcState = {
  readonly model: RpcModel;
  readonly thinkingLevel: ThinkingLevel;
  /** A prompt is being worked on. */
  readonly isStreaming: boolean;
  readonly isCompacting: boolean;
  readonly isBashRunning: boolean;
  readonly steeringMode: "all" | "one-at-a-time";
  readonly followUpMode: "all" | "one-at-a-time";
  readonly autoCompactionEnabled: boolean;
  readonly autoRetryEnabled: boolean;
  /** Messages in the model's context. */
  readonly messageCount: number;
  readonly pendingMessageCount: number;
  readonly actions: SessionActionSnapshot;
} & RpcSessionPlace;

export type RpcSessionPlace = {
  readonly sessionId: string;
  /** Absent when the session is not kept. */
  readonly sessionFile?: string;
  readonly sessionName?: string;
  readonly cwd: string;
};

export type RpcBashResult = {
  readonly output: string;
  /** Absent when the command was killed. */
  readonly exitCode?: number;
  readonly cancelled: boolean;
  readonly truncated: boolean;
  readonly fullOutputPath?: string;
};

/** The messages are those in the model's context, tokens and cost those of this process, in US dollars. */
export type RpcSessionStats = {
  readonly sessionId: string;
  readonly sessionFile?: string;
  readonly userMessages: number;
  readonly assistantMessages: number;
  readonly toolCalls: number;
  readonly toolResults: number;
  readonly totalMessages: number;
  readonly requests: number;
  readonly tokens: {
    readonly input: number;
    readonly output: number;
    readonly cacheRead: number;
    readonly cacheWrite: number;
    readonly total: number;
  };
  readonly cost: number;
};

/** Something that a prompt may start with, as `/name`. */
export type RpcCommandInfo = {
  readonly name: string;
  readonly description?: string;
  readonly source: "session" | "prompt" | "skill";
};

/** The answer to a command. `command` is `parse` when the line was none. */
export type RpcResponse<Name extends RpcCommandName = RpcCommandName> = RpcSuccess<Name> | RpcFailure;

export type RpcSuccess<Name extends RpcCommandName = RpcCommandName> = {
  readonly type: "response";
  readonly command: Name;
  readonly id?: string | number;
  readonly success: true;
  readonly data?: RpcResults[Name];
};

export type RpcFailure = {
  readonly type: "response";
  /** As the client spelt it, or `parse`. */
  readonly command: string;
  readonly id?: string | number;
  readonly success: false;
  /** One line for a person. */
  readonly error: string;
};

/** Longer lines are skipped and answered with an error. */
export const maxCommandBytes = 64 * 1024 * 1024;
