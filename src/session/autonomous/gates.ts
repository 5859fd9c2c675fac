import type { CustomMessage } from "../../contract/messages.ts";
import { gateResultMessage, gateWords } from "./gates-report.ts";

/** How the command of a gate ended. */
export type GateEnd = {
  /** `exit` is by itself, whatever its status. */
  readonly reason: "exit" | "timeout" | "abort" | "not_started";
  /** Absent when a signal ended it or it did not start. */
  readonly exitCode?: number;
  /** The signal that ended it. */
  readonly signal?: string;
  /** With `not_started`: why. */
  readonly errorMessage?: string;
  readonly durationMs: number;
  /** The end of what it wrote, bounded and without credentials. */
  readonly output: string;
};

/**
 * Runs a gate's command in a process group of its own, without credentials of providers, to its end. Nothing of it is
 * left behind. Never throws.
 */
export type RunGate = (
  command: string,
  options: { readonly timeoutMs: number; readonly signal: AbortSignal },
) => Promise<GateEnd>;

export type GateOutcome = "passed" | "failed" | "timed_out" | "aborted" | "not_started";

/** What is known of one gate. */
export type GateResult = {
  readonly command: string;
  /** Counts the rounds of this prompt from 1. */
  readonly attempt: number;
  readonly outcome: GateOutcome;
  readonly end: GateEnd;
  /** It was not run again, since nothing had changed since it failed. */
  readonly unchanged: boolean;
};

export type GatesOptions = {
  /** In this order. */
  readonly commands: readonly string[];
  /** Further rounds after the first that failed. */
  readonly retries: number;
  readonly timeoutMs: number;
  readonly run: RunGate;
  /** What the work tree is like; undefined when that cannot be told. */
  readonly workTree: () => Promise<string | undefined>;
  /** Takes credentials out of a text. */
  readonly redact: (text: string) => string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
};

/** What happens around a round of gates. */
export type GateRound = {
  readonly signal: AbortSignal;
  readonly tell: (result: CustomMessage) => void;
  /** Tells which gate is at work. */
  readonly busy: (label: string) => void;
};

/** The gates of a run. */
export type Gates = {
  readonly count: number;
  /** Runs the gates in order up to the first that does not pass; gives that one, or undefined when all passed. */
  check(round: GateRound): Promise<GateResult | undefined>;
  /** Whether another round may follow a failure. */
  mayRetry(): boolean;
  /** Forgets all rounds, for another prompt. */
  restart(): void;
  /** What is known of each gate; a gate that never ran has no result. */
  results(): readonly { readonly command: string; readonly result?: GateResult }[];
  /** The gates that are not passed, in words; undefined when all are. */
  notPassed(): string | undefined;
};

/** Makes the gates of a run; none has run yet. */
export function createGates(options: GatesOptions): Gates {
  const { workTree, now } = options;
  const commands = options.commands.map((command) => ({ command, shown: options.redact(command) }));
  const latest = new Map<string, GateResult>();
  let attempt = 0;
  let failures = 0;
  let failure: GateResult | undefined;
  let treeAtFailure: string | undefined;

  async function check(round: GateRound): Promise<GateResult | undefined> {
    attempt++;
    if (failure !== undefined && (await isUnchanged())) {
      failures++;
      return keep({ ...failure, attempt, unchanged: true }, round);
    }
    failure = undefined;
    for (const { command, shown } of commands) {
      round.busy(shown);
      const end = await options.run(command, { timeoutMs: options.timeoutMs, signal: round.signal });
      const outcome = toOutcome(end);
      const result = keep({ command: shown, attempt, outcome, end, unchanged: false }, round);
      if (outcome === "passed") continue;
      failure = result;
      failures++;
      // Taken behind the gate: what it changed itself is no change since.
      treeAtFailure = outcome === "aborted" ? undefined : await workTree();
      return result;
    }
    return undefined;
  }

  async function isUnchanged(): Promise<boolean> {
    return treeAtFailure !== undefined && treeAtFailure === (await workTree());
  }

  function keep(result: GateResult, { tell }: GateRound): GateResult {
    latest.set(result.command, result);
    tell(gateResultMessage(result, now()));
    return result;
  }

  const results = () =>
    commands.map(({ shown }) => {
      const result = latest.get(shown);
      return { command: shown, ...(result === undefined ? {} : { result }) };
    });

  return {
    count: commands.length,
    check,
    mayRetry: () => failures <= options.retries,
    restart() {
      attempt = 0;
      failures = 0;
      failure = undefined;
      latest.clear();
    },
    results,
    notPassed() {
      const words = results().flatMap(({ command, result }) => {
        if (result === undefined) return [`gate never ran: ${command}`];
        return result.outcome === "passed" ? [] : [gateWords(result)];
      });
      return words.length === 0 ? undefined : words.join("; ");
    },
  };
}

function toOutcome({ reason, exitCode }: GateEnd): GateOutcome {
  switch (reason) {
    case "exit":
      return exitCode === 0 ? "passed" : "failed";
    case "timeout":
      return "timed_out";
    case "abort":
      return "aborted";
    case "not_started":
      return "not_started";
  }
}
