import { StartupError } from "../contract/errors.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import type { RunEntry } from "../runs/registry.ts";
import { askState, type RunInfo, toRunInfo, toSavedInfo } from "../runs/run-info.ts";
import { findRun } from "../runs/targets.ts";
import { findSavedSession } from "../session/store/session-index.ts";
import { printable } from "./table.ts";

export type StatusOptions = {
  /** The folder of all runs. */
  readonly runs: string;
  /** Where sessions are kept; asked for when no run is meant. */
  readonly sessions: () => string;
  /** An id, the unique beginning of one, or a name. */
  readonly id: string;
  readonly json: boolean;
  readonly signal: AbortSignal;
};

/** What lists say of a run, and more. */
type Status = RunInfo & {
  readonly resident?: boolean;
  readonly socket?: string;
  /** What waits and what is at work, of a run that answers. */
  readonly actions?: JsonObject;
  readonly exitedAt?: string;
  readonly why?: string;
  readonly stopReason?: string;
  readonly usage?: JsonObject;
};

/** Prints what is known of a run, or of a saved session. Gives the exit status; throws a StartupError when there is neither. */
export async function statusCommand(options: StatusOptions, write: (text: string) => void): Promise<number> {
  const status = await find(options);
  if (options.json) write(`${JSON.stringify(status)}\n`);
  else for (const [key, value] of Object.entries(status)) write(toLine(key, value));
  return 0;
}

async function find({ runs, sessions, id, signal }: StatusOptions): Promise<Status> {
  let run: RunEntry;
  try {
    run = await findRun({ runs, id, signal });
  } catch (error) {
    return savedStatus(sessions(), id, error);
  }
  const { record, result } = run;
  const actions = run.isLive ? (await askState(run, signal))?.actions : undefined;
  return {
    ...(await toRunInfo(run, signal)),
    resident: record.resident,
    ...(run.isLive ? { socket: record.socket } : {}),
    ...(isJsonObject(actions) ? { actions } : {}),
    ...(result === undefined ? {} : toEnd(result)),
  };
}

function toEnd({ exitedAt, why, stopReason, usage }: NonNullable<RunEntry["result"]>) {
  return {
    exitedAt,
    ...(why === undefined ? {} : { why }),
    ...(stopReason === undefined ? {} : { stopReason }),
    ...(usage === undefined ? {} : { usage }),
  };
}

/** The session of a run that is no longer on record; else what was said of the run. */
function savedStatus(folder: string, id: string, noRun: unknown): Status {
  try {
    return toSavedInfo(findSavedSession(folder, id, { byName: true }));
  } catch (error) {
    throw error instanceof StartupError ? noRun : error;
  }
}

function toLine(key: string, value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return `${key.padEnd(10)}  ${printable(text)}\n`;
}
