import { execFileSync } from "node:child_process";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { JsonObject } from "../../src/contract/json.ts";
import type { ToolResult } from "../../src/contract/tool.ts";
import { temporaryFolder } from "./shell/temporary-folder.ts";

export type ToolCallInChild = readonly [
  tool: "read" | "write" | "edit" | "ls" | "grep" | "find",
  args: JsonObject,
];

/** Makes calls in a process of their own, which has another user or stricter limits than the test has. */
export async function callInChild(
  calls: readonly ToolCallInChild[],
  { cwd, shellSetup = "true", uid }: { cwd: string; shellSetup?: string; uid?: number },
): Promise<ToolResult[]> {
  const folder = await temporaryFolder();
  await chmod(folder, 0o755);
  await writeFile(join(folder, "script.ts"), script(calls, cwd));
  await build({
    entryPoints: [join(folder, "script.ts")],
    outdir: join(folder, "out"),
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node20",
    external: ["sharp"],
    loader: { ".md": "text" },
    outExtension: { ".js": ".mjs" },
    logLevel: "error",
  });
  const command = `${shellSetup}; exec ${process.execPath} ${join(folder, "out/script.mjs")}`;
  const output = execFileSync("sh", ["-c", command], {
    cwd,
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  return JSON.parse(output.toString());
}

function script(calls: readonly ToolCallInChild[], cwd: string): string {
  const source = (name: string) =>
    JSON.stringify(fileURLToPath(new URL(`../../src/tools/${name}.ts`, import.meta.url)));
  return `
    import { createReadTool } from ${source("read")};
    import { writeTool } from ${source("write")};
    import { editTool } from ${source("edit")};
    import { createLsTool } from ${source("ls")};
    import { createGrepTool } from ${source("grep")};
    import { createFindTool } from ${source("find")};
    const read = createReadTool({ autoResize: true, block: false });
    const options = { env: {}, secrets: [], maxSpillBytes: 1e9, spillFolder: "/nonexistent", findRipgrep: async () => undefined };
    const [ls, grep, find] = [createLsTool, createGrepTool, createFindTool].map((make) => make(options));
    const tools = { read, write: writeTool, edit: editTool, ls, grep, find };
    const context = { cwd: ${JSON.stringify(cwd)}, toolCallId: "1", signal: new AbortController().signal, onUpdate() {} };
    const results = [];
    for (const [name, args] of ${JSON.stringify(calls)}) results.push(await tools[name].execute(args, context));
    console.log(JSON.stringify(results));`;
}
