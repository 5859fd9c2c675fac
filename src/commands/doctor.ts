import { errorMessage } from "../contract/errors.ts";
import { toTable } from "./table.ts";

/** One thing that a run depends on. */
export type Check = {
  readonly name: string;
  /** Without it no run starts; without any other, runs lack something. */
  readonly isNeeded: boolean;
  /** Gives what was found, in one line. Throws an error that says what is wrong and what to do. */
  readonly look: () => string | Promise<string>;
};

/** What a check came to. */
type Finding = {
  readonly check: string;
  readonly state: "ok" | "warning" | "problem";
  readonly text: string;
};

/**
 * Prints what every check found, as a table or a JSON array. Gives the exit status: 1 when something would keep runs
 * from starting.
 */
export async function doctorCommand(
  checks: readonly Check[],
  { json }: { readonly json: boolean },
  write: (text: string) => void,
): Promise<number> {
  const findings: Finding[] = [];
  for (const check of checks) findings.push(await examine(check));
  const rows = findings.map(({ check, state, text }) => [check, state, text]);
  write(json ? `${JSON.stringify(findings, null, 2)}\n` : toTable(["CHECK", "STATE", "FOUND"], rows));
  return findings.some(({ state }) => state === "problem") ? 1 : 0;
}

async function examine({ name, isNeeded, look }: Check): Promise<Finding> {
  try {
    return { check: name, state: "ok", text: await look() };
  } catch (error) {
    return { check: name, state: isNeeded ? "problem" : "warning", text: errorMessage(error) };
  }
}
