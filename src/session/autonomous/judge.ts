import type { AgentMessage } from "../../contract/messages.ts";
import type { RunLimit, RunOutcome } from "../../contract/outcome.ts";
import type { PromptEnd } from "../agent-session.ts";
import type { RunLimits } from "../limits.ts";
import { checkAnswer, type OutputSchema, schemaMissedPrompt } from "../output-schema.ts";
import nobodyThere from "../prompts/no-human.md";
import { mayGoOn } from "../session-record.ts";
import type { GateResult, Gates } from "./gates.ts";
import { gateFailedPrompt } from "./gates-report.ts";
import type { Goal } from "./goal.ts";

/** What a run's work is held against. */
export type JudgeDeps = {
  readonly gates: Gates;
  readonly limits: RunLimits;
  /** Without gates and goal: whether the work goes on until the model finds nothing left to do. */
  readonly goesOn: boolean;
  readonly goal?: Goal | undefined;
  readonly schema?: OutputSchema | undefined;
  /** Changed where the judgement does: limit, what was not passed, and the answer as it is printed. */
  readonly outcome: RunOutcome;
};

/** The work on one prompt of the user's. */
export type Work = {
  /** The answer is the run's answer. */
  readonly isLast: boolean;
  /** Prompts of the program's own so far. */
  continuations: number;
  /** Answers that were sent back since the schema did not allow them. */
  misses: number;
};

/** What comes behind an answer: nothing, or a prompt of the program's own, and why. */
export type NextStep = { readonly kind: "end" } | ({ readonly kind: "go_on" } & Continuation);

type Continuation = {
  readonly reason: "gate_failed" | "goal_open" | "nobody_there" | "output_schema";
  readonly text: string;
  readonly gate?: GateResult;
};

const end: NextStep = { kind: "end" };
const maxMisses = 2;

/** Judges the work by the time that the model has answered. Runs the gates. */
export async function judgeAnswer(
  answered: PromptEnd,
  work: Work,
  deps: JudgeDeps,
  signal: AbortSignal,
): Promise<NextStep> {
  const { gates, outcome } = deps;
  if (signal.aborted || !mayGoOn(outcome)) return giveUp(work, deps);
  const failed = await gates.check({ signal, tell: answered.tell, busy: answered.busy });
  if (signal.aborted) return giveUp(work, deps);
  const left = failed === undefined ? whatIsLeft(answered.messages, work, deps) : toContinuation(failed);
  if (left === undefined) return finish(work, deps);
  if (failed !== undefined && !gates.mayRetry()) return giveUp(work, deps);
  const limit = outcome.limit ?? deps.limits.takeContinuation();
  if (limit !== undefined) return stopAt(limit, work, deps);
  work.continuations++;
  return { kind: "go_on", ...left };
}

function toContinuation(gate: GateResult): Continuation {
  return { reason: "gate_failed", text: gateFailedPrompt(gate), gate };
}

/** What is to be done although every gate is passed. */
function whatIsLeft(
  messages: readonly AgentMessage[],
  { continuations }: Work,
  { gates, goal, goesOn }: JudgeDeps,
): Continuation | undefined {
  if (goal !== undefined) return goal.isReached() ? undefined : { reason: "goal_open", text: goal.prompt() };
  if (!goesOn || gates.count > 0) return undefined;
  const isAtRest = continuations > 0 && !messages.some(({ role }) => role === "toolResult");
  return isAtRest ? undefined : { reason: "nobody_there", text: nobodyThere.trimEnd() };
}

/** All is passed, but for the form of the answer. */
function finish(work: Work, deps: JudgeDeps): NextStep {
  const { gates, goal, outcome, limits } = deps;
  delete outcome.gateNotPassed;
  // The work is done, so that what would have ended it ended nothing.
  if (gates.count > 0 || goal !== undefined) delete outcome.limit;
  const problem = settleAnswer(work, deps);
  if (problem === undefined) return end;
  const limit = outcome.limit ?? limits.reached();
  if (work.misses >= maxMisses || limit !== undefined) {
    // Work that a limit broke off has no answer yet: the limit says so, where it counts.
    const isBrokenOff = outcome.terminal?.stopReason === "toolUse" && outcome.limit !== undefined;
    if (!isBrokenOff) outcome.gateNotPassed = problem;
    return end;
  }
  work.misses++;
  return { kind: "go_on", reason: "output_schema", text: schemaMissedPrompt(problem) };
}

function stopAt(limit: RunLimit, work: Work, deps: JudgeDeps): NextStep {
  deps.outcome.limit = limit;
  return giveUp(work, deps);
}

function giveUp(work: Work, deps: JudgeDeps): NextStep {
  const notPassed = deps.gates.notPassed();
  if (notPassed === undefined) delete deps.outcome.gateNotPassed;
  else deps.outcome.gateNotPassed = notPassed;
  settleAnswer(work, deps);
  return end;
}

/**
 * Makes the answer what is printed of it: the JSON alone where there is a schema, and nothing when it is not valid or
 * not the run's, since what reads on expects what is. Gives what is wrong with it.
 */
function settleAnswer({ isLast }: Work, { schema, outcome }: JudgeDeps): string | undefined {
  if (schema === undefined) return undefined;
  if (!isLast) {
    outcome.finalText = "";
    return undefined;
  }
  const checked = checkAnswer(outcome.finalText, schema);
  outcome.finalText = checked.ok ? checked.json : "";
  return checked.ok ? undefined : checked.problem;
}
