import { listRuns, pruneRuns } from "../runs/registry.ts";
import { type RunInfo, toRunInfo, toSavedInfo } from "../runs/run-info.ts";
import { listSessions } from "../session/store/session-index.ts";
import { toTable } from "./table.ts";

export type ListOptions = {
  /** The folder of all runs. */
  readonly runs: string;
  /** Where sessions are kept, for a list that shows what has ended too; asked for only then. */
  readonly sessions: (() => string) | undefined;
  readonly json: boolean;
  readonly signal: AbortSignal;
};

/**
 * Prints the runs that go on, the latest first; with `sessions` also those that have ended and the saved sessions.
 * Gives the exit status.
 */
export async function listCommand(
  { runs, sessions, json, signal }: ListOptions,
  write: (text: string) => void,
): Promise<number> {
  const all = listRuns(runs);
  const shown = sessions === undefined ? all.filter(({ isLive }) => isLive) : all;
  const infos = await Promise.all(shown.map((run) => toRunInfo(run, signal)));
  if (sessions !== undefined) {
    const known = new Set(infos.map(({ id }) => id));
    infos.push(
      ...listSessions(sessions()).flatMap((saved) => (known.has(saved.id) ? [] : [toSavedInfo(saved)])),
    );
    infos.sort((a, b) => rank(a) - rank(b) || b.startedAt.localeCompare(a.startedAt));
  }
  if (json) write(toJson(infos));
  else if (infos.length > 0) write(toTable(columns, infos.map(toRow)));
  tidy(runs);
  return 0;
}

/** A list is not worse for what nobody could remove. */
function tidy(runs: string): void {
  try {
    pruneRuns(runs, Date.now());
  } catch {
    // The next list will try again.
  }
}

const columns = ["ID", "STATE", "STARTED", "MODE", "MODEL", "NAME", "DIRECTORY"];

function rank({ state }: RunInfo): number {
  return state === "exited" ? 1 : 0;
}

/** One run a line. */
function toJson(infos: readonly RunInfo[]): string {
  if (infos.length === 0) return "[]\n";
  return `[\n${infos.map((info) => JSON.stringify(info)).join(",\n")}\n]\n`;
}

function toRow({ id, state, exitStatus, startedAt, mode, provider, model, name, cwd }: RunInfo): string[] {
  return [
    id,
    exitStatus === undefined ? state : `${state} ${exitStatus}`,
    startedAt.replace(/\.\d+Z$/, "Z"),
    mode ?? "-",
    model === null ? "-" : `${provider}/${model}`,
    name ?? "-",
    cwd,
  ];
}
