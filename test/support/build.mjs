// Builds dist/: the bundle, the data files that it reads at run time, and the types of the package's public entry.
import { cpSync } from "node:fs";
import { ensureInstalled, root, run } from "./ensure-installed.mjs";

ensureInstalled();
const steps = [
  () => run("node_modules/.bin/tsup", ["--silent"]),
  () => {
    cpSync(`${root}src/providers/models.json`, `${root}dist/models.json`);
    return 0;
  },
  () => run("node_modules/.bin/tsc", ["-p", "test/support/tsconfig.types.json"]),
];
for (const step of steps) {
  const status = step();
  if (status !== 0) process.exit(status);
}
