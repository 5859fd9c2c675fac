import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { errorMessage } from "../../contract/errors.ts";
import { globMatcher } from "./glob.ts";
import {
  type GrepArgs,
  type GrepEnd,
  type GrepSearch,
  maxLineLength,
  type OnGrepLine,
} from "./grep-files.ts";
import { ignoreScope } from "./ignore-rules.ts";
import { walkFiles } from "./walk-files.ts";

/** Larger files are left out: the search has to hold a file in memory. */
const maxFileBytes = 64 * 1024 * 1024;
const sniffedBytes = 8 * 1024;
/** Characters of what is said about a pattern. */
const maxWords = 600;

/** Searches in this process, for platforms that ripgrep does not come for. Throws the signal's reason on abort. */
export async function grepWithoutRipgrep({ args, root, signal, onLine }: GrepSearch): Promise<GrepEnd> {
  const pattern = toRegExp(args);
  if (typeof pattern === "string") return { problem: pattern };
  const isWanted = fileFilter(args.glob, root.folder);
  const files =
    root.file === undefined ? walkFiles(root.folder, ignoreScope(root.folder).rules, signal) : [root.file];
  for await (const path of files) {
    if (root.file === undefined && !isWanted(path)) continue;
    signal.throwIfAborted();
    const lines = await readLines(join(root.folder, path));
    if (lines && !searchLines(lines, { path, pattern, context: args.context ?? 0, onLine })) return {};
  }
  return {};
}

function toRegExp({ pattern, literal, ignoreCase }: GrepArgs): RegExp | string {
  const source = literal ? pattern.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&") : pattern;
  const flags = ignoreCase ? "i" : "";
  try {
    return compiled(source, literal ? flags : `${flags}u`);
  } catch {
    try {
      // Without `u` escapes are read more leniently.
      return compiled(source, flags);
    } catch (error) {
      return `The pattern cannot be searched for (\`literal\` takes it as plain text). ${shortened(errorMessage(error))}`;
    }
  }
}

/** What is too large is refused at the first use. */
function compiled(source: string, flags: string): RegExp {
  const pattern = new RegExp(source, flags);
  pattern.test("");
  return pattern;
}

/** The words hold the whole pattern, and say behind it what is wrong. */
function shortened(words: string): string {
  return words.length <= maxWords ? words : `${words.slice(0, maxWords / 2)} … ${words.slice(-maxWords / 2)}`;
}

function fileFilter(glob: string | undefined, folder: string): (path: string) => boolean {
  if (glob === undefined) return () => true;
  if (!glob.startsWith("!")) return globMatcher(glob, folder);
  const isExcluded = globMatcher(glob.slice(1), folder);
  return (path) => !isExcluded(path);
}

/** Undefined for what is not text or cannot be read. */
async function readLines(path: string): Promise<string[] | undefined> {
  try {
    if ((await stat(path)).size > maxFileBytes) return undefined;
    const bytes = await readFile(path);
    if (bytes.subarray(0, sniffedBytes).includes(0)) return undefined;
    const lines = bytes.toString("utf8").split(/\r?\n/);
    if (lines.at(-1) === "") lines.pop();
    return lines;
  } catch {
    return undefined;
  }
}

type FileSearch = {
  readonly path: string;
  readonly pattern: RegExp;
  readonly context: number;
  readonly onLine: OnGrepLine;
};

/** Answers whether to go on with the next file. */
function searchLines(lines: readonly string[], { path, pattern, context, onLine }: FileSearch): boolean {
  const isMatch = lines.map((line) => pattern.test(line));
  let lastShown = -1;
  for (const [index, text] of lines.entries()) {
    const isNear = isMatch.slice(Math.max(0, index - context), index + context + 1).includes(true);
    if (!isNear) continue;
    if (context > 0 && index > lastShown + 1) onLine({ kind: "gap" });
    lastShown = index;
    const kind = isMatch[index] ? "match" : "context";
    if (!onLine({ kind, path, line: index + 1, text: cutLine(text) })) return false;
  }
  return true;
}

function cutLine(text: string): string {
  if (text.length <= maxLineLength) return text;
  return `${text.slice(0, maxLineLength).toWellFormed()} [... omitted end of long line]`;
}
