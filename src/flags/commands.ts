import { StartupError } from "../contract/errors.ts";
import { type LifecycleInvocation, lifecycleCommands } from "./lifecycle-commands.ts";
import { type SessionCommandInvocation, sessionCommands } from "./session-commands.ts";

/** What a command was told, its arguments checked. */
export type CommandInvocation =
  | { readonly name: "models"; readonly action: "list"; readonly search?: string; readonly json: boolean }
  | { readonly name: "models"; readonly action: "refresh" }
  | { readonly name: "doctor"; readonly json: boolean }
  | { readonly name: "schema"; readonly deltas: boolean }
  | LifecycleInvocation
  | SessionCommandInvocation;

/** An option of a command: a switch, or one with a value. */
export type CommandOption = {
  readonly name: `--${string}`;
  /** The value's name in the help; an option without one is a switch. */
  readonly value?: string;
  readonly help: string;
};

/** The words behind a command, sorted. */
export type CommandArguments = {
  readonly positionals: readonly string[];
  /** How many of them, the last ones, came after `--`. */
  readonly literals: number;
  /** By option name; a switch has "". */
  readonly options: ReadonlyMap<string, string>;
};

/** One command: what the help says of it and how its arguments are read. */
export type Command = {
  /** The forms in which it is called, without the program's name, each with what it does. */
  readonly usages: readonly (readonly [form: string, help: string])[];
  readonly options: readonly CommandOption[];
  readonly minArguments: number;
  readonly maxArguments: number;
  toInvocation(args: CommandArguments): CommandInvocation;
};

/** The commands by name. A new one is one entry here and one member of CommandInvocation. */
export const commands: ReadonlyMap<string, Command> = new Map<string, Command>([
  ...lifecycleCommands,
  ...sessionCommands,
  [
    "models",
    {
      usages: [
        ["models [search]", "List the models that can be asked"],
        ["models refresh", "Fetch the public model catalog into the home folder"],
      ],
      options: [{ name: "--json", help: "As a JSON array" }],
      minArguments: 0,
      maxArguments: 1,
      toInvocation: toModelsInvocation,
    },
  ],
  [
    "doctor",
    {
      usages: [["doctor", "Check what runs need here; asks no provider"]],
      options: [{ name: "--json", help: "As a JSON array" }],
      minArguments: 0,
      maxArguments: 0,
      toInvocation: ({ options }) => ({ name: "doctor", json: options.has("--json") }),
    },
  ],
  [
    "schema",
    {
      usages: [["schema", "Print the JSON Schema of the event stream"]],
      options: [{ name: "--deltas", help: "Of the stream that --json-deltas gives" }],
      minArguments: 0,
      maxArguments: 0,
      toInvocation: ({ options }) => ({ name: "schema", deltas: options.has("--deltas") }),
    },
  ],
]);

function toModelsInvocation({ positionals: [search], options }: CommandArguments): CommandInvocation {
  const json = options.has("--json");
  if (search !== "refresh") {
    return { name: "models", action: "list", json, ...(search === undefined ? {} : { search }) };
  }
  if (json) throw new StartupError("models refresh takes no --json");
  return { name: "models", action: "refresh" };
}
