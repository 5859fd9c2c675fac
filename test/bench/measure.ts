import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import type { Arrival } from "./provider.ts";

/** How a program is started. */
export type Command = {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
};

/** What one run took. A measure that a run does not have is NaN. */
export type Sample = {
  /** Spawn to the end of the first line on stdout. */
  readonly firstMs: number;
  /** Spawn to the end of the process and its output. */
  readonly wholeMs: number;
  /** Spawn to the arrival of the first request. */
  readonly requestMs: number;
  readonly requestBytes: number;
  /** The median time from the sending of a delta to its arrival here. */
  readonly latencyMs: number;
  /** The median time from a request to the next one, of the first 50 turns (but the first) and of the last 50. */
  readonly firstTurnsMs: number;
  readonly lastTurnsMs: number;
  readonly cpuMs: number;
  readonly peakMb: number;
  readonly outputMb: number;
};

export type Measurement = {
  /** The program is Node's and preloads usage.cjs; of any other it is sampled what it uses. */
  readonly usage: "preloaded" | "sampled" | "none";
  /** Where the provider tells of the run's requests. */
  readonly logUrl: string;
};

/** Runs a program once. Throws when it fails. */
export async function measure(command: Command, { usage, logUrl }: Measurement): Promise<Sample> {
  const startedAtNs = process.hrtime.bigint();
  const since = () => Number(process.hrtime.bigint() - startedAtNs) / 1e6;
  const child = spawn(command.file, command.args, {
    cwd: command.cwd,
    env: { ...command.env },
    stdio: ["ignore", "pipe", "pipe", ...(usage === "preloaded" ? (["pipe"] as const) : [])],
  });
  const output = watchOutput(child, since);
  const stopSampling = usage === "sampled" ? sample(child.pid ?? 0) : undefined;
  const [, , , usagePipe] = child.stdio;
  const reported = usagePipe && "read" in usagePipe ? text(usagePipe) : Promise.resolve("{}");
  const stderr = child.stderr ? text(child.stderr) : Promise.resolve("");
  const [status] = await once(child, "close");
  const wholeMs = since();
  const used = { cpuMs: Number.NaN, peakMb: Number.NaN, ...JSON.parse(await reported), ...stopSampling?.() };
  if (status !== 0) throw new Error(`${command.args.join(" ")}: status ${status}: ${await stderr}`);
  const arrivals: readonly Arrival[] = JSON.parse(await (await fetch(logUrl)).text());
  return { ...output(), ...turns(arrivals, startedAtNs), ...used, wholeMs };
}

function watchOutput(child: ChildProcess, since: () => number) {
  let firstMs = Number.NaN;
  let bytes = 0;
  let lastMark = 0n;
  const latenciesMs: number[] = [];
  child.stdout?.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (Number.isNaN(firstMs) && chunk.includes(10)) firstMs = since();
    if (bytes > maxMarkedBytes || !chunk.includes(markStart)) return;
    const now = process.hrtime.bigint();
    for (const [, mark = ""] of chunk.toString("latin1").matchAll(/t(\d{20})/g)) {
      if (BigInt(mark) <= lastMark) continue;
      lastMark = BigInt(mark);
      latenciesMs.push(Number(now - lastMark) / 1e6);
    }
  });
  return () => ({ firstMs, latencyMs: median(latenciesMs), outputMb: bytes / 1e6 });
}

/** Only the case of the paced deltas has marks, and it is a short one. */
const maxMarkedBytes = 5_000_000;
/** The time is written with more digits than it ever has. */
const markStart = "t0";

function turns(arrivals: readonly Arrival[], startedAtNs: bigint) {
  const [first] = arrivals;
  const times = arrivals.map(({ atNs }) => Number(BigInt(atNs) - startedAtNs) / 1e6);
  const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
  return {
    requestMs: times[0] ?? Number.NaN,
    requestBytes: first?.bytes ?? Number.NaN,
    firstTurnsMs: median(gaps.slice(1, 51)),
    lastTurnsMs: median(gaps.slice(-50)),
  };
}

/** Looks every few milliseconds at what a process has used so far. */
function sample(pid: number): () => { cpuMs: number; peakMb: number } {
  let cpuMs = Number.NaN;
  let peakMb = Number.NaN;
  const look = () => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
      const [user = 0, system = 0] = stat.slice(stat.lastIndexOf(")")).split(" ").slice(12, 14).map(Number);
      const peakKb = /^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1];
      if (peakKb === undefined) return;
      cpuMs = (user + system) * 10;
      peakMb = Number(peakKb) / 1024;
    } catch {
      // It has ended.
    }
  };
  const timer = setInterval(look, 10);
  return () => {
    clearInterval(timer);
    return { cpuMs, peakMb };
  };
}

/** NaN for no values. */
export function median(values: readonly number[]): number {
  const sorted = values.filter((value) => !Number.isNaN(value)).sort((a, b) => a - b);
  const middle = sorted.length / 2;
  if (sorted.length === 0) return Number.NaN;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle) - 1] ?? 0)) / 2;
}
