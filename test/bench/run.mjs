// Measures the built program beside the least that the same work can cost: `npm run bench -- --help`.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { root } from "../support/ensure-installed.mjs";

const folder = mkdtempSync(join(tmpdir(), "base-context-bench-"));
try {
  await build({
    entryPoints: [`${root}test/bench/bench.ts`, `${root}test/bench/provider.ts`],
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "error",
  });
  const { bench } = await import(pathToFileURL(join(folder, "bench.mjs")).href);
  process.exitCode = await bench(process.argv.slice(2), { root, folder });
} finally {
  rmSync(folder, { recursive: true, force: true });
}
