import { type Command, commands } from "./commands.ts";
import { optionGroups } from "./options.ts";

type Row = readonly [left: string, right: string];

const examples: readonly Row[] = [
  ['base-context "List files"', "one prompt, the answer on stdout"],
  ['base-context --mode json "List files" | jq .type', "every event as one JSON line"],
  ['git diff | base-context "Review this" @CONTRIBUTING.md', "stdin and a file before the message"],
  ['base-context -c "And the tests?"', "the last session goes on"],
  ['base-context -- "--verbose does nothing, why?"', "what follows -- is taken literally"],
];

/** What `--help` prints. */
export function helpText(): string {
  return [
    "Usage: base-context [options] [@file ...] [message ...]",
    "       base-context <command> [arguments]",
    "",
    "A coding agent for the shell. The first prompt is what stdin holds, then the files, then the first",
    "message; each further message is a further prompt. A command is one only as the very first word.",
    "",
    ...section("Commands", commandRows()),
    ...optionGroups.flatMap((group) =>
      section(
        group.title,
        group.options.map((option): Row => [spelling(option), option.help]),
      ),
    ),
    ...section("General", generalRows),
    ...section("Examples", examples),
    "Exit status: 0 done, 1 failed, 2 not started, 3 a gate not passed, 4 stopped by a limit.",
    "",
  ].join("\n");
}

/** What `--help` behind a command prints. */
export function commandHelpText({ usages, options }: Command): string {
  return [
    ...section(
      "Usage",
      usages.map(([form, help]): Row => [`base-context ${form}`, help]),
    ),
    ...section("Options", [
      ...options.map((option): Row => [spelling(option), option.help]),
      ["-h, --help", "Show this help"],
    ]),
  ].join("\n");
}

const generalRows: readonly Row[] = [
  ["-h, --help", "Show this help"],
  ["-v, --version", "Show the version"],
  ["--", "End of options: what follows is taken literally"],
];

function commandRows(): Row[] {
  return [...commands.values()].flatMap(({ usages, options }) =>
    usages.map(([form, help], index): Row => {
      const switches = options.filter(({ value }) => value === undefined && index === 0);
      return [form + switches.map((option) => ` [${spelling(option)}]`).join(""), help];
    }),
  );
}

function spelling(option: { name: string; short?: string; value?: string }): string {
  const names = option.short === undefined ? option.name : `${option.short}, ${option.name}`;
  return option.value === undefined ? names : `${names} ${option.value}`;
}

function section(title: string, rows: readonly Row[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return [`${title}:`, ...rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`), ""];
}
