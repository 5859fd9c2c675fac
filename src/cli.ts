#!/usr/bin/env node
import { fstatSync } from "node:fs";
import { constants } from "node:os";
import { isatty } from "node:tty";
import type { AbortCause, SignalName } from "./contract/outcome.ts";
import type { Host } from "./host.ts";
import type { Stdin } from "./input.ts";
import { main } from "./main.ts";
import { killAllGroups } from "./tools/kill-all.ts";

const signals: readonly SignalName[] = ["SIGHUP", "SIGINT", "SIGTERM"];
/** How long something forgotten may keep the process alive once all is done and written, in milliseconds. */
const lingerMs = 250;

const controller = new AbortController();
let cause: AbortCause | undefined;

function abort(reason: AbortCause): void {
  if (cause !== undefined) return;
  cause = reason;
  controller.abort(reason);
}

let signalled = false;
for (const signal of signals)
  process.on(signal, () => {
    // The first signal ends the run in order; the second ends the process as it stands.
    if (signalled) {
      killAllGroups();
      process.exit(128 + constants.signals[signal]);
    }
    signalled = true;
    abort({ kind: "signal", signal });
  });

const host: Host = {
  argv: process.argv.slice(2),
  env: process.env,
  cwd: process.cwd(),
  stdin: { kind: stdinKind(), stream: () => process.stdin },
  stdout: { fd: 1, isTerminal: isatty(1) },
  stderr: { fd: 2, isTerminal: isatty(2), columns: () => process.stderr.columns ?? 80 },
  pid: process.pid,
  signal: controller.signal,
  cause: () => cause,
  abort,
};

process.exitCode = await main(host);
if (controller.signal.aborted) killAllGroups();
// All is flushed by now. Whatever still keeps the loop alive (a socket that the other side holds open) must not.
setTimeout(() => process.exit(), lingerMs).unref();

function stdinKind(): Stdin["kind"] {
  try {
    const stats = fstatSync(0);
    if (isatty(0) || stats.isDirectory()) return "none";
    return stats.isFIFO() || stats.isSocket() ? "pipe" : "file";
  } catch {
    return "none";
  }
}
