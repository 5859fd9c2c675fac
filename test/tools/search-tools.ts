import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { JsonObject } from "../../src/contract/json.ts";
import type { ToolContext } from "../../src/contract/tool.ts";
import { createFindTool } from "../../src/tools/find.ts";
import { createGrepTool, type SearchOptions } from "../../src/tools/grep.ts";
import { childEnv } from "../../src/tools/shell/child-env.ts";
import { temporaryFolder } from "./shell/temporary-folder.ts";
import { toolContext } from "./tool-context.ts";

/** Both ways of searching; they have to find the same. */
export const engines: [string, Pick<SearchOptions, "findRipgrep">][] = [
  ["with ripgrep", {}],
  ["without ripgrep", { findRipgrep: async () => undefined }],
];

/** Makes a folder of files from their contents; a path that ends in `/` is an empty folder. */
export async function folderOf(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const folder = await temporaryFolder();
  for (const [path, content] of Object.entries(files)) {
    await mkdir(path.endsWith("/") ? join(folder, path) : dirname(join(folder, path)), { recursive: true });
    if (!path.endsWith("/")) await writeFile(join(folder, path), content);
  }
  return folder;
}

export type Search = {
  readonly tool: "grep" | "find";
  readonly args: JsonObject;
  readonly context: Partial<ToolContext>;
  readonly options: Partial<SearchOptions>;
};

/** Makes a call; gives the text, after `ERROR: ` when it is an error. */
export async function search({ tool, args, context, options }: Search): Promise<string> {
  const make = { grep: createGrepTool, find: createFindTool }[tool];
  const env = childEnv(process.env, { credentialNames: [], passEnv: [] });
  const spillFolder = join(await temporaryFolder(), "spill");
  const { execute } = make({ env, secrets: [], maxSpillBytes: 1e9, spillFolder, ...options });
  const { content, isError } = await execute(args, toolContext(context));
  const text = content.map((block) => (block.type === "text" ? block.text : "")).join("");
  return isError ? `ERROR: ${text}` : text;
}
