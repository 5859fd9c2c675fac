import { StartupError } from "../contract/errors.ts";
import { connectRun, hasEnded } from "../runs/client.ts";
import { findRun, type RunTarget } from "../runs/targets.ts";

export type SendOptions = RunTarget & {
  readonly message: string;
  /** Whether it names no template, skill or session command, though it starts with a slash. */
  readonly literal: boolean;
  /** When it is said: after the running turn's tool calls, or when the agent would stop. */
  readonly when: "steer" | "follow_up";
};

/** What a session command may take that the message turns out to be, in milliseconds. */
const answerMs = 600_000;

/**
 * Says something to a run; what is said to one that is idle is a prompt. Gives the exit status once the run has taken
 * it. Throws a StartupError when there is no such run, when it has ended, or when it refuses.
 */
export async function sendCommand({ message, literal, when, ...target }: SendOptions): Promise<number> {
  if (message.trim() === "") throw new StartupError("the message is empty; say something to the run");
  const run = await findRun(target);
  const { signal } = target;
  if (!run.isLive) throw hasEnded(run.record.id);
  const connection = await connectRun(run, { signal });
  const leave = () => connection.close();
  signal.addEventListener("abort", leave, { once: true });
  try {
    await connection.request({ type: when, message, literal }, answerMs);
    return 0;
  } finally {
    signal.removeEventListener("abort", leave);
    connection.close();
  }
}
