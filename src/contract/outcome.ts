import type { StopReason } from "./messages.ts";

export type SignalName = "SIGHUP" | "SIGINT" | "SIGTERM";

/** Why a run was told to end before its work was done: the reason of its AbortSignal. */
export type AbortCause =
  | { readonly kind: "signal"; readonly signal: SignalName }
  | { readonly kind: "readerGone" }
  /** Stdout could not be written for another reason, so nobody would get the result. */
  | { readonly kind: "outputFailed" }
  /** An exception that nobody caught. */
  | { readonly kind: "internalError" };

/** A failure that makes the run's status 1 whatever the last message says. */
export type RunFailure = {
  readonly kind: "session_command" | "compaction" | "persistence" | "output" | "internal";
  readonly message: string;
};

/** A limit that ended the run. */
export type RunLimit = {
  readonly name: "continuations" | "turns" | "tokens" | "time" | "cost" | "goal_tokens" | "repeated_call";
  readonly message: string;
};

/** All that the exit status depends on. */
export type RunOutcome = {
  /** The signal that ended the run. */
  signal?: SignalName;
  /** Stdout's reader went away. */
  readerGone?: boolean;
  /** The start was refused, with the reason. */
  refused?: string;
  /** How the last assistant message ended. */
  terminal?: { stopReason: StopReason; errorMessage?: string };
  failures: RunFailure[];
  /** A gate (or the output schema) that was not passed, in words. */
  gateNotPassed?: string;
  limit?: RunLimit;
  /** The last prompt's final answer, or what a session command behind it said. */
  finalText: string;
  /** What the last session command said; absent when it said nothing. */
  commandOutput?: string;
};
