import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { measure, median } from "./measure.ts";
import { programs } from "./programs.ts";
import type { ResultRow } from "./table.ts";

export type ResumeOptions = {
  readonly root: string;
  readonly dist: string;
  readonly folder: string;
  /** The provider's. */
  readonly url: string;
  readonly runs: number;
};

const entryCount = 100_000;
/** Makes the file some 200 MB. */
const textBytes = 1700;
const id = "01234567-89ab-4cde-8f01-23456789abcd";

/** Goes on with a session of 100,000 entries, whose end alone the model gets: the rest was summarised. */
export async function measureResume({ root, dist, folder, url, runs }: ResumeOptions) {
  const home = join(folder, "resume");
  mkdirSync(join(home, "sessions"), { recursive: true, mode: 0o700 });
  const path = join(home, "sessions", `${id}.jsonl`);
  const requests: number[] = [];
  const peaks: number[] = [];
  const counts: number[] = [];
  for (let run = 0; run < runs; run++) {
    writeSession(path, join(home, "work"));
    const startedAt = performance.now();
    spawnSync("wc", ["-l", path]);
    counts.push(performance.now() - startedAt);
    const place = { root, dist, home, url: `${url}/text-10/resume${run}` };
    const command = programs.json.command(place);
    const args = ["--require", `${root}test/bench/usage.cjs`, ...command.args, "--resume", id];
    const sample = await measure(
      { ...command, args },
      { usage: "preloaded", logUrl: `${url}/log/resume${run}` },
    );
    requests.push(sample.requestMs);
    peaks.push(sample.peakMb);
  }
  return toRows({ count: median(counts), request: median(requests), peak: median(peaks) });
}

function toRows({ count, request, peak }: { count: number; request: number; peak: number }): ResultRow[] {
  return [
    {
      title: "spawn to first request; goal: 3 times wc -l, and a second",
      value: request,
      unit: "ms",
      against: count,
      result: request,
      goal: 3 * count + 1000,
      goalUnit: "ms",
    },
    { title: "peak memory", value: peak, unit: "MB", result: peak, goal: 200, goalUnit: "MB" },
  ];
}

function writeSession(path: string, cwd: string): void {
  const timestamp = "2026-01-01T00:00:00.000Z";
  const file = openSync(path, "w", 0o600);
  const write = (lines: readonly object[]) =>
    writeSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  write([{ type: "session", version: 3, id, timestamp, cwd }]);
  const text = "word ".repeat(textBytes / 5);
  for (let at = 0; at < entryCount; at += 100) {
    const indexes = Array.from({ length: 100 }, (_, offset) => at + offset);
    write(
      indexes.map((index) => ({
        ...(index === entryCount - 10 ? summary(idOf(index - 4)) : message(index, text)),
        id: idOf(index),
        parentId: index === 0 ? null : idOf(index - 1),
        timestamp,
      })),
    );
  }
  closeSync(file);
}

function idOf(index: number): string {
  return index.toString(16).padStart(12, "0");
}

function summary(firstKeptEntryId: string): object {
  return { type: "compaction", summary: "What happened before.", firstKeptEntryId, tokensBefore: 100_000 };
}

function message(index: number, text: string): object {
  if (index % 2 === 0) return { type: "message", message: { role: "user", content: text, timestamp: 0 } };
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  return {
    type: "message",
    message: {
      role: "assistant",
      content: [{ type: "text", text }],
      api: "openai-completions",
      provider: "bench",
      model: "m",
      usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, totalTokens: 2, cost },
      stopReason: "stop",
      timestamp: 0,
    },
  };
}
