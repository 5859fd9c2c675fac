import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** The processes that a process has started, and they in turn, as far as their parents live. */
export function descendantsOf(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const [child, parent] of listFromProc() ?? listFromPs()) {
    const siblings = children.get(parent);
    if (siblings === undefined) children.set(parent, [child]);
    else siblings.push(child);
  }
  const found = new Set<number>();
  const waiting = [pid];
  for (let parent = waiting.pop(); parent !== undefined; parent = waiting.pop()) {
    for (const child of children.get(parent) ?? []) {
      if (found.has(child)) continue;
      found.add(child);
      waiting.push(child);
    }
  }
  return [...found];
}

type Parenthood = readonly [pid: number, parent: number];

/** Undefined where there is no /proc. */
function listFromProc(): Parenthood[] | undefined {
  try {
    const found = readdirSync("/proc").flatMap((name) => fromProc(Number(name)));
    return found.length === 0 ? undefined : found;
  } catch {
    return undefined;
  }
}

/** Nothing when the process is gone, or the name is no process. */
function fromProc(pid: number): Parenthood[] {
  if (!Number.isInteger(pid)) return [];
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The command's name is in parentheses and may hold anything.
    return [[pid, Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ", 2)[1])]];
  } catch {
    return [];
  }
}

function listFromPs(): Parenthood[] {
  try {
    const text = execFileSync("/bin/ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" });
    return text.split("\n").flatMap((line): Parenthood[] => {
      const [pid, parent] = line.trim().split(/\s+/).map(Number);
      return pid === undefined || parent === undefined ? [] : [[pid, parent]];
    });
  } catch {
    return [];
  }
}
