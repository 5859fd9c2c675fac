import { join } from "node:path";
import { splitFrontMatter } from "./front-matter.ts";
import { readTextFile, showPath } from "./text-file.ts";

export type TemplateOptions = {
  /** Folders with a `prompts` folder in them; the later one counts. */
  readonly folders: readonly string[];
  /** Takes one line about a template that cannot be used. */
  readonly warn: (line: string) => void;
};

const maxFileBytes = 64 * 1024;

/**
 * The prompt that `prompts/<name>.md` makes of the arguments; undefined when there is no such template. The name is
 * one file's, not a path.
 */
export function expandTemplate(
  name: string,
  args: string,
  { folders, warn }: TemplateOptions,
): string | undefined {
  for (const folder of folders.toReversed()) {
    const path = join(folder, "prompts", `${name}.md`);
    const file = readTextFile(path, { maxBytes: maxFileBytes, warn });
    if (file === undefined) continue;
    if (file.isCut)
      warn(`${showPath(path)} is cut: of its ${file.sizeBytes} bytes the model gets ${maxFileBytes}`);
    const text = fillTemplate(splitFrontMatter(file.text).body, args).trim();
    if (text !== "") return text;
    warn(`${showPath(path)} is left out: it makes an empty prompt`);
  }
  return undefined;
}

/**
 * Puts the arguments into a template: `$1` to `$9` are single words, `$@` and `$ARGUMENTS` all of them. What a template
 * has no place for is not lost: without any place the arguments follow the text.
 */
export function fillTemplate(template: string, args: string): string {
  const { words, text } = splitArguments(args);
  let places = 0;
  const filled = template.replace(/\$(?:([1-9])(?!\d)|@|ARGUMENTS\b)/g, (_, position?: string) => {
    places++;
    return position === undefined ? text : (words[Number(position) - 1] ?? "");
  });
  return places > 0 || text === "" ? filled : `${filled.trimEnd()}\n\n${text}`;
}

/** The arguments of a command. */
export type Arguments = {
  readonly words: readonly string[];
  /** All of them: the words, with the white space that is between them. */
  readonly text: string;
};

/** White space, a word in single quotes, a part in double quotes, or what is neither. */
const pieces = /(?<space>\s+)|(?<=^|\s)'(?<single>[^']*)'(?=\s|$)|"(?<double>(?:[^"\\]|\\.)*)"|[^\s"']+|./gs;

/**
 * Splits at white space as a shell does: double quotes keep it, also inside a word (`\"` is a quote), and so do single
 * quotes around a word. A quote without its other half is a character like any other, as is the one in `don't`.
 */
export function splitArguments(args: string): Arguments {
  const words: string[] = [];
  let word: string | undefined;
  let text = "";
  for (const { 0: raw, groups } of args.trim().matchAll(pieces)) {
    const { space, single, double } = groups ?? {};
    const said = single ?? double?.replace(/\\(["\\])/g, "$1") ?? raw;
    text += said;
    if (space === undefined) word = (word ?? "") + said;
    else if (word !== undefined) {
      words.push(word);
      word = undefined;
    }
  }
  return { words: word === undefined ? words : [...words, word], text };
}
