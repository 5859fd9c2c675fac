import type { AutonomousSettings } from "../contract/config.ts";
import type { OptionGroup, RunOption } from "./options.ts";
import { milliseconds, positiveNumber, positiveWhole } from "./values.ts";

/** What the options on unattended work say. */
export type AutonomousFlags = {
  /** What is absent (for gates: empty) is up to the settings. Any `--autonomous-...` option enables it. */
  autonomous: AutonomousSettings;
  goal?: string;
  goalTokenBudget?: number;
  /** US dollars. */
  maxCost?: number;
  outputSchema?: string;
  summary?: string;
};

/** The options under "Unattended work". */
export const autonomousGroup: OptionGroup = {
  title: "Unattended work",
  options: [
    { name: "--autonomous", help: "Go on until the work is done, or a limit", set: enable(() => ({})) },
    {
      name: "--autonomous-gate",
      value: "<command>",
      help: "A check that the work has to pass (repeatable)",
      set: enable((command, { gate }) => ({ gate: [...gate, command] })),
    },
    limit("--autonomous-gate-retries", "gateRetries", "Further attempts after the first that failed (3)"),
    time("--autonomous-gate-timeout-ms", "gateTimeoutMs", "Time for one gate (300000)"),
    limit("--autonomous-max-continuations", "maxContinuations", "Prompts of the program's own (3)"),
    limit("--autonomous-max-turns", "maxTurns", "Replies of the model (12)"),
    limit("--autonomous-max-tokens", "maxTokens", "Tokens in and out, without cache reads (80000)"),
    time("--autonomous-timeout-ms", "timeoutMs", "Time for all of it (1800000)"),
    {
      name: "--goal",
      value: "<text>",
      help: "Go on until the model says that this is reached",
      set: (flags, value) => {
        flags.goal = value;
      },
    },
    {
      name: "--goal-token-budget",
      value: "<n>",
      help: "Tokens for the goal, over all runs",
      set: (flags, value) => {
        flags.goalTokenBudget = positiveWhole("--goal-token-budget", value);
      },
    },
    {
      name: "--max-cost",
      value: "<USD>",
      help: "End the run when its requests have cost this much",
      set: (flags, value) => {
        flags.maxCost = positiveNumber("--max-cost", value);
      },
    },
    {
      name: "--output-schema",
      value: "<file>",
      help: "A JSON Schema that the final answer has to follow",
      set: (flags, value) => {
        flags.outputSchema = value;
      },
    },
    {
      name: "--summary",
      value: "<file>",
      help: "Write what the run came to, as JSON",
      set: (flags, value) => {
        flags.summary = value;
      },
    },
  ],
};

type LimitKey = "gateRetries" | "gateTimeoutMs" | "maxContinuations" | "maxTurns" | "maxTokens" | "timeoutMs";

function enable(
  change: (value: string, settings: AutonomousSettings) => Partial<AutonomousSettings>,
): RunOption["set"] {
  return (flags, value) => {
    flags.autonomous = { ...flags.autonomous, ...change(value, flags.autonomous), enabled: true };
  };
}

function limit(name: RunOption["name"], key: LimitKey, help: string): RunOption {
  return { name, value: "<n>", help, set: enable((value) => ({ [key]: positiveWhole(name, value) })) };
}

function time(name: RunOption["name"], key: LimitKey, help: string): RunOption {
  return {
    name,
    value: "<ms>",
    help,
    set: enable((value) => ({ [key]: milliseconds(name, String(positiveWhole(name, value))) })),
  };
}
