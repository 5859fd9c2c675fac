import { type BigIntStats, fstatSync, realpathSync } from "node:fs";
import { resolve } from "node:path";
import type { Settings } from "../contract/config.ts";
import { errorMessage } from "../contract/errors.ts";
import type { JsonObject } from "../contract/json.ts";
import { monotonicMs } from "../contract/monotonic.ts";
import type { RunLimit } from "../contract/outcome.ts";
import type { Model } from "../contract/provider.ts";
import type { Tool } from "../contract/tool.ts";
import type { Flags } from "../flags/options.ts";
import type { AgentSession } from "../session/agent-session.ts";
import { withAutonomy } from "../session/autonomous/autonomous.ts";
import { createGates, type Gates } from "../session/autonomous/gates.ts";
import { createGoal, type Goal, keepGoal, keptGoal } from "../session/autonomous/goal.ts";
import type { WorkTreeSources } from "../session/autonomous/work-tree.ts";
import { createLimits, type LimitValues, type RunLimits } from "../session/limits.ts";
import { type OutputSchema, schemaSystemPrompt } from "../session/output-schema.ts";
import type { SessionStore } from "../session/store/store.ts";
import type { UsageLedger } from "../session/usage.ts";
import { createRunGate, createRunGit } from "./run-gate.ts";
import type { UserShell } from "./run-user-command.ts";

export type AutonomousSetupOptions = {
  readonly flags: Flags;
  readonly settings: Pick<Settings, "autonomous">;
  readonly schema: OutputSchema | undefined;
  readonly shell: UserShell;
  /** Files and folders that the program itself writes. */
  readonly ownPaths: readonly string[];
  /** File descriptors that the program itself writes to. */
  readonly ownDescriptors: readonly number[];
  /** How many prompts the command line has: the answer to the last one is the run's. */
  readonly promptCount: number;
  /** What all sessions of the run use. */
  readonly ledger: UsageLedger;
  readonly redact: (text: string) => string;
  readonly warn: (line: string) => void;
};

/** What a session works by when nobody watches: gates, limits, a goal, the form of the answer. */
export type AutonomousSetup = {
  /** Prepares a session that is about to be made. */
  prepare(session: {
    readonly store: SessionStore;
    readonly cwd: string;
    readonly model: Model;
  }): SessionAutonomy;
  /** How the session stands that was prepared last. */
  report(): AutonomousReport | undefined;
};

/** What a session is made with, and what it is wrapped in. */
export type SessionAutonomy = {
  readonly tools: readonly Tool[];
  /** Further parts of the system prompt. */
  readonly systemPrompt: readonly string[];
  readonly outputSchema: JsonObject | undefined;
  readonly limit: () => RunLimit | undefined;
  wrap(session: AgentSession): AgentSession;
};

export type AutonomousReport = {
  readonly gates: Gates;
  readonly limits: RunLimits;
  readonly goal: Goal | undefined;
  readonly workTree: WorkTreeSources;
};

const defaults = { continuations: 3, turns: 12, tokens: 80_000, time: 30 * 60_000 };
const defaultRetries = 3;
const defaultGateTimeoutMs = 5 * 60_000;

