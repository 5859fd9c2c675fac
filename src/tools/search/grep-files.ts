import { join } from "node:path";
import type { ToolContext, ToolResult } from "../../contract/tool.ts";
import { errorResult, textResult } from "../define-tool.ts";
import type { SearchOptions } from "../grep.ts";
import { toAnchored } from "./anchored-glob.ts";
import { ignoreScope } from "./ignore-rules.ts";
import { createListing } from "./listing.ts";
import { findRipgrep, ripgrepArgs, runRipgrep } from "./ripgrep.ts";
import { findSearchRoot, type SearchRoot } from "./search-root.ts";

export type GrepArgs = {
  readonly pattern: string;
  readonly path?: string;
  readonly glob?: string;
  readonly ignoreCase?: boolean;
  readonly literal?: boolean;
  readonly context?: number;
  readonly limit?: number;
};

/** A line that a search found; paths are relative to the searched folder. */
export type GrepLine =
  | {
      readonly kind: "match" | "context";
      readonly path: string;
      readonly line: number;
      readonly text: string;
    }
  /** The file matches, but it is not text. */
  | { readonly kind: "binary"; readonly path: string }
  /** Lines were left out between the last line and the next. */
  | { readonly kind: "gap" };

/** Takes a line; answers whether to go on. */
export type OnGrepLine = (line: GrepLine) => boolean;

export type GrepSearch = {
  readonly args: GrepArgs;
  readonly root: SearchRoot;
  readonly signal: AbortSignal;
  readonly onLine: OnGrepLine;
};

/** How a search ended: with all that there is, because of the caller, or with a reason why not. */
export type GrepEnd = { readonly problem?: string };

const defaultLimit = 100;
/** Of a line that matches; longer ones are cut. */
export const maxLineLength = 500;

/** Runs a call of grep. Throws the signal's reason on abort. */
export async function grepForModel(
  args: GrepArgs,
  { cwd, signal }: ToolContext,
  options: SearchOptions,
): Promise<ToolResult> {
  const found = await findSearchRoot(cwd, args.path ?? ".");
  if (!found.ok) return errorResult(found.problem);
  const { root } = found;
  const limit = args.limit ?? defaultLimit;
  const listing = createListing({ toolName: "grep", ...options });
  let matches = 0;
  let hasMore = false;
  let isAfterGap = false;

  function onLine(line: GrepLine): boolean {
    if (line.kind === "gap") {
      isAfterGap = true;
      return true;
    }
    if (line.kind === "match" && matches === limit) {
      hasMore = true;
      return false;
    }
    if (line.kind === "match") matches += 1;
    if (isAfterGap && !listing.isEmpty()) listing.add("--");
    isAfterGap = false;
    listing.add(format(line, root));
    return true;
  }

  const search = { args, root, signal, onLine };
  const end =
    (await grepWithRipgrep(search, options)) ??
    (await (await import("./grep-plain.ts")).grepWithoutRipgrep(search));
  const output = listing.finish();
  if (listing.isEmpty()) {
    return end.problem === undefined
      ? textResult(withNotes("No matches", [root.note]))
      : errorResult(end.problem);
  }
  const more = `[The first ${limit} matching lines; there are more. Narrow the search or raise \`limit\`.]`;
  const problem = end.problem && `[The search is not complete: ${end.problem}]`;
  const text = withNotes(output.text, [hasMore ? more : undefined, problem, root.note]);
  return textResult(text, { matches, ...(hasMore ? { truncated: true } : {}), ...output.details });
}

/** Adds remarks below the output of a search. */
export function withNotes(text: string, notes: readonly (string | undefined)[]): string {
  return [text, ...notes.filter((note) => note !== undefined)].join("\n\n");
}

function format(line: Exclude<GrepLine, { kind: "gap" }>, { show }: SearchRoot): string {
  switch (line.kind) {
    case "binary":
      return `${show(line.path)}: the binary file matches`;
    case "match":
      return `${show(line.path)}:${line.line}: ${line.text}`;
    case "context":
      return `${show(line.path)}-${line.line}- ${line.text}`;
  }
}

