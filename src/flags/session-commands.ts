import { type ExportFormatName, exportFormatNames, formatOfFile } from "../commands/export-formats.ts";
import { StartupError } from "../contract/errors.ts";
import type { Command, CommandArguments, CommandOption } from "./commands.ts";
import { oneOf } from "./values.ts";

/** What a command about one saved session was told. */
export type SessionCommandInvocation = {
  /** An id, the unique beginning of one, or a name. */
  readonly id: string;
  /** Where sessions are kept, as typed. */
  readonly sessionDir?: string;
} & (
  | { readonly name: "show"; readonly json: boolean }
  | {
      readonly name: "export";
      readonly format: ExportFormatName;
      /** As typed; absent: stdout. */
      readonly output?: string;
    }
  | { readonly name: "rm" }
);

/** The option that says where sessions are kept, for commands. */
export const sessionDirOption: CommandOption = {
  name: "--session-dir",
  value: "<dir>",
  help: "Where sessions are kept",
};

/** The commands about one saved session, by name. */
export const sessionCommands: readonly (readonly [name: string, command: Command])[] = [
  [
    "show",
    {
      usages: [["show <id>", "Print a saved session, by its id or name"]],
      options: [{ name: "--json", help: "As one JSON object" }, sessionDirOption],
      minArguments: 1,
      maxArguments: 1,
      toInvocation: (args) => ({ name: "show", json: args.options.has("--json"), ...session(args) }),
    },
  ],
  [
    "export",
    {
      usages: [["export <id>", "Write a saved session in another format"]],
      options: [
        {
          name: "--format",
          value: `<${exportFormatNames.join("|")}>`,
          help: "By default what the file's ending says, or jsonl",
        },
        { name: "--output", value: "<file>", help: "Instead of stdout" },
        sessionDirOption,
      ],
      minArguments: 1,
      maxArguments: 1,
      toInvocation: toExport,
    },
  ],
  [
    "rm",
    {
      usages: [["rm <id>", "Remove a saved session; asks nothing"]],
      options: [sessionDirOption],
      minArguments: 1,
      maxArguments: 1,
      toInvocation: (args) => ({ name: "rm", ...session(args) }),
    },
  ],
];

function toExport(args: CommandArguments): SessionCommandInvocation {
  const format = args.options.get("--format");
  const chosen = args.options.get("--output");
  const output = chosen === "-" ? undefined : chosen;
  return {
    name: "export",
    format:
      format === undefined
        ? ((output === undefined ? undefined : formatOfFile(output)) ?? exportFormatNames[0])
        : oneOf("--format", exportFormatNames, format),
    ...(output === undefined ? {} : { output }),
    ...session(args),
  };
}

function session({ positionals: [id = ""], options }: CommandArguments): { id: string; sessionDir?: string } {
  if (id.trim() === "")
    throw new StartupError("a session's id or name cannot be blank: list --all shows those that there are");
  const sessionDir = options.get("--session-dir");
  return { id: id.trim(), ...(sessionDir === undefined ? {} : { sessionDir }) };
}
