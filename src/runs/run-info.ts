import type { JsonObject } from "../contract/json.ts";
import type { SessionSummary } from "../session/store/session-summary.ts";
import { connectRun } from "./client.ts";
import type { RunEntry } from "./registry.ts";

/** What lists say of a run. What a saved session no longer tells is null. */
export type RunInfo = {
  readonly id: string;
  readonly name?: string;
  readonly pid: number | null;
  readonly state: "running" | "idle" | "exited";
  readonly mode: string | null;
  readonly provider: string | null;
  readonly model: string | null;
  readonly cwd: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Absent of a run that goes on, and of one that was killed before it could leave it. */
  readonly exitStatus?: number;
};

/** What is known of a run. Asks the run itself when that alone can tell whether it is at work. */
export async function toRunInfo(run: RunEntry, signal: AbortSignal): Promise<RunInfo> {
  const { record, result, isLive } = run;
  const { id, name, mode, provider, model, cwd, startedAt } = record;
  return {
    id,
    ...(name === undefined ? {} : { name }),
    pid: record.process.pid,
    state: isLive ? await liveState(run, signal) : "exited",
    mode,
    provider,
    model,
    cwd,
    startedAt,
    ...(result === undefined ? {} : { exitStatus: result.status }),
  };
}

/** What is known of a session whose run is no longer on record. */
export function toSavedInfo({ id, name, cwd, timestamp }: SessionSummary): RunInfo {
  return {
    id,
    ...(name === undefined ? {} : { name }),
    pid: null,
    state: "exited",
    mode: null,
    provider: null,
    model: null,
    cwd,
    startedAt: timestamp,
  };
}

/** Their prompts are on the command line: they are at work as long as they live. */
const neverIdle: ReadonlySet<string> = new Set(["text", "json"]);
async function liveState(run: RunEntry, signal: AbortSignal): Promise<"running" | "idle"> {
  if (neverIdle.has(run.record.mode)) return "running";
  const state = await askState(run, signal);
  // One that does not answer is busy with something.
  if (state === undefined) return "running";
  const { isStreaming, isCompacting, isBashRunning } = state;
  return isStreaming === true || isCompacting === true || isBashRunning === true ? "running" : "idle";
}

/** How long a run may take to say what it does, in milliseconds. */
const answerMs = 1000;

/** What a run answers to `get_state`; undefined when it does not, or not soon. */
export async function askState(run: RunEntry, signal: AbortSignal): Promise<JsonObject | undefined> {
  try {
    const connection = await connectRun(run, { signal, timeoutMs: answerMs });
    try {
      return await connection.request({ type: "get_state" });
    } finally {
      connection.close();
    }
  } catch {
    return undefined;
  }
}