/** Undefined when there is no ripgrep here. */
async function grepWithRipgrep(search: GrepSearch, options: SearchOptions): Promise<GrepEnd | undefined> {
  const { args, root, signal } = search;
  const scope = ignoreScope(root.folder);
  // A glob overrules ripgrep's ignore rules, where it should only narrow the search.
  const isIgnored = (path: string): boolean =>
    args.glob !== undefined && root.file === undefined && scope.rules.ignores(join(root.folder, path), false);
  const toLine = createLineParser();
  const end = await runRipgrep({
    program: await (options.findRipgrep ?? findRipgrep)(),
    args: [
      ...ripgrepArgs,
      ...(scope.usesParents ? [] : ["--no-require-git", "--no-ignore-parent"]),
      "--no-heading",
      "--line-number",
      "--with-filename",
      "--null",
      `--max-columns=${maxLineLength}`,
      "--max-columns-preview",
      "--engine=auto",
      args.ignoreCase ? "--ignore-case" : "--case-sensitive",
      ...(args.literal ? ["--fixed-strings"] : []),
      ...(seesLineEnds(args) ? [] : ["--crlf"]),
      ...(/\n|\\n/.test(args.pattern) ? ["--multiline"] : []),
      `--context=${args.context ?? 0}`,
      ...(args.glob === undefined ? [] : [`--glob=${ripgrepGlob(args.glob, root.folder)}`]),
      "--glob=!.git",
      `--regexp=${args.pattern}`,
      "--",
      `./${root.file ?? ""}`,
    ],
    cwd: root.folder,
    env: options.env,
    signal,
    separator: "\n",
    onRecord(record) {
      const line = toLine(record);
      if (line === undefined) return true;
      return "path" in line && isIgnored(line.path) ? true : search.onLine(line);
    },
  });
  switch (end.kind) {
    case "unavailable":
      return undefined;
    case "failed":
      return { problem: `${whatIsWrong(end.message)} ${end.message}` };
    case "timeout":
      return { problem: "it took too long; search in fewer files" };
    default:
      return {};
  }
}

function whatIsWrong(message: string): string {
  return /^rg: error parsing glob /.test(message)
    ? "The glob cannot be understood."
    : "The pattern cannot be searched for (`literal` takes it as plain text).";
}

/** A pattern that names CR itself looks for it; to all others the lines of a CRLF file end as `read` shows them. */
function seesLineEnds({ pattern, literal }: GrepArgs): boolean {
  return literal === true || /\r|\\r/.test(pattern);
}

/**
 * Ripgrep reads a glob as a line of a .gitignore: only a slash at the start means the searched folder, and it would take
 * one that starts with `#` for a comment, which leaves nothing out, and spaces at the end for nothing.
 */
function ripgrepGlob(glob: string, folder: string): string {
  const [, mark = "", names = ""] = /^(!?)(.*)$/s.exec(glob) ?? [];
  const anchored = toAnchored(names, folder);
  const line = anchored === undefined ? names.replace(/^#/, "\\#") : `/${anchored}`;
  return mark + line.replace(/(?<!\\) +$/, (spaces) => spaces.replaceAll(" ", "\\ "));
}

/** Makes what reads the lines of ripgrep one by one. A path may hold ends of lines, which part it. */
function createLineParser(): (record: string) => GrepLine | undefined {
  let begun = "";
  return (record) => {
    const whole = record.startsWith("./") ? record : begun + record;
    const line = parseLine(whole);
    begun = line === undefined ? `${whole}\n` : "";
    return line;
  };
}

function parseLine(record: string): GrepLine | undefined {
  if (record === "--") return { kind: "gap" };
  const [, path, line, mark, text] = /^(?:\.\/)?([^\0]*)\0(\d+)([:-])(.*)$/s.exec(record) ?? [];
  if (path !== undefined && line !== undefined && text !== undefined) {
    return {
      kind: mark === ":" ? "match" : "context",
      path,
      line: Number(line),
      text: text.replace(/\r$/, ""),
    };
  }
  const [, binary] = /^(?:\.\/)?(.*): binary file matches/s.exec(record) ?? [];
  return binary === undefined ? undefined : { kind: "binary", path: binary };
}
