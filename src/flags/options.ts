import { type ThinkingLevel, thinkingLevels } from "../contract/provider.ts";
import { type AutonomousFlags, autonomousGroup } from "./autonomous.ts";
import { commaList, milliseconds, oneOf, variableName } from "./values.ts";

/** What the options of a run say, checked as far as argv alone allows. */
export type Flags = AutonomousFlags & {
  mode: (typeof modes)[number];
  jsonDeltas: boolean;
  provider?: string;
  /** As typed: an id, `provider/id`, either with `:level`. */
  model?: string;
  thinking?: ThinkingLevel;
  apiKey?: string;
  /** The only tools that the model gets; absent: all. */
  tools?: readonly string[];
  noTools: boolean;
  systemPrompt?: string;
  appendSystemPrompt?: string;
  noContextFiles: boolean;
  cwd?: string;
  sessionDir?: string;
  noSession: boolean;
  /** The run goes on when the process that started it has ended. */
  resident: boolean;
  continue: boolean;
  /** An id, a unique prefix of one, or a path; so is `fork`. */
  resume?: string;
  fork?: string;
  /** The entry to go on from: an id, a unique prefix of one, or a label. */
  branch?: string;
  branchSummary: boolean;
  repair: boolean;
  name?: string;
  record?: string;
  replay?: string;
  outputLastMessage?: string;
  offline: boolean;
  verbose: boolean;
  /** Whether stdin is read: when something arrives in time, to its end in any case, or not at all. */
  stdin: "auto" | "always" | "never";
  stdinTimeoutMs: number;
  /** Environment variables that tools get although they are credentials. */
  passEnv: readonly string[];
};

/** One option of a run: how it is spelt, what the help says, and what it does to the flags. */
export type RunOption = {
  readonly name: `--${string}`;
  readonly short?: `-${string}`;
  /** The value's name in the help; an option without one is a switch. */
  readonly value?: string;
  readonly help: string;
  /** `value` is not blank; for a switch it is "". Throws a StartupError for a value that is not allowed. */
  set(flags: Flags, value: string): void;
};

/** The options under one heading of the help. */
export type OptionGroup = { readonly title: string; readonly options: readonly RunOption[] };

const modes = ["text", "json", "rpc", "acp"] as const;

/** The flags of a command line without options. */
export function defaultFlags(): Flags {
  return {
    mode: "text",
    jsonDeltas: false,
    noTools: false,
    noContextFiles: false,
    noSession: false,
    resident: false,
    continue: false,
    branchSummary: false,
    repair: false,
    offline: false,
    verbose: false,
    stdin: "auto",
    stdinTimeoutMs: 3000,
    passEnv: [],
    autonomous: { enabled: false, gate: [] },
  };
}

