import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { checkStream } from "../support/grammar.ts";
import { cliPath, type Line } from "../support/run-cli.ts";
import { createWorkspace } from "../support/workspace.ts";

const serverPath = fileURLToPath(new URL("../support/flood-server.mjs", import.meta.url));
const maxGrowthMb = 40;

type Reading = {
  readonly options: readonly string[];
  /** Of the reply. */
  readonly deltas: number;
  /** How long the reader does nothing at first. */
  readonly stallMs: number;
};

test.each<Reading>([
  { options: ["--json-deltas"], deltas: 200_000, stallMs: 5000 },
  { options: [], deltas: 2500, stallMs: 2000 },
])(
  "a reader that stalls for $stallMs ms and then reads 4 MB/s gets all of $deltas deltas, in little memory: $options",
  async (reading) => {
    const deltas = reading.options.includes("--json-deltas");
    const few = await read({ ...reading, deltas: 1000, stallMs: 0 }, Number.POSITIVE_INFINITY);
    const many = await read(reading, 4_000_000);
    expect(many.stderr).toBe("");
    const lines = many.stdout
      .slice(0, -1)
      .split("\n")
      .map((line): Line => JSON.parse(line));
    const told = lines.flatMap(({ assistantMessageEvent: step }) =>
      step?.type === "text_delta" ? [step.delta] : [],
    );
    const expected = Array.from({ length: reading.deltas }, (_, at) => `${at} `);
    expect(told).toHaveLength(reading.deltas);
    expect(told.join("") === expected.join("")).toBe(true);
    expect(lines.at(-1)?.messages.at(-1).content[0].text === expected.join("")).toBe(true);
    expect(checkStream(lines.filter(isNoDelta), { deltas })).toEqual([]);
    expect(many.peakMb - few.peakMb).toBeLessThan(maxGrowthMb);
  },
  90_000,
);

/** The grammar of the many deltas is what their text was compared for. */
function isNoDelta({ assistantMessageEvent: step }: Line): boolean {
  return step?.type !== "text_delta";
}

/** Runs the program into a pipe and reads it at that speed; gives what arrived and the program's peak memory. */
async function read({ options, deltas, stallMs }: Reading, bytesPerSecond: number) {
  const server = spawn(process.execPath, [serverPath, String(deltas)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [url] = await once(server.stdout, "data");
  const workspace = createWorkspace({ url: String(url).trim() });
  try {
    const program = [process.execPath, cliPath, "--model", "fake/m", "--mode", "json", ...options, "hi"];
    const child = spawn("bash", ["-c", 'exec "$@" > >(exec cat)', "bash", ...program], {
      cwd: workspace.cwd,
      env: { PATH: process.env.PATH, HOME: workspace.home, BASE_CONTEXT_HOME: workspace.home },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const peak = watchMemory(child);
    const [stdout, stderr] = await Promise.all([
      readSlowly(child.stdout, { stallMs, bytesPerSecond }),
      readSlowly(child.stderr, { stallMs: 0, bytesPerSecond: Number.POSITIVE_INFINITY }),
    ]);
    return { stdout, stderr, peakMb: peak() };
  } finally {
    server.kill();
    workspace.remove();
  }
}

async function readSlowly(
  stream: NodeJS.ReadableStream,
  { stallMs, bytesPerSecond }: { stallMs: number; bytesPerSecond: number },
): Promise<string> {
  await sleep(stallMs);
  const startMs = performance.now();
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    chunks.push(Buffer.from(chunk));
    bytes += chunk.length;
    const earlyMs = startMs + (bytes / bytesPerSecond) * 1000 - performance.now();
    if (earlyMs > 5) await sleep(earlyMs);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Watches a process until it ends; gives its peak memory in MB. */
function watchMemory(child: ChildProcess): () => number {
  let peakKb = 0;
  const timer = setInterval(look, 50);
  child.once("exit", () => clearInterval(timer));

  function look(): void {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, "utf8");
      peakKb = Number(/^VmHWM:\s*(\d+) kB/m.exec(status)?.[1] ?? peakKb);
    } catch {
      // It has ended.
    }
  }

  return () => peakKb / 1024;
}
