import { type ChildProcess, spawn } from "node:child_process";
import { on, once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleProgram } from "../support/program.ts";

// The program writes so many numbered lines to stdout, and says on stderr what became of it. It pauses after each (or
// after a hundred, for 0 ms); with a pause below 0 it waits for nothing but the writer.
const source = `
import { setTimeout } from "node:timers/promises";
import { createWriter } from "./sinks/writer.ts";
const [count, bytes, pauseMs] = process.argv.slice(2).map(Number);
const told = { gone: 0, errors: [], signals: 0, sent: 0, peakMb: 0 };
const stop = new AbortController();
const writer = createWriter({
  fd: 1,
  onGone: () => { told.gone++; stop.abort(); },
  onError: (error) => { told.errors.push(error.code); stop.abort(); },
});
process.on("SIGUSR2", () => { told.signals++; process.stderr.write("signal\\n"); });
process.stderr.write("started\\n");
const filler = "x".repeat(Math.max(0, bytes - 9));
for (let n = 1; n <= count && !stop.signal.aborted; n++) {
  const number = String(n).padStart(8, "0");
  if (n % 2 === 0) writer.write(number + filler + "\\n");
  else writer.writeParts([number, Buffer.from(filler), "\\n"]);
  told.sent = n;
  await writer.ready();
  if (pauseMs > 0 || (pauseMs === 0 && n % 100 === 0)) await setTimeout(pauseMs, undefined, { signal: stop.signal }).catch(() => {});
  if (n % 1000 === 0) told.peakMb = Math.max(told.peakMb, process.memoryUsage.rss() / 1e6);
}
await writer.close();
writer.write("dropped\\n");
await writer.close();
process.stderr.write(JSON.stringify(told) + "\\n");
`;

type Told = { gone: number; errors: string[]; signals: number; sent: number; peakMb: number };

let program: { path: string; remove: () => void };

beforeAll(async () => {
  program = await bundleProgram(source);
});

afterAll(() => program.remove());

/** Runs a shell command in which "$BC" is the program. */
function shell(command: string): ChildProcess {
  return spawn("bash", ["-c", command], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, BC: program.path, NODE: process.execPath },
  });
}

async function end(child: ChildProcess): Promise<{ status: number | null; stdout: string; stderr: string }> {
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const [status] = await once(child, "close");
  return { status, stdout, stderr };
}

function toldBy(stderr: string): Told {
  return JSON.parse(stderr.trimEnd().split("\n").at(-1) ?? "");
}

function expected(count: number, bytes: number): string {
  const filler = "x".repeat(Math.max(0, bytes - 9));
  return Array.from({ length: count }, (_, n) => `${String(n + 1).padStart(8, "0")}${filler}\n`).join("");
}

const whole: readonly [string, string][] = [
  ["a pipe", '"$NODE" "$BC" 20000 100 0 | cat'],
  ["a pipe that is read slowly", '"$NODE" "$BC" 20000 100 0 | (sleep 0.5; cat)'],
  ["a socket", '"$NODE" "$BC" 20000 100 0'],
  [
    "a pipe that is non-blocking",
    `python3 -c '
import os, shutil, subprocess, sys, time
r, w = os.pipe()
os.set_blocking(w, False)
subprocess.Popen(sys.argv[1:], stdout=w)
os.close(w)
time.sleep(0.3)
shutil.copyfileobj(os.fdopen(r, "rb"), sys.stdout.buffer)' "$NODE" "$BC" 20000 100 0`,
  ],
  ["a pipe that others write to", '(printf ""; "$NODE" "$BC" 20000 100 0; printf "") | (sleep 0.2; cat)'],
  [
    "a named pipe",
    'd=$(mktemp -d); mkfifo "$d/p"; cat "$d/p" & "$NODE" "$BC" 20000 100 0 >"$d/p"; wait; rm -r "$d"',
  ],
];

test.each(whole)("every line arrives through %s, whole and in order", async (_, command) => {
  const { stdout, stderr } = await end(shell(command));
  expect(stdout === expected(20_000, 100)).toBe(true);
  expect(toldBy(stderr)).toMatchObject({ gone: 0, errors: [], sent: 20_000 });
});

