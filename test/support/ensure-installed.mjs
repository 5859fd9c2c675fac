import { spawnSync } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The repository's root, with a final slash. */
export const root = fileURLToPath(new URL("../..", import.meta.url));

/** Runs a command in the repository's root with its output shown; gives its exit status. */
export function run(command, args, options = {}) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: "inherit", ...options });
  if (error) console.error(`${command}: ${error.message}`);
  return status ?? 1;
}

/** Installs the packages that the lock file names, when they are missing or older than it. */
export function ensureInstalled() {
  const installed = `${root}node_modules/.package-lock.json`;
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(`${root}package-lock.json`).mtimeMs)
    return;
  if (run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], { stdio: ["ignore", 2, 2] }) !== 0) {
    console.error("npm ci failed: the packages could not be installed; see the lines above");
    process.exit(1);
  }
}

/** Builds dist/ when it is missing or older than what it is made from. */
export function ensureBuilt() {
  if (run(process.execPath, ["test/support/build.mjs"], { stdio: ["ignore", 2, 2] }) !== 0) process.exit(1);
}