/** Every option of a run. A new one is one row here, one field in Flags, and its consumer. */
export const optionGroups: readonly OptionGroup[] = [
  {
    title: "Output",
    options: [
      {
        name: "--mode",
        value: "<text|json|rpc|acp>",
        help: "The answer (default), all events, or a protocol for other programs",
        set: (flags, value) => {
          flags.mode = oneOf("--mode", modes, value);
        },
      },
      { name: "--print", short: "-p", help: "The same as --mode text, the default", set: () => {} },
      {
        name: "--json-deltas",
        help: "With --mode json: leave the repeated message out of updates",
        set: on("jsonDeltas"),
      },
      {
        name: "--output-last-message",
        value: "<file>",
        help: "Also write the final answer to a file",
        set: text("outputLastMessage"),
      },
      { name: "--verbose", help: "Say more on stderr", set: on("verbose") },
    ],
  },
  {
    title: "Model",
    options: [
      { name: "--provider", value: "<name>", help: "The provider to ask", set: word("provider") },
      {
        name: "--model",
        value: "<model>",
        help: "id or provider/id, either with :level for thinking",
        set: word("model"),
      },
      {
        name: "--thinking",
        value: "<level>",
        help: thinkingLevels.join(", "),
        set: (flags, value) => {
          flags.thinking = oneOf("--thinking", thinkingLevels, value);
        },
      },
      {
        name: "--api-key",
        value: "<key>",
        help: "The provider's key, before models.json and the environment",
        set: word("apiKey"),
      },
      { name: "--offline", help: "Make no requests but those to the chosen model", set: on("offline") },
      {
        name: "--record",
        value: "<file>",
        help: "Keep the provider's replies in a file",
        set: text("record"),
      },
      {
        name: "--replay",
        value: "<file>",
        help: "Take the provider's replies from a file; needs no network and no key",
        set: text("replay"),
      },
    ],
  },
  {
    title: "Prompt and tools",
    options: [
      {
        name: "--system-prompt",
        value: "<text>",
        help: "Instead of the built-in system prompt",
        set: text("systemPrompt"),
      },
      {
        name: "--append-system-prompt",
        value: "<text>",
        help: "After the system prompt",
        set: text("appendSystemPrompt"),
      },
      {
        name: "--no-context-files",
        help: "Leave AGENTS.md files out of the system prompt",
        set: on("noContextFiles"),
      },
      {
        name: "--tools",
        value: "<a,b>",
        help: "Only these tools",
        set: (flags, value) => {
          flags.tools = commaList("--tools", value);
        },
      },
      { name: "--no-tools", help: "No tools at all", set: on("noTools") },
      {
        name: "--pass-env",
        value: "<NAME>",
        help: "Let tools see this variable, a credential or not (repeatable)",
        set: (flags, value) => {
          flags.passEnv = [...flags.passEnv, variableName("--pass-env", value)];
        },
      },
      {
        name: "--cwd",
        value: "<dir>",
        help: "Where the tools run, instead of the current directory",
        set: text("cwd"),
      },
    ],
  },
  {
    title: "Session",
    options: [
      {
        name: "--continue",
        short: "-c",
        help: "Go on with the last session of this directory",
        set: on("continue"),
      },
      {
        name: "--resume",
        short: "-r",
        value: "<id|path>",
        help: "Go on with a session",
        set: word("resume"),
      },
      {
        name: "--fork",
        value: "<id|path>",
        help: "Start a new session with the history of another",
        set: word("fork"),
      },
      {
        name: "--branch",
        value: "<entry>",
        help: "Go on from an earlier entry of that session",
        set: word("branch"),
      },
      {
        name: "--branch-summary",
        help: "With --branch: have what is left behind summed up",
        set: on("branchSummary"),
      },
      {
        name: "--repair",
        help: "Move damaged lines out of the session's file",
        set: on("repair"),
      },
      { name: "--name", value: "<text>", help: "A name for the session", set: word("name") },
      { name: "--session-dir", value: "<dir>", help: "Where sessions are kept", set: text("sessionDir") },
      { name: "--no-session", help: "Keep nothing on disk", set: on("noSession") },
      {
        name: "--resident",
        help: "Print the session header and return; the run goes on by itself",
        set: on("resident"),
      },
    ],
  },
  autonomousGroup,
  {
    title: "Standard input",
    options: [
      {
        name: "--stdin",
        help: "Wait for stdin as long as it takes; so does a lone -",
        set: (flags) => {
          flags.stdin = "always";
        },
      },
      {
        name: "--no-stdin",
        help: "Never read stdin",
        set: (flags) => {
          flags.stdin = "never";
        },
      },
      {
        name: "--stdin-timeout",
        value: "<ms>",
        help: "How long a pipe may stay silent when there is a message (3000)",
        set: (flags, value) => {
          flags.stdinTimeoutMs = milliseconds("--stdin-timeout", value);
        },
      },
    ],
  },
];

type KeysOf<Value> = { [Key in keyof Flags]-?: Value extends Flags[Key] ? Key : never }[keyof Flags];

function on(key: KeysOf<boolean>): RunOption["set"] {
  return (flags) => {
    flags[key] = true;
  };
}

function text(key: KeysOf<string>): RunOption["set"] {
  return (flags, value) => {
    flags[key] = value;
  };
}

/** A value in which blanks at the ends mean nothing. */
function word(key: KeysOf<string>): RunOption["set"] {
  return (flags, value) => {
    flags[key] = value.trim();
  };
}
