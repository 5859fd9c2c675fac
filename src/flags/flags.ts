import { StartupError } from "../contract/errors.ts";
import { nearest } from "../contract/spelling.ts";
import { type Command, type CommandInvocation, commands } from "./commands.ts";
import { commandHelpText, helpText } from "./help.ts";
import { checkTogether } from "./option-rules.ts";
import { defaultFlags, type Flags, optionGroups } from "./options.ts";

/** A prompt from the command line. */
export type MessageArgument = {
  readonly text: string;
  /** It stood behind `--`: a leading `/` is no command of the session. */
  readonly literal: boolean;
};

/** What a command line asks for. */
export type Invocation =
  | {
      readonly kind: "run";
      readonly flags: Readonly<Flags>;
      readonly messages: readonly MessageArgument[];
      /** The paths of `@file` arguments, without the `@`. */
      readonly files: readonly string[];
    }
  | { readonly kind: "help"; readonly text: string }
  | { readonly kind: "version" }
  | ({ readonly kind: "command" } & CommandInvocation);

/**
 * Reads a command line (without the program's own name and path). A value given twice counts as given last. Throws a
 * StartupError for what it does not understand.
 *
 * The rules for dashes, blanks and `@` are the program's own, and start-up time counts, so that the words are walked
 * here, over the tables of options and commands.
 */
export function parseArguments(argv: readonly string[]): Invocation {
  const [first, ...rest] = argv;
  const command = first === undefined ? undefined : commands.get(first);
  if (first !== undefined && command !== undefined) return parseCommand(first, command, rest);
  return parseRun(argv);
}

type OptionShape = { readonly name: string; readonly short?: string; readonly value?: string };
type Word =
  | { readonly kind: "option"; readonly option: OptionShape; readonly value: string }
  | { readonly kind: "text"; readonly text: string; readonly literal: boolean };

const generalOptions: readonly OptionShape[] = [
  { name: "--help", short: "-h" },
  { name: "--version", short: "-v" },
];
const stdinOption: OptionShape = { name: "--stdin" };
const runOptions = new Map(
  optionGroups.flatMap(({ options }) => options.map((option) => [option.name as string, option] as const)),
);

function parseRun(argv: readonly string[]): Invocation {
  const flags = defaultFlags();
  const given = new Set<string>();
  const messages: MessageArgument[] = [];
  const files: string[] = [];
  for (const word of words(argv, [...runOptions.values(), ...generalOptions])) {
    if (word.kind === "text") {
      if (word.literal || !word.text.startsWith("@"))
        messages.push({ text: word.text, literal: word.literal });
      else files.push(filePath(word.text));
      continue;
    }
    const { name } = word.option;
    if (name === "--help") return { kind: "help", text: helpText() };
    if (name === "--version") return { kind: "version" };
    given.add(name);
    runOptions.get(name)?.set(flags, word.value);
  }
  checkTogether(flags, given);
  return { kind: "run", flags, messages, files };
}

function parseCommand(name: string, command: Command, argv: readonly string[]): Invocation {
  const positionals: string[] = [];
  let literals = 0;
  const options = new Map<string, string>();
  for (const word of words(argv, [...command.options, { name: "--help", short: "-h" }])) {
    if (word.kind === "text") {
      positionals.push(word.text);
      if (word.literal) literals++;
    } else if (word.option.name === "--help") return { kind: "help", text: commandHelpText(command) };
    else options.set(word.option.name, word.value);
  }
  if (positionals.length < command.minArguments || positionals.length > command.maxArguments) {
    const forms = command.usages.map(([form]) => `base-context ${form}`).join(", ");
    throw new StartupError(
      `${name} takes ${argumentCount(command)}, not ${positionals.length}: ${forms} (a prompt that starts with ${name} goes after --)`,
    );
  }
  return { kind: "command", ...command.toInvocation({ positionals, literals, options }) };
}

function argumentCount({ minArguments, maxArguments }: Command): string {
  if (maxArguments === 0) return "no arguments";
  const count = minArguments === maxArguments ? `${maxArguments}` : `${minArguments} to ${maxArguments}`;
  return `${count} argument${maxArguments === 1 ? "" : "s"}`;
}

/** Tells options, their values and all other words apart. */
function* words(argv: readonly string[], options: readonly OptionShape[]): Generator<Word> {
  const bySpelling = new Map<string, OptionShape>();
  for (const option of options) {
    bySpelling.set(option.name, option);
    if (option.short !== undefined) bySpelling.set(option.short, option);
  }
  for (let index = 0; index < argv.length; index++) {
    const token = argv[index] ?? "";
    if (token === "--") {
      for (const text of argv.slice(index + 1)) yield { kind: "text", text, literal: true };
      return;
    }
    const equals = token.indexOf("=");
    const spelling = equals > 0 ? token.slice(0, equals) : token;
    const option = token === "-" && bySpelling.has("--stdin") ? stdinOption : bySpelling.get(spelling);
    if (option === undefined && isText(token)) {
      yield { kind: "text", text: token, literal: false };
    } else if (option === undefined) {
      yield* switchCluster(token, bySpelling);
    } else if (option.value === undefined) {
      if (equals > 0) throw new StartupError(`${spelling} takes no value: write ${spelling} alone`);
      yield { kind: "option", option, value: "" };
    } else {
      const value = equals > 0 ? token.slice(equals + 1) : nextValue(spelling, argv[++index], bySpelling);
      if (value.trim() === "") throw new StartupError(`${spelling} needs a value that is not blank`);
      yield { kind: "option", option, value };
    }
  }
}

/** A word that is not an option: without a dash in front, or (a Markdown list, a front matter) with white space in it. */
function isText(token: string): boolean {
  return !token.startsWith("-") || token === "-" || /\s/.test(token);
}

/** Short switches in one word, such as `-pc`. */
function* switchCluster(token: string, bySpelling: ReadonlyMap<string, OptionShape>): Generator<Word> {
  const letters = /^-[a-z]{2,}$/i.test(token) ? [...token.slice(1)] : [];
  const switches = letters.map((letter) => bySpelling.get(`-${letter}`));
  if (
    switches.length === 0 ||
    switches.some((option) => option === undefined || option.value !== undefined)
  ) {
    throw unknownOption(token, bySpelling.keys());
  }
  for (const option of switches) if (option) yield { kind: "option", option, value: "" };
}

function unknownOption(token: string, spellings: Iterable<string>): StartupError {
  const spelling = token.replace(/=.*/s, "");
  const [near] = nearest(
    spelling,
    [...spellings].filter((candidate) => candidate.startsWith("--")),
    1,
  );
  return new StartupError(
    `unknown option ${spelling}: did you mean ${near}? (a message that starts with a dash goes after --)`,
  );
}

/** The value behind an option; one that is spelt like a known option means that the value was forgotten. */
function nextValue(
  spelling: string,
  value: string | undefined,
  known: ReadonlyMap<string, OptionShape>,
): string {
  if (value === undefined) throw new StartupError(`${spelling} needs a value`);
  const start = value.replace(/=.*/s, "");
  if (start !== "--" && !known.has(start)) return value;
  throw new StartupError(`${spelling} needs a value, but ${start} follows: write ${spelling}=VALUE`);
}

function filePath(token: string): string {
  const path = token.slice(1);
  if (path.trim() === "") throw new StartupError(`@ needs a file name (to send it as text: -- ${token})`);
  return path;
}
