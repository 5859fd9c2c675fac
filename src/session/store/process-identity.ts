import { readFileSync } from "node:fs";
import { getPriority, hostname } from "node:os";
import { isJsonObject } from "../../contract/json.ts";

/** A process, told from a later one with the same number by its start time and the boot. */
export type ProcessIdentity = {
  readonly pid: number;
  readonly host: string;
  /** Clock ticks from boot to the process's start; absent where the system does not tell. */
  readonly startTime?: string;
  readonly bootId?: string;
};

let known: ProcessIdentity | undefined;

/** What tells a living process of this machine from every other. Remembers the last one that it was asked for. */
export function identifyProcess(pid: number): ProcessIdentity {
  if (known?.pid !== pid) known = identify(pid);
  return known;
}

function identify(pid: number): ProcessIdentity {
  const boot = bootId();
  const started = startTime(pid);
  return {
    pid,
    host: hostname(),
    ...(started === undefined ? {} : { startTime: started }),
    ...(boot === undefined ? {} : { bootId: boot }),
  };
}

/** False only for a process that is surely dead: one of another machine cannot be judged. */
export function mayBeAlive(identity: ProcessIdentity): boolean {
  if (identity.host !== hostname()) return true;
  const boot = bootId();
  if (identity.bootId !== undefined && boot !== undefined && identity.bootId !== boot) return false;
  const started = startTime(identity.pid);
  if (started === "ended") return false;
  if (started !== undefined && identity.startTime !== undefined) return started === identity.startTime;
  return processExists(identity.pid);
}

/** Reads an identity from parsed JSON; undefined when it is none. */
export function toProcessIdentity(value: unknown): ProcessIdentity | undefined {
  if (!isJsonObject(value)) return undefined;
  const { pid, host, startTime, bootId } = value;
  if (typeof pid !== "number" || !Number.isSafeInteger(pid) || pid <= 0 || typeof host !== "string") {
    return undefined;
  }
  return {
    pid,
    host,
    ...(typeof startTime === "string" ? { startTime } : {}),
    ...(typeof bootId === "string" ? { bootId } : {}),
  };
}

/** A process's start; `ended` for one that is dead but not yet reaped; undefined when the system does not tell. */
function startTime(pid: number): string | undefined {
  const stat = readText(`/proc/${pid}/stat`);
  if (stat === undefined) return undefined;
  // The second field is the command in parentheses and may hold anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" || fields[0] === "X" ? "ended" : fields[19];
}

function processExists(pid: number): boolean {
  try {
    getPriority(pid);
    return true;
  } catch (error) {
    return !(isSystemError(error) && error.info.code === "ESRCH");
  }
}

function isSystemError(error: unknown): error is Error & { info: { code: string } } {
  return error instanceof Error && "info" in error && isJsonObject(error.info) && "code" in error.info;
}

function bootId(): string | undefined {
  return readText("/proc/sys/kernel/random/boot_id")?.trim();
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}
