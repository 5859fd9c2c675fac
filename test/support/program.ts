import { rmSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";

/** Makes a script of some lines of TypeScript that use files of `src`; node runs it without the rest. */
export async function bundleProgram(source: string): Promise<{ path: string; remove: () => void }> {
  const folder = await mkdtemp(join(tmpdir(), "base-context-program-"));
  const path = join(folder, "program.mjs");
  await build({
    stdin: { contents: source, loader: "ts", resolveDir: new URL("../../src", import.meta.url).pathname },
    outfile: path,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "error",
  });
  return { path, remove: () => rmSync(folder, { recursive: true }) };
}
