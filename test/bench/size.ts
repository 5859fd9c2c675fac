import { execFileSync } from "node:child_process";
import { lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ResultRow } from "./table.ts";

/** Packs the program as it would be published, installs that into an empty folder, and measures what is there. */
export function measureSize({ root, folder }: { root: string; folder: string }): readonly ResultRow[] {
  const rows = [
    { words: "", args: [] },
    { words: " without optional packages", args: ["--omit=optional"] },
  ];
  const [{ filename }] = JSON.parse(
    npm(["pack", "--json", "--ignore-scripts", `--pack-destination=${folder}`], root),
  );
  return rows.flatMap(({ words, args }, index) => {
    const place = join(folder, `install${index}`);
    mkdirSync(place);
    writeFileSync(join(place, "package.json"), "{}");
    npm(["install", "--omit=dev", "--no-audit", "--no-fund", ...args, join(folder, filename)], place);
    const modules = join(place, "node_modules");
    const megabytes = sizeOf(modules) / 1e6;
    const packages = countPackages(modules);
    return [
      { title: `size${words}`, value: megabytes, unit: "MB", result: megabytes, goal: 40, goalUnit: "MB" },
      { title: `packages${words}`, value: packages, unit: "", result: packages, goal: 39, goalUnit: "" },
    ];
  });
}

function npm(args: readonly string[], cwd: string): string {
  return execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

/** Bytes, without what the file system adds. */
function sizeOf(path: string): number {
  const stats = lstatSync(path);
  if (!stats.isDirectory()) return stats.size;
  return readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0);
}

function countPackages(modules: string): number {
  return readdirSync(modules, { recursive: true, encoding: "utf8" }).filter((path) =>
    /^(?:.*node_modules\/)?(?:@[^/]+\/)?[^/@.][^/]*\/package\.json$/.test(path),
  ).length;
}
