import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createEventLog } from "../../src/runs/event-log.ts";
import { followLines } from "../../src/runs/follow-log.ts";

let folder: string;
let path: string;
const signal = new AbortController().signal;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "base-context-log-"));
  path = join(folder, "events.jsonl");
});

afterEach(() => rmSync(folder, { recursive: true }));

function unexpected(error: unknown): never {
  throw error;
}

test("a log holds what was written, for its user alone, and refuses a file that is there", async () => {
  const log = createEventLog({ path, maxBytes: 100, onError: unexpected });
  log.write("a\n");
  log.writeParts(["b", Buffer.from("c\n")]);
  expect(readFileSync(path, "utf8")).toBe("");
  await log.close();
  log.write("late\n");
  await log.close();
  expect(readFileSync(path, "utf8")).toBe("a\nbc\n");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(() => createEventLog({ path, maxBytes: 100, onError: unexpected })).toThrow("EEXIST");
});

test("a log that becomes too long ends with a line that says so", async () => {
  const log = createEventLog({ path, maxBytes: 9, onError: unexpected });
  for (const line of ["1234\n", "5678\n", "9\n"]) {
    log.write(line);
    log.flush();
  }
  await log.close();
  expect(readFileSync(path, "utf8")).toBe('1234\n{"type":"log_end","reason":"too_long"}\n');
});

test("following shows what is there and what comes, and leaves out a line that was never ended", async () => {
  writeFileSync(path, "one\ntwo\nthr");
  let isOver = false;
  const lines: string[] = [];
  for await (const line of followLines(path, { isOver: () => isOver, signal })) {
    lines.push(line);
    if (line === "two") writeFileSync(path, "ee\nfour\nfi", { flag: "a" });
    if (line === "four") isOver = true;
  }
  expect(lines).toEqual(["one", "two", "three", "four"]);
});

test("what was written just before the end is shown", async () => {
  writeFileSync(path, "one\n");
  const lines: string[] = [];
  const isOver = () => {
    writeFileSync(path, "last\n", { flag: "a" });
    return true;
  };
  for await (const line of followLines(path, { isOver, signal })) lines.push(line);
  expect(lines).toEqual(["one", "last"]);
});

test("following ends when it is aborted, also while nothing comes", async () => {
  writeFileSync(path, "one\n");
  const controller = new AbortController();
  const lines = followLines(path, { isOver: () => false, signal: controller.signal });
  await lines.next();
  const next = lines.next();
  controller.abort(new Error("enough"));
  await expect(next).rejects.toThrow();
});

test("long lines, many lines and characters that are cut in two arrive whole", async () => {
  const expected = ["é".repeat(300_000), ...Array.from({ length: 5000 }, (_, index) => `line ${index}`), ""];
  writeFileSync(path, expected.map((line) => `${line}\n`).join(""));
  const lines: string[] = [];
  for await (const line of followLines(path, { isOver: () => true, signal })) lines.push(line);
  expect(lines).toEqual(expected);
});
