import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";

/** The pids of the processes whose command line holds a text. */
export function processesWith(text: string): number[] {
  return execFileSync("ps", ["-A", "-o", "pid=,stat=,args="], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(text) && !/^\s*\d+\s+Z/.test(line))
    .map((line) => Number.parseInt(line, 10));
}

/** A number of seconds for `sleep` that no other process sleeps. */
export function uniqueSleep(): string {
  sleeps += 1;
  return `1${process.pid}.${sleeps}7`;
}

/** Waits until a process that is being started runs. */
export async function untilRunning(text: string): Promise<void> {
  while (processesWith(text).length === 0) await sleep(20);
}

let sleeps = 0;
