import { StartupError } from "../contract/errors.ts";
import type { Command, CommandArguments } from "./commands.ts";
import { sessionDirOption } from "./session-commands.ts";
import { oneOf } from "./values.ts";

/** What a command about runs was told. */
export type LifecycleInvocation =
  | { readonly name: "list"; readonly all: boolean; readonly json: boolean; readonly sessionDir?: string }
  | ({ readonly id: string } & (
      | {
          readonly name: "attach";
          readonly fromNow: boolean;
          /** Absent: what suits stdout. */
          readonly mode?: AttachMode;
          readonly deltas: boolean;
        }
      | {
          readonly name: "send";
          readonly message: string;
          readonly literal: boolean;
          readonly when: "steer" | "follow_up";
        }
      | { readonly name: "stop"; readonly force: boolean }
      | { readonly name: "wait" }
      | { readonly name: "status"; readonly json: boolean; readonly sessionDir?: string }
    ));

const attachModes = ["text", "json"] as const;
export type AttachMode = (typeof attachModes)[number];

const oneRun = { minArguments: 1, maxArguments: 1 } as const;

/** The commands about runs, by name. */
export const lifecycleCommands: readonly (readonly [name: string, command: Command])[] = [
  [
    "list",
    {
      usages: [["list", "List the runs that go on"]],
      options: [
        { name: "--all", help: "Also the runs that have ended, and saved sessions" },
        { name: "--json", help: "As a JSON array" },
        sessionDirOption,
      ],
      minArguments: 0,
      maxArguments: 0,
      toInvocation: ({ options }) => ({
        name: "list",
        all: options.has("--all"),
        json: options.has("--json"),
        ...sessionDir(options),
      }),
    },
  ],
  [
    "attach",
    {
      usages: [["attach <id>", "Show a run's events until it ends, by id or name"]],
      options: [
        { name: "--from-now", help: "Leave out what a resident run has told before" },
        {
          name: "--mode",
          value: `<${attachModes.join("|")}>`,
          help: "The answer or all events; by default what suits stdout",
        },
        { name: "--json-deltas", help: "Events without the repeated message" },
      ],
      ...oneRun,
      toInvocation: toAttach,
    },
  ],
  [
    "send",
    {
      usages: [["send <id> <message>", "Say something to a run"]],
      options: [
        { name: "--steer", help: "Before the run's next request" },
        { name: "--follow-up", help: "When the run would stop (default)" },
      ],
      minArguments: 2,
      maxArguments: 2,
      toInvocation: toSend,
    },
  ],
  [
    "stop",
    {
      usages: [["stop <id>", "End a run, and wait until it has ended"]],
      options: [{ name: "--force", help: "Kill it and what it started" }],
      ...oneRun,
      toInvocation: ({ positionals: [id = ""], options }) => ({
        name: "stop",
        id,
        force: options.has("--force"),
      }),
    },
  ],
  [
    "wait",
    {
      usages: [["wait <id>", "Wait until a run has ended; exit with its status"]],
      options: [],
      ...oneRun,
      toInvocation: ({ positionals: [id = ""] }) => ({ name: "wait", id }),
    },
  ],
  [
    "status",
    {
      usages: [["status <id>", "Tell what a run does, or how it ended"]],
      options: [{ name: "--json", help: "As a JSON object" }, sessionDirOption],
      ...oneRun,
      toInvocation: ({ positionals: [id = ""], options }) => ({
        name: "status",
        id,
        json: options.has("--json"),
        ...sessionDir(options),
      }),
    },
  ],
];

function toAttach({ positionals: [id = ""], options }: CommandArguments): LifecycleInvocation {
  const given = options.get("--mode");
  const deltas = options.has("--json-deltas");
  const mode = given === undefined ? (deltas ? "json" : undefined) : oneOf("--mode", attachModes, given);
  if (deltas && mode !== "json") throw new StartupError("--json-deltas needs --mode json");
  return {
    name: "attach",
    id,
    fromNow: options.has("--from-now"),
    deltas,
    ...(mode === undefined ? {} : { mode }),
  };
}

function toSend({ positionals, literals, options }: CommandArguments): LifecycleInvocation {
  if (options.has("--steer") && options.has("--follow-up"))
    throw new StartupError("--steer and --follow-up exclude each other: give only one of them");
  const [id = "", message = ""] = positionals;
  return {
    name: "send",
    id,
    message,
    literal: literals > 0,
    when: options.has("--steer") ? "steer" : "follow_up",
  };
}

function sessionDir(options: CommandArguments["options"]): { sessionDir?: string } {
  const folder = options.get(sessionDirOption.name);
  return folder === undefined ? {} : { sessionDir: folder };
}
