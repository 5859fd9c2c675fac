import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

/** Resolves when the program handles signals itself. */
export async function handlesSignals({ pid }: ChildProcess): Promise<void> {
  // Node has its own handlers for SIGINT and SIGTERM from the start.
  const bit = 1n << BigInt(constants.signals.SIGHUP - 1);
  for (;;) {
    const [, mask = "0"] = /^SigCgt:\s*(\w+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    const isProgram = readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("cli.js");
    if (isProgram && (BigInt(`0x${mask}`) & bit) !== 0n) return;
    await sleep(5);
  }
}
