// Builds dist/: the bundle, the data files that it reads at run time, and the types of the package's public entry.
// BASE_CONTEXT_DIST names another folder, for a build beside the one that is in use.
import { cpSync, existsSync, renameSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { ensureInstalled, root, run } from "./ensure-installed.mjs";

ensureInstalled();
const target = resolve(root, process.env.BASE_CONTEXT_DIST ?? "dist");
const fresh = `${target}.new-${process.pid}`;
const old = `${target}.old-${process.pid}`;
const steps = [
  () => run("node_modules/.bin/tsup", ["--silent", "--out-dir", fresh]),
  () =>
    run("node_modules/.bin/tsc", ["-p", "test/support/tsconfig.types.json", "--outDir", `${fresh}/types`]),
];
for (const step of steps) {
  const status = step();
  if (status === 0) continue;
  rmSync(fresh, { recursive: true, force: true });
  process.exit(status);
}
cpSync(`${root}src/providers/models.json`, `${fresh}/models.json`);
// The new build takes the old one's place in one step, so that a program that starts meanwhile finds one of them.
if (existsSync(target)) renameSync(target, old);
renameSync(fresh, target);
rmSync(old, { recursive: true, force: true });
