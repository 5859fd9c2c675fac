import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { monotonicMs } from "../../contract/monotonic.ts";

/** The processes that one call started. */
export type ProcessTree = {
  /** The process groups that belong to it. */
  readonly groups: readonly number[];
  /**
   * A text that its processes have in their environment, unlike any other process. It finds those that left the group
   * and whose parents are gone (Linux only).
   */
  readonly mark: string;
};

type ProcessInfo = {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
};

const nobody: ReadonlySet<number> = new Set();
const pollMs = 25;
/** How often what survives SIGKILL is looked for again: processes may fork while they are being killed. */
const killRounds = 12;

/** The pids of the tree's living processes: those of its groups, those with its mark, and all their descendants. */
export function findMembers(tree: ProcessTree): number[] {
  return members(tree).map(({ pid }) => pid);
}

/** Whether a process group has a process left; zombies count, so that only `false` is sure. */
export function groupMayLive(group: number): boolean {
  const { stackTraceLimit } = Error;
  // Asked after every command; where the error came from takes longer to find out than all else.
  Error.stackTraceLimit = 0;
  try {
    process.kill(-group, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Sends a signal to a process, or to a group when the number is negative. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended meanwhile, or is another user's by now.
  }
}

/** Sends a signal to every process of the tree but those that are spared, and returns their pids. */
export function signalTree(
  tree: ProcessTree,
  signal: "SIGTERM" | "SIGKILL" | "SIGINT",
  spared: ReadonlySet<number> = nobody,
): number[] {
  const found = members(tree).filter(({ pid }) => !spared.has(pid));
  const isGroupwise = spared.size === 0;
  if (isGroupwise) for (const group of tree.groups) signalProcess(-group, signal);
  for (const { pid, group } of found) {
    if (!isGroupwise || !tree.groups.includes(group)) signalProcess(pid, signal);
  }
  return found.map(({ pid }) => pid);
}

/**
 * Ends every process of the tree but those that are spared: SIGTERM, then SIGKILL for those that are left after the
 * grace. Resolves with the pids that even that did not end.
 */
export async function terminateTree(
  tree: ProcessTree,
  graceMs: number,
  spared: ReadonlySet<number> = nobody,
): Promise<number[]> {
  const remaining = (): number[] => findMembers(tree).filter((pid) => !spared.has(pid));
  const deadline = monotonicMs() + graceMs;
  let left = signalTree(tree, "SIGTERM", spared);
  while (left.length > 0 && monotonicMs() < deadline) {
    await sleep(pollMs);
    left = remaining();
  }
  for (let round = 0; left.length > 0 && round < killRounds; round += 1) {
    signalTree(tree, "SIGKILL", spared);
    await sleep(pollMs);
    left = remaining();
  }
  return left;
}

function members(tree: ProcessTree): ProcessInfo[] {
  const processes = (process.platform === "linux" ? listFromProc() : undefined) ?? listFromPs();
  if (processes === undefined) return liveGroups(tree);
  const children = new Map<number, ProcessInfo[]>();
  for (const info of processes) {
    const siblings = children.get(info.parent);
    if (siblings) siblings.push(info);
    else children.set(info.parent, [info]);
  }
  const found = new Map<number, ProcessInfo>();
  const add = (info: ProcessInfo): void => {
    if (found.has(info.pid) || info.pid === process.pid) return;
    found.set(info.pid, info);
    for (const child of children.get(info.pid) ?? []) add(child);
  };
  for (const info of processes) {
    if (tree.groups.includes(info.group) || hasMark(info.pid, tree.mark)) add(info);
  }
  return [...found.values()];
}

/** What can be known where processes cannot be listed. */
function liveGroups({ groups }: ProcessTree): ProcessInfo[] {
  return groups.filter(groupMayLive).map((group) => ({ pid: group, parent: 0, group }));
}

/** Undefined where there is no /proc. */
function listFromProc(): ProcessInfo[] | undefined {
  const processes: ProcessInfo[] = [];
  for (const name of namesInProc()) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const stat = readProc(pid, "stat")?.toString("latin1");
    if (stat === undefined) continue;
    // The command's name is in parentheses and may hold anything, parentheses and spaces included.
    const [state, parent, group] = stat.slice(stat.lastIndexOf(")") + 2).split(" ", 3);
    if (state !== "Z" && state !== "X") processes.push({ pid, parent: Number(parent), group: Number(group) });
  }
  return processes.length === 0 ? undefined : processes;
}

function namesInProc(): string[] {
  try {
    return readdirSync("/proc");
  } catch {
    return [];
  }
}

/** Undefined where there is no `ps` that knows these columns. */
function listFromPs(): ProcessInfo[] | undefined {
  const { stdout, status } = spawnSync("ps", ["-A", "-o", "pid=,ppid=,pgid=,stat="], { encoding: "utf8" });
  if (status !== 0) return undefined;
  return stdout.split("\n").flatMap((line) => {
    const [pid, parent, group, state] = line.trim().split(/\s+/);
    if (!state || state.startsWith("Z")) return [];
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group) }];
  });
}

function hasMark(pid: number, mark: string): boolean {
  return process.platform === "linux" && (readProc(pid, "environ")?.includes(mark) ?? false);
}

/** Undefined when the process is gone or belongs to someone else. */
function readProc(pid: number, file: "stat" | "environ"): Buffer | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`);
  } catch {
    return undefined;
  }
}
