import { StartupError } from "../contract/errors.ts";
import type { Flags } from "./options.ts";

/** Options that contradict each other. */
const exclusiveOptions: readonly (readonly [string, string])[] = [
  ["--continue", "--resume"],
  ["--continue", "--fork"],
  ["--resume", "--fork"],
  ["--no-session", "--continue"],
  ["--no-session", "--resume"],
  ["--tools", "--no-tools"],
  ["--stdin", "--no-stdin"],
  ["--record", "--replay"],
];

/** Options that mean nothing without one of others. */
const dependentOptions: readonly (readonly [option: string, needs: readonly string[]])[] = [
  ["--branch", ["--continue", "--resume", "--fork"]],
  ["--branch-summary", ["--branch"]],
  ["--repair", ["--continue", "--resume"]],
];

/** Options that mean nothing where a program or an editor says on stdin what is to be done. */
const notServed: { readonly [Mode in Flags["mode"]]?: ReadonlySet<string> } = {
  rpc: new Set(["--stdin", "--no-stdin", "--stdin-timeout"]),
  acp: new Set([
    ...["--stdin", "--no-stdin", "--stdin-timeout", "--output-last-message", "--summary", "--record"],
    ...["--cwd", "--continue", "--resume", "--fork", "--name"],
  ]),
};

/** Checks what only the whole of the options can tell. */
export function checkTogether(flags: Flags, given: ReadonlySet<string>): void {
  for (const [one, other] of exclusiveOptions) {
    if (given.has(one) && given.has(other)) {
      throw new StartupError(`${one} and ${other} exclude each other: give only one of them`);
    }
  }
  for (const [option, needs] of dependentOptions) {
    if (given.has(option) && !needs.some((other) => given.has(other))) {
      throw new StartupError(`${option} needs ${needs.join(" or ")}`);
    }
  }
  const useless = [...given].find((option) => notServed[flags.mode]?.has(option));
  if (useless !== undefined)
    throw new StartupError(`${useless} cannot be used with --mode ${flags.mode}: leave it out`);
  if (flags.jsonDeltas && flags.mode !== "json") {
    throw new StartupError("--json-deltas needs --mode json");
  }
  if (flags.resident && flags.mode !== "text" && flags.mode !== "json") {
    throw new StartupError(
      `--resident needs --mode text or json: a run of --mode ${flags.mode} ends with its client`,
    );
  }
}
