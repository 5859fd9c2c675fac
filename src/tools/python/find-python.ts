import { findProgram } from "../shell/find-program.ts";

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
