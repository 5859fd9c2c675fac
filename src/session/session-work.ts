import type { NewEntry } from "../contract/entries.ts";
import type { Emit } from "../contract/events.ts";
import type { AgentMessage } from "../contract/messages.ts";
import { thinkingLevels } from "../contract/provider.ts";
import type { AgentSessionOptions, ModelChoice } from "./agent-session.ts";
import { type LeftBranch, sumUpBranch } from "./compaction/branch-summary.ts";
import type { SummarizeDeps } from "./compaction/summarize.ts";
import { describeSession } from "./describe.ts";
import { type CommandDeps, runSessionCommand, type SessionCommand } from "./slash-commands.ts";
import type { SessionStore } from "./store/store.ts";

export type SessionWorkDeps = SummarizeDeps &
  Pick<AgentSessionOptions, "chooseModel" | "exportTo" | "warn"> &
  Pick<CommandDeps, "rename"> & {
    readonly store: SessionStore;
    readonly emit: Emit;
    /** Keeps an entry; throws nothing. */
    readonly append: (entry: NewEntry) => void;
    readonly compact: (
      instructions: string | undefined,
      signal: AbortSignal,
    ) => ReturnType<CommandDeps["compact"]>;
    readonly choice: () => ModelChoice;
    readonly choose: (choice: Partial<ModelChoice>) => void;
    readonly fail: (message: string) => void;
    /** Takes what text mode prints. */
    readonly answer: (text: string) => void;
  };

/** What a session does besides asking the model and running its tools. Failure is told to `fail`; nothing is thrown. */
export type SessionWork = {
  command(command: SessionCommand, signal: AbortSignal): Promise<void>;
  /** Sums up a branch that was left, and then keeps what the other goes on with: it does not when the summary fails. */
  sumUp(left: LeftBranch, kept: readonly NewEntry[], signal: AbortSignal): Promise<void>;
};

/** Makes what runs the commands of one session. */
export function createSessionWork(deps: SessionWorkDeps): SessionWork {
  const { store, choice, choose } = deps;

  const commandDeps = (signal: AbortSignal): CommandDeps => ({
    compact: (instructions) => deps.compact(instructions, signal),
    rename: deps.rename,
    label(text) {
      const target = store.branch().findLast(({ type }) => type === "message");
      if (target !== undefined) deps.append({ type: "label", targetId: target.id, label: text });
      return target !== undefined;
    },
    describe: () => describeSession({ store, ledger: deps.ledger, ...choice() }),
    changeModel: async (id) => choose(withLevel(await deps.chooseModel(id), id, choice())),
    changeThinking(thinkingLevel) {
      const { model } = choice();
      if (model.reasoning || thinkingLevel === "off") choose({ thinkingLevel });
      else deps.warn(`${model.id} does not reason: going on without /thinking ${thinkingLevel}`);
    },
    exportTo: (file) => deps.exportTo(file, signal),
  });

  /** Tells what a command has to say, which the model does not see. */
  function say(command: string, output: string): void {
    deps.answer(output);
    deps.append({ type: "custom", customType: "session_command", data: { command, output } });
    tell({
      role: "custom",
      customType: "session_command",
      content: output,
      display: true,
      details: { command },
      timestamp: deps.now(),
    });
  }

  function tell(message: AgentMessage): void {
    deps.emit({ type: "message_start", message });
    deps.emit({ type: "message_end", message });
  }

  return {
    async command(command, signal) {
      const result = await runSessionCommand(command, commandDeps(signal));
      if (!result.ok) deps.fail(result.message);
      else if (result.output !== "") say(command.name, result.output);
    },
    async sumUp(left, kept, signal) {
      const summary = await sumUpBranch(left, { ...deps, model: choice().model }, signal);
      if (summary.kind === "done" || summary.kind === "nothing") for (const entry of kept) deps.append(entry);
      if (summary.kind === "done") tell(summary.message);
      if (summary.kind === "nothing") deps.warn("nothing is left behind, so there is nothing to sum up");
      if (summary.kind === "failed")
        deps.fail(`what is left behind could not be summed up: ${summary.message}`);
    },
  };
}

/** A level that the user chose goes on with the next model, unless that is chosen with its own. */
function withLevel(next: ModelChoice, id: string, { model, thinkingLevel }: ModelChoice): ModelChoice {
  const isExplicit = thinkingLevels.some((level) => id.toLowerCase().endsWith(`:${level}`));
  return isExplicit || !next.model.reasoning || !model.reasoning ? next : { ...next, thinkingLevel };
}
