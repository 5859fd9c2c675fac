import { type ThinkingLevel, thinkingLevels } from "../contract/provider.ts";
import { nearest } from "../contract/spelling.ts";
import type { CompactionOutcome } from "./compaction/compaction.ts";

/** A prompt that is a command to the session, not to the model: `/name args`. */
export type SessionCommand = { readonly name: string; readonly args: string };

/** What commands do to the session. */
export type CommandDeps = {
  readonly compact: (instructions: string | undefined) => Promise<CompactionOutcome>;
  readonly rename: (name: string) => void;
  /** Labels the latest message, for `--branch`. False when there is none. */
  readonly label: (text: string) => boolean;
  /** Facts about the session for a person. */
  readonly describe: () => string;
  /** Throws with words that a person can act on. */
  readonly changeModel: (id: string) => Promise<void>;
  readonly changeThinking: (level: ThinkingLevel) => void;
  /** Writes the session to a file and gives its path. Throws with words. */
  readonly exportTo: (file: string | undefined) => Promise<string>;
};

/** How a command ended: what it has to say to a person, or why it failed. */
export type CommandResult =
  | { readonly ok: true; readonly output: string }
  | { readonly ok: false; readonly message: string };

type Run = (args: string, deps: CommandDeps) => Promise<CommandResult>;

const done: CommandResult = { ok: true, output: "" };

const commands: Readonly<Record<string, Run>> = {
  compact: async (args, { compact }) => {
    const outcome = await compact(args === "" ? undefined : args);
    switch (outcome.kind) {
      case "done":
        return done;
      case "nothing":
        return fail("/compact: there is nothing to compact yet");
      case "aborted":
        return fail("/compact was aborted");
      case "failed":
        return fail(`/compact failed: ${outcome.message}`);
    }
  },
  name: async (args, { rename }) => {
    if (args === "") return fail("/name needs a name, for instance /name fix the login");
    rename(args);
    return done;
  },
  label: async (args, { label }) => {
    if (args === "") return fail("/label needs a text, for instance /label before the rewrite");
    return label(args) ? done : fail("/label: there is no message to label yet");
  },
  session: async (_, { describe }) => ({ ok: true, output: describe() }),
  model: async (args, { changeModel }) => {
    if (args === "") return fail("/model needs a model, for instance /model anthropic/claude-sonnet-4-5");
    await changeModel(args);
    return done;
  },
  thinking: async (args, { changeThinking }) => {
    const level = thinkingLevels.find((known) => known === args.toLowerCase());
    if (level === undefined) return fail(`/thinking takes one of ${thinkingLevels.join(", ")}`);
    changeThinking(level);
    return done;
  },
  export: async (args, { exportTo }) => ({
    ok: true,
    output: await exportTo(args === "" ? undefined : args),
  }),
};

/** The names of the session commands. */
export const sessionCommandNames: readonly string[] = Object.keys(commands);

/** Runs a session command. Failure is a value; what a dependency throws becomes one. */
export async function runSessionCommand(
  { name, args }: SessionCommand,
  deps: CommandDeps,
): Promise<CommandResult> {
  const run = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (run === undefined) return fail(unknown(name));
  try {
    return await run(args, deps);
  } catch (error) {
    return fail(`/${name} failed: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function unknown(name: string): string {
  const [near] = nearest(name, sessionCommandNames, 1);
  return (
    `there is no command /${name}: did you mean /${near}? The commands are /${sessionCommandNames.join(", /")}; ` +
    "a message that starts with a slash and is no command goes after --, or has a space in front"
  );
}

function fail(message: string): CommandResult {
  return { ok: false, message };
}
