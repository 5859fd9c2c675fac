import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";

/** The interpreter for `ipython`, or a sentence that says why there is none. */
export type FoundPython =
  | { readonly found: true; readonly path: string }
  | { readonly found: false; readonly problem: string };

/** Looks for Python without starting anything: `BASE_CONTEXT_PYTHON`, else python3 or python on the PATH. */
export function findPython(env: Readonly<Record<string, string | undefined>>): FoundPython {
  const chosen = env.BASE_CONTEXT_PYTHON;
  if (chosen) {
    const path = findProgram(chosen, env);
    if (path !== undefined) return { found: true, path };
    return {
      found: false,
      problem: `BASE_CONTEXT_PYTHON is ${chosen}, which is not a program that can be run`,
    };
  }
  for (const name of ["python3", "python"]) {
    const path = findProgram(name, env);
    if (path !== undefined) return { found: true, path };
  }
  return {
    found: false,
    problem: "there is no python3 or python on the PATH; install Python or set BASE_CONTEXT_PYTHON",
  };
}

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
