import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";

/** The file that a program's name leads to: a path as it stands, anything else on the PATH; undefined when there is none. */
export function findProgram(
  program: string,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (/[\\/]/.test(program)) return isProgram(resolve(program)) ? resolve(program) : undefined;
  const endings = process.platform === "win32" ? [".exe", ".bat", ""] : [""];
  for (const folder of (env.PATH ?? env.Path ?? "").split(delimiter)) {
    if (folder === "") continue;
    const path = endings.map((ending) => join(folder, program + ending)).find(isProgram);
    if (path !== undefined) return path;
  }
  return undefined;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
