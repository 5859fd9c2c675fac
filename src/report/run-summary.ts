import type { RunFailure, RunOutcome } from "../contract/outcome.ts";
import { commands } from "../flags/commands.ts";
import type { Invocation } from "../flags/flags.ts";
import type { Host } from "../host.ts";
import type { Console } from "../main.ts";
import type { Run } from "../start/start-run.ts";
import type { SummaryFile } from "./summary-file.ts";

/** Follows the program from its arguments to its end for `--summary`; without that option it does nothing. */
export type RunSummary = {
  /** Takes what the command line asks for. */
  begin(invocation: Invocation): void;
  /** Takes the run that has started. */
  follow(run: Run): Promise<void>;
  /** Writes the file. Gives what went wrong. */
  write(outcome: RunOutcome): Promise<RunFailure[]>;
};

/** Starts the clock. */
export function createRunSummary(host: Host, { redaction }: Console): RunSummary {
  const startedAt = Date.now();
  /** Until the command line is understood this is what it seems to say. */
  let path = commands.has(host.argv[0] ?? "") ? undefined : namedSummary(host.argv);
  let file: SummaryFile | undefined;

  return {
    begin(invocation) {
      const isOther = invocation.kind !== "run" || (invocation.flags.resident && host.handed === undefined);
      path = isOther ? undefined : invocation.flags.summary;
    },
    async follow(run) {
      if (path === undefined) return;
      const { createSummaryFile } = await import("./summary-file.ts");
      file = createSummaryFile({ path, cwd: host.cwd, startedAt });
      const { session } = run.conversation.current();
      const autonomous = run.autonomous.report();
      if (autonomous !== undefined) await file.follow({ session, autonomous });
    },
    async write(outcome) {
      if (path === undefined) return [];
      // Nothing is on stdout then.
      if (outcome.refused !== undefined && (await import("./output-files.ts")).isStream(path, host))
        return [];
      const { createSummaryFile } = await import("./summary-file.ts");
      file ??= createSummaryFile({ path, cwd: host.cwd, startedAt });
      const failure = await file.write(outcome, redaction.redact);
      // A start that is refused has said why.
      if (failure === undefined || outcome.refused !== undefined) return [];
      return [{ kind: "output", message: failure }];
    },
  };
}

/** The file that `--summary` names in a command line, whatever else stands there. */
function namedSummary(argv: readonly string[]): string | undefined {
  const end = argv.indexOf("--");
  const words = end < 0 ? argv : argv.slice(0, end);
  const at = words.findLastIndex((word) => word === "--summary" || word.startsWith("--summary="));
  const word = words[at];
  if (word === undefined) return undefined;
  const value = word.includes("=") ? word.slice(word.indexOf("=") + 1) : words[at + 1];
  return value === undefined || value.trim() === "" || value.startsWith("--") ? undefined : value;
}