/** Makes what prepares the sessions of a run. */
export function createAutonomousSetup(options: AutonomousSetupOptions): AutonomousSetup {
  const { flags, schema, warn, redact } = options;
  const settings = { ...options.settings.autonomous, ...flags.autonomous };
  const isOn = options.settings.autonomous.enabled || flags.autonomous.enabled || flags.goal !== undefined;
  const commands =
    flags.autonomous.gate.length > 0 ? flags.autonomous.gate : options.settings.autonomous.gate;
  let latest: AutonomousReport | undefined;
  let promptsLeft = options.promptCount;

  const isLast = () => --promptsLeft <= 0;

  function prepare({ store, cwd, model }: Parameters<AutonomousSetup["prepare"]>[0]): SessionAutonomy {
    const goal = goalOf(store, flags, warn);
    if (flags.maxCost !== undefined && model.cost === undefined)
      warn(`the prices of ${model.provider}/${model.id} are not known: --max-cost will not end this run`);
    const limits = createLimits({
      values: limitValues(goal),
      usage: options.ledger,
      earlierGoalTokens: goal?.earlierTokens ?? 0,
      now: monotonicMs,
    });
    const workTree = workTreeOf(cwd, options);
    const gates = createGates({
      commands: isOn ? commands : [],
      retries: settings.gateRetries ?? defaultRetries,
      timeoutMs: settings.gateTimeoutMs ?? defaultGateTimeoutMs,
      run: createRunGate(options.shell, cwd),
      async workTree() {
        const { readWorkTree, workTreeDigest } = await import("../session/autonomous/work-tree.ts");
        const tree = await readWorkTree(workTree);
        return tree === undefined ? undefined : workTreeDigest(tree, workTree.own);
      },
      redact,
      now: Date.now,
    });
    latest = { gates, limits, goal, workTree };
    return {
      tools: goal === undefined ? [] : [goal.tool],
      systemPrompt: [goal?.systemPrompt, schema && schemaSystemPrompt(schema)].filter(
        (part) => part !== undefined,
      ),
      outputSchema: schema?.schema,
      limit: limits.reached,
      wrap(made) {
        const keep = () => {
          if (goal !== undefined) keepOrFail(made, goal, limits);
        };
        keep();
        return withAutonomy(made, {
          ...{ gates, limits, schema, warn, isLast, now: Date.now },
          goesOn: isOn,
          goal: isOn ? goal : undefined,
          keepGoal: keep,
        });
      },
    };
  }

  function limitValues(goal: Goal | undefined): LimitValues {
    const { maxContinuations, maxTurns, maxTokens, timeoutMs } = settings;
    const given = {
      ...(maxContinuations === undefined ? {} : { continuations: maxContinuations }),
      ...(maxTurns === undefined ? {} : { turns: maxTurns }),
      ...(maxTokens === undefined ? {} : { tokens: maxTokens }),
      ...(timeoutMs === undefined ? {} : { time: timeoutMs }),
      ...(goal?.tokenBudget === undefined ? {} : { goal_tokens: goal.tokenBudget }),
    };
    return {
      ...(isOn ? { ...defaults, ...given } : {}),
      ...(flags.maxCost === undefined ? {} : { cost: flags.maxCost }),
    };
  }

  return { prepare, report: () => latest };
}

/** The goal that the options name, else the one that the session has not reached yet. */
function goalOf(store: SessionStore, flags: Flags, warn: (line: string) => void): Goal | undefined {
  const kept = keptGoal(store);
  const open = kept?.reached === false ? kept : undefined;
  const text = flags.goal ?? open?.text;
  const given = flags.goalTokenBudget;
  if (text === undefined) {
    if (given !== undefined)
      warn("--goal-token-budget is for a goal, and this session has none: name it with --goal");
    return undefined;
  }
  const same = open?.text === text ? open : undefined;
  const tokenBudget = given ?? same?.tokenBudget;
  return createGoal({
    text,
    reached: false,
    ...(tokenBudget === undefined ? {} : { tokenBudget }),
    tokensUsed: same?.tokensUsed ?? 0,
  });
}

function keepOrFail({ store, outcome }: AgentSession, goal: Goal, limits: RunLimits): void {
  try {
    keepGoal(store, goal.state(limits.goalTokens()));
  } catch (error) {
    outcome().failures.push({ kind: "persistence", message: errorMessage(error) });
  }
}

function workTreeOf(
  cwd: string,
  { shell, ownPaths, ownDescriptors }: AutonomousSetupOptions,
): WorkTreeSources {
  const paths = ownPaths.flatMap((path) => [resolve(path), realPath(path)]);
  const open = ownDescriptors.flatMap((descriptor) => {
    const stats = statsOf(descriptor);
    return stats?.isFile() ? [`${stats.dev}:${stats.ino}`] : [];
  });
  return { cwd, runGit: createRunGit(shell), own: { paths: new Set(paths), open: new Set(open) } };
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

function statsOf(descriptor: number): BigIntStats | undefined {
  try {
    return fstatSync(descriptor, { bigint: true });
  } catch {
    return undefined;
  }
}