test("every line arrives in a file, behind what was there", async () => {
  const folder = await mkdtemp(join(tmpdir(), "base-context-writer-"));
  const file = join(folder, "out");
  await end(shell(`echo first >'${file}'; "$NODE" "$BC" 20000 100 0 >>'${file}'; echo last >>'${file}'`));
  expect((await readFile(file, "utf8")) === `first\n${expected(20_000, 100)}last\n`).toBe(true);
  await rm(folder, { recursive: true });
});

test("every line arrives on a terminal", async () => {
  const { stdout } = await end(
    shell(`script -qec "'$NODE' '$BC' 5000 60 0 2>/dev/null" /dev/null </dev/null`),
  );
  expect(stdout.replaceAll("\r\n", "\n") === expected(5000, 60)).toBe(true);
});

test("one line that is larger than a pipe arrives whole", async () => {
  const { stdout } = await end(shell('"$NODE" "$BC" 3 3000000 0 | (sleep 0.2; cat)'));
  expect(stdout === expected(3, 3_000_000)).toBe(true);
});

test.each([
  ["a pipe", '"$NODE" "$BC" 100000 1000 0 | head -n 1'],
  ["a socket", ""],
])("a reader of %s that goes away ends it once, without an error", async (_, command) => {
  const child = command === "" ? shell('exec "$NODE" "$BC" 100000 1000 0') : shell(command);
  if (command === "") child.stdout?.once("data", () => child.stdout?.destroy());
  const { stderr } = await end(child);
  const told = toldBy(stderr);
  expect(told).toMatchObject({ gone: 1, errors: [] });
  expect(told.sent).toBeLessThan(100_000);
});

test("a pipe that others hold too stays as blocking as it was", async () => {
  const script = `
import os, subprocess, sys
r, w = os.pipe()
subprocess.run(sys.argv[1:], stdout=w, check=True)
sys.stdout.write(str(os.get_blocking(w)))`;
  const { stdout } = await end(shell(`python3 -c '${script}' "$NODE" "$BC" 10 100 0`));
  expect(stdout).toBe("True");
});

test.each([1, 100_000])("a full disk is told once, after %d lines", async (count) => {
  const { stderr } = await end(shell(`"$NODE" "$BC" ${count} 100 0 >/dev/full`));
  expect(toldBy(stderr)).toMatchObject({ gone: 0, errors: ["ENOSPC"] });
});

test("a reader that was never there is told once", async () => {
  const { stderr } = await end(shell('(sleep 0.3; exec "$NODE" "$BC" 1 100 0) | true'));
  expect(toldBy(stderr)).toMatchObject({ gone: 1, errors: [] });
});

test("a closed stdout is no crash", async () => {
  const { stderr, status } = await end(shell('"$NODE" "$BC" 1000 100 0 >&-'));
  expect({ status, told: toldBy(stderr) }).toMatchObject({ status: 0, told: { gone: 0, errors: [] } });
});

test("a reader that stalls stalls the writer, and signals still arrive", async () => {
  const child = shell('exec "$NODE" "$BC" 200000 1000 0 > >(sleep 1.5; exec cat)');
  const ended = end(child);
  await heard(child, "started\n");
  setTimeout(() => child.kill("SIGUSR2"), 700);
  await heard(child, "signal\n");
  const { stdout, stderr: said } = await ended;
  expect(stdout.length).toBe(200_000 * 1000);
  const told = toldBy(said);
  expect(told).toMatchObject({ gone: 0, errors: [], signals: 1, sent: 200_000 });
  expect(told.peakMb).toBeLessThan(150);
});

test("signals arrive while lines are written without a pause", async () => {
  const child = shell('exec "$NODE" "$BC" 1000000000 100 -1 >/dev/null');
  await heard(child, "started\n");
  child.kill("SIGUSR2");
  await heard(child, "signal\n");
  child.kill("SIGKILL");
});

/** Resolves when the program said this on stderr. */
async function heard(child: ChildProcess, word: string): Promise<void> {
  for await (const [text] of on(child.stderr ?? child, "data")) if (String(text).includes(word)) return;
}
