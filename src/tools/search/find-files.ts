import { basename } from "node:path";
import type { ToolContext, ToolResult } from "../../contract/tool.ts";
import { errorResult, textResult } from "../define-tool.ts";
import type { SearchOptions } from "../grep.ts";
import { globMatcher } from "./glob.ts";
import { withNotes } from "./grep-files.ts";
import { ignoreScope } from "./ignore-rules.ts";
import { createListing } from "./listing.ts";
import { findRipgrep, ripgrepArgs, runRipgrep } from "./ripgrep.ts";
import { findSearchRoot, type SearchRoot } from "./search-root.ts";
import { walkFiles } from "./walk-files.ts";

export type FindArgs = { readonly pattern: string; readonly path?: string; readonly limit?: number };

const defaultLimit = 1000;

/** Runs a call of find. Throws the signal's reason on abort. */
export async function findForModel(
  args: FindArgs,
  { cwd, signal }: ToolContext,
  options: SearchOptions,
): Promise<ToolResult> {
  const found = await findSearchRoot(cwd, args.path ?? ".");
  if (!found.ok) return errorResult(found.problem);
  const { root } = found;
  const limit = args.limit ?? defaultLimit;
  const listing = createListing({ toolName: "find", ...options });
  let count = 0;
  let hasMore = false;

  const onFile = withFolders(matcher(args.pattern, root), (path) => {
    hasMore = count === limit;
    if (hasMore) return false;
    count += 1;
    listing.add(root.show(path));
    return true;
  });
  const problem = await listFiles({ root, signal, onFile }, options);
  const output = listing.finish();
  if (listing.isEmpty()) {
    return problem === undefined
      ? textResult(withNotes("No files found", [root.note]))
      : errorResult(problem);
  }
  const more = `[The first ${limit} paths; there are more. Narrow the pattern or raise \`limit\`.]`;
  const note = problem && `[The search is not complete: ${problem}]`;
  const text = withNotes(output.text, [hasMore ? more : undefined, note, root.note]);
  return textResult(text, { count, ...(hasMore ? { truncated: true } : {}), ...output.details });
}

type Entry = { readonly path: string; readonly isFolder: boolean };

function matcher(pattern: string, { folder }: SearchRoot): (entry: Entry) => boolean {
  const foldersOnly = pattern.endsWith("/");
  const matches = globMatcher(foldersOnly ? pattern.replace(/\/+$/, "") : pattern, folder);
  return ({ path, isFolder }) => (isFolder || !foldersOnly) && matches(path);
}

/** Makes a taker of files that also sees, once each, the folders that the files are in. */
function withFolders(
  isWanted: (entry: Entry) => boolean,
  onPath: (path: string) => boolean,
): (file: string) => boolean {
  const seen = new Set<string>();
  return (file) => {
    for (let at = file.indexOf("/"); at !== -1; at = file.indexOf("/", at + 1)) {
      const folder = file.slice(0, at);
      if (seen.has(folder)) continue;
      seen.add(folder);
      if (isWanted({ path: folder, isFolder: true }) && !onPath(`${folder}/`)) return false;
    }
    return isWanted({ path: file, isFolder: false }) ? onPath(file) : true;
  };
}

type FileList = {
  readonly root: SearchRoot;
  readonly signal: AbortSignal;
  /** Takes a path; answers whether to go on. */
  readonly onFile: (path: string) => boolean;
};

/** Resolves with what kept the list from being complete. */
async function listFiles(
  { root, signal, onFile }: FileList,
  options: SearchOptions,
): Promise<string | undefined> {
  if (root.file !== undefined) {
    onFile(basename(root.file));
    return undefined;
  }
  const scope = ignoreScope(root.folder);
  const end = await runRipgrep({
    program: await (options.findRipgrep ?? findRipgrep)(),
    args: [
      ...ripgrepArgs,
      ...(scope.usesParents ? [] : ["--no-require-git", "--no-ignore-parent"]),
      "--files",
      "--null",
      "--glob=!.git",
      "--",
      "./",
    ],
    cwd: root.folder,
    env: options.env,
    signal,
    separator: "\0",
    onRecord: (record) => onFile(record.replace(/^\.\//, "")),
  });
  if (end.kind === "failed") return end.message;
  if (end.kind === "timeout") return "it took too long; search in a smaller folder";
  if (end.kind === "unavailable") {
    for await (const path of walkFiles(root.folder, scope.rules, signal)) if (!onFile(path)) break;
  }
  return undefined;
}
