import type { CustomMessage, UserMessage } from "../../contract/messages.ts";
import type { RunOutcome } from "../../contract/outcome.ts";
import type { AgentSession, PromptEnd } from "../agent-session.ts";
import type { CompactionOutcome } from "../compaction/compaction.ts";
import { mayGoOn } from "../session-record.ts";
import type { SessionCommand } from "../slash-commands.ts";
import { gateWords } from "./gates-report.ts";
import { type JudgeDeps, judgeAnswer, type NextStep, type Work } from "./judge.ts";

export type AutonomousDeps = Omit<JudgeDeps, "outcome"> & {
  /** Whether the prompt that begins is the run's last: its answer is the run's. */
  readonly isLast: () => boolean;
  /** Keeps what a later run has to know of the goal. */
  readonly keepGoal: () => void;
  /** Tells a person something, in one line. */
  readonly warn: (line: string) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
};

/**
 * Makes a session whose prompts are worked on until their work counts as done, with nobody there to say so: `prompt` runs
 * as many prompts of the program's own behind the given one as it takes, for gates that failed, a goal that is not
 * reached, or an answer that is not as it has to be. A gate that never ran counts as not passed.
 */
export function withAutonomy(session: AgentSession, deps: AutonomousDeps): AgentSession {
  const { gates, limits, now } = deps;
  const outcome = session.outcome();
  let hasPrompted = false;
  expectGates();

  function expectGates(): void {
    gates.restart();
    const notPassed = gates.notPassed();
    if (notPassed === undefined) delete outcome.gateNotPassed;
    else outcome.gateNotPassed = notPassed;
  }

  async function prompt(message: UserMessage | CustomMessage, signal: AbortSignal): Promise<boolean> {
    limits.start();
    // What earlier prompts came to stands; of this one there is nothing to judge.
    if (hasPrompted && limits.reached() !== undefined) return stopAtLimit(message, signal);
    hasPrompted = true;
    expectGates();
    const work: Work = { isLast: deps.isLast(), continuations: 0, misses: 0 };
    let next: UserMessage | CustomMessage | undefined = message;
    while (next !== undefined) next = await answer(next, work, signal);
    return !signal.aborted && isWell(outcome);
  }

  async function answer(
    message: UserMessage | CustomMessage,
    work: Work,
    signal: AbortSignal,
  ): Promise<CustomMessage | undefined> {
    let step: NextStep = { kind: "end" };
    await session.prompt(message, signal, async (end) => {
      deps.keepGoal();
      step = await judgeAnswer(end, work, { ...deps, outcome }, signal);
      tellLimit(end);
    });
    return toPrompt(step);
  }

  /** Nothing is said where a limit is reached but that it is. */
  function stopAtLimit(message: UserMessage | CustomMessage, signal: AbortSignal): Promise<boolean> {
    return session.prompt(message, signal, async (end) => tellLimit(end));
  }

  /** A summary of the conversation is a request, too. */
  function command(asked: SessionCommand, signal: AbortSignal): Promise<boolean> {
    if (asked.name !== "compact" || limits.reached() === undefined) return session.command(asked, signal);
    return stopAtLimit({ role: "user", content: "/compact", timestamp: now() }, signal);
  }

  async function compact(...args: Parameters<AgentSession["compact"]>): Promise<CompactionOutcome> {
    const limit = limits.reached();
    return limit === undefined ? session.compact(...args) : { kind: "failed", message: limit.message };
  }

  function tellLimit({ tell }: PromptEnd): void {
    const { limit } = outcome;
    if (limit === undefined) return;
    const { name, message } = limit;
    const content = `stopped: ${message}`;
    tell({
      role: "custom",
      customType: "limit",
      content,
      display: true,
      details: { name },
      timestamp: now(),
    });
  }

  function toPrompt(step: NextStep): CustomMessage | undefined {
    if (step.kind === "end") return undefined;
    const { reason, text, gate } = step;
    if (gate !== undefined) deps.warn(`${gateWords(gate)}; the model goes on`);
    return {
      role: "custom",
      customType: "autonomous",
      content: text,
      display: true,
      details: { reason },
      timestamp: now(),
    };
  }

  return { ...session, prompt, command, compact };
}

function isWell(outcome: RunOutcome): boolean {
  return mayGoOn(outcome) && outcome.limit === undefined && outcome.gateNotPassed === undefined;
}
