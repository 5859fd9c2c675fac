import { closeSync, readFileSync, renameSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { createPrivateFile, errorCode } from "../session/store/private-files.ts";
import { type ProcessIdentity, toProcessIdentity } from "../session/store/process-identity.ts";

/** What a run says of itself in `run.json`. */
export type RunRecord = {
  /** The session's id, which is the folder's name. */
  readonly id: string;
  readonly name?: string | undefined;
  readonly process: ProcessIdentity;
  /** When the process began, in the words of `ps`, where the system tells it no other way. */
  readonly psStart?: string;
  readonly mode: string;
  readonly provider: string;
  readonly model: string;
  readonly cwd: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Whether it goes on without the client that started it, and keeps its events. */
  readonly resident: boolean;
  /** The Unix socket that it listens on. */
  readonly socket: string;
};

/** What a run leaves in `result.json`. */
export type RunResult = {
  /** The process that this is the result of: a later run of the same session has its own. */
  readonly process: ProcessIdentity;
  /** The exit status. */
  readonly status: number;
  /** In words, where the status is not 0. */
  readonly why?: string;
  /** How the last assistant message ended. */
  readonly stopReason?: string;
  /** Tokens and cost, as a message has them. */
  readonly usage?: JsonObject;
  /** ISO 8601. */
  readonly exitedAt: string;
};

/** The files of a run's folder. */
export function runPaths(folder: string) {
  return {
    record: join(folder, "run.json"),
    result: join(folder, "result.json"),
    socket: join(folder, "control.sock"),
    events: join(folder, "events.jsonl"),
    stdout: join(folder, "stdout"),
    stderr: join(folder, "stderr"),
  };
}

/** The name of a run's folder; everything else in the folder of runs is something that comes and goes. */
export function isRunId(name: string): boolean {
  return /^[0-9a-f-]{4,36}$/.test(name);
}

/** Writes `run.json` in one step. Throws the system's error. */
export function writeRecord(folder: string, record: RunRecord): void {
  const { process, ...rest } = record;
  replaceFile(runPaths(folder).record, { ...process, ...rest });
}

/** Writes `result.json` in one step. Throws the system's error. */
export function writeResult(folder: string, result: RunResult): void {
  const { process, ...rest } = result;
  replaceFile(runPaths(folder).result, { ...process, ...rest });
}

/** Reads `run.json`; undefined when there is none that is whole. */
export function readRecord(folder: string): RunRecord | undefined {
  const value = readObject(runPaths(folder).record);
  const process = toProcessIdentity(value);
  if (value === undefined || process === undefined) return undefined;
  const texts = pickTexts(value, ["id", "mode", "provider", "model", "cwd", "startedAt", "socket"]);
  if (texts === undefined) return undefined;
  const { name, psStart, resident } = value;
  return {
    ...texts,
    process,
    resident: resident === true,
    ...(typeof name === "string" ? { name } : {}),
    ...(typeof psStart === "string" ? { psStart } : {}),
  };
}

/** Reads the result of the process that a record names; undefined when that left none. */
export function readResult(folder: string, record: RunRecord): RunResult | undefined {
  const value = readObject(runPaths(folder).result);
  const process = toProcessIdentity(value);
  if (value === undefined || process === undefined || !isSame(process, record.process)) return undefined;
  const { status, why, stopReason, usage, exitedAt } = value;
  if (typeof status !== "number" || typeof exitedAt !== "string") return undefined;
  return {
    process,
    status,
    exitedAt,
    ...(typeof why === "string" ? { why } : {}),
    ...(typeof stopReason === "string" ? { stopReason } : {}),
    ...(isJsonObject(usage) ? { usage } : {}),
  };
}

/** Whether two identities are of the same process. */
export function isSame(one: ProcessIdentity, other: ProcessIdentity): boolean {
  return (
    one.pid === other.pid &&
    one.host === other.host &&
    one.startTime === other.startTime &&
    one.bootId === other.bootId
  );
}

function replaceFile(path: string, value: object): void {
  const fresh = `${path}.new`;
  const descriptor = createAnew(fresh);
  try {
    writeSync(descriptor, `${JSON.stringify(value)}\n`);
  } finally {
    closeSync(descriptor);
  }
  renameSync(fresh, path);
}

/** What is in the way was left by a process that died over it. */
function createAnew(path: string): number {
  try {
    return createPrivateFile(path);
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    unlinkSync(path);
    return createPrivateFile(path);
  }
}

function readObject(path: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The values of some keys; undefined unless all of them are texts. */
function pickTexts<Key extends string>(
  value: JsonObject,
  keys: readonly Key[],
): Record<Key, string> | undefined {
  const isWhole = keys.every((key) => typeof value[key] === "string");
  return isWhole
    ? (Object.fromEntries(keys.map((key) => [key, value[key]])) as Record<Key, string>)
    : undefined;
}
