import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { descendantsOf } from "../../src/runs/descendants.ts";
import { psStart } from "../../src/runs/process-start.ts";
import { type Registration, registerRun } from "../../src/runs/registration.ts";
import { listRuns, pruneRuns, pruneWhenMany, readRun } from "../../src/runs/registry.ts";
import { readRecord, runPaths, writeRecord } from "../../src/runs/run-folder.ts";
import { chooseSocketPath } from "../../src/runs/socket-path.ts";
import { findRun } from "../../src/runs/targets.ts";

let root: string;
let runs: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "base-context-runs-"));
  runs = join(root, "runs");
});

afterEach(() => rmSync(root, { recursive: true }));

const about = {
  mode: "json",
  provider: "fake",
  model: "m",
  cwd: "/work",
  startedAt: "2026-01-01T00:00:00.000Z",
  resident: false,
};

function register(id: string, more: Partial<typeof about & { name: string }> = {}): Registration {
  return registerRun({ runs, about: { ...about, id, ...more }, pid: process.pid, runtimeFolder: undefined });
}

/** Makes a registered run one of a process that is gone. */
function bury(id: string): void {
  const folder = join(runs, id);
  const record = readRecord(folder);
  if (record === undefined) throw new Error(`there is no run ${id}`);
  writeRecord(folder, { ...record, process: { ...record.process, startTime: "1" } });
}

describe("a registered run", () => {
  test("is found with all that it tells, in a folder of its own, whatever the umask", () => {
    const before = process.umask(0);
    try {
      register("0000aaaa", { name: "n" });
    } finally {
      process.umask(before);
    }
    const folder = join(runs, "0000aaaa");
    const [run, ...others] = listRuns(runs);
    expect(others).toEqual([]);
    expect(run).toEqual({
      folder,
      isLive: true,
      record: {
        ...about,
        id: "0000aaaa",
        name: "n",
        process: {
          pid: process.pid,
          host: hostname(),
          startTime: expect.any(String),
          bootId: expect.any(String),
        },
        socket: join(folder, "control.sock"),
      },
    });
    expect([runs, folder, runPaths(folder).record].map((path) => statSync(path).mode & 0o777)).toEqual([
      0o700, 0o700, 0o600,
    ]);
  });

  test("tells what changes, leaves its result, and tells nothing after that", () => {
    const { update, finish } = register("0000aaaa");
    update({ name: "later", model: "other" });
    const result = { status: 3, why: "a gate", exitedAt: "2026-01-01T00:00:01.000Z", usage: { input: 1 } };
    finish(result);
    update({ name: "too late" });
    finish({ ...result, status: 0 });
    const run = readRun(join(runs, "0000aaaa"));
    expect(run).toMatchObject({ isLive: false, record: { name: "later", model: "other" } });
    expect(run?.result).toEqual({ ...result, process: run?.record.process });
  });

  test("moves when it goes on with another session, with its socket", () => {
    const { update, folder, record } = register("0000aaaa");
    register("0000bbbb");
    writeFileSync(record().socket, "");
    update({ id: "0000bbbb" });
    expect(readdirSync(runs)).toEqual(["0000bbbb"]);
    expect(folder()).toBe(join(runs, "0000bbbb"));
    expect(record().socket).toBe(join(runs, "0000bbbb", "control.sock"));
    expect(existsSync(record().socket)).toBe(true);
    expect(listRuns(runs).map(({ record: { id } }) => id)).toEqual(["0000bbbb"]);
  });

  test("takes the place of an earlier run of its session, whose result counts no more", () => {
    const first = register("0000aaaa");
    bury("0000aaaa");
    for (const name of ["events.jsonl", "stdout", "stderr"])
      writeFileSync(join(runs, "0000aaaa", name), "old");
    const second = register("0000aaaa");
    expect(readdirSync(second.folder())).toEqual(["run.json"]);
    second.finish({ status: 0, exitedAt: "2026-01-01T00:00:02.000Z" });
    bury("0000aaaa");
    first.finish({ status: 1, exitedAt: "2026-01-01T00:00:03.000Z" });
    expect(readRun(first.folder())?.result).toBe(undefined);
  });
});

describe("a run whose process is gone", () => {
  test("is exited, and its socket is removed", () => {
    const { record } = register("0000aaaa");
    writeFileSync(record().socket, "");
    bury("0000aaaa");
    expect(readRun(join(runs, "0000aaaa"))).toMatchObject({ isLive: false });
    expect(existsSync(record().socket)).toBe(false);
  });

  test("of another machine is taken for alive: nobody here can know", () => {
    const { folder, record } = register("0000aaaa");
    writeRecord(folder(), {
      ...record(),
      process: { ...record().process, host: "elsewhere", startTime: "1" },
    });
    expect(readRun(folder())?.isLive).toBe(true);
  });

  test("is told from a later one with its number by when that began, also without /proc", async () => {
    const child = spawn("sleep", ["60"]);
    const pid = child.pid ?? 0;
    const start = psStart(pid);
    expect(start).toMatch(/^\w{3} \w{3} .*\d\d:\d\d:\d\d \d{4}$/);
    const { folder, record } = register("0000aaaa");
    const process = { pid, host: hostname() };
    writeRecord(folder(), { ...record(), process, psStart: start ?? "" });
    expect(readRun(folder())?.isLive).toBe(true);
    writeRecord(folder(), { ...record(), process, psStart: "Thu Jan 1 00:00:00 1970" });
    expect(readRun(folder())?.isLive).toBe(false);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(psStart(pid)).toBe(undefined);
  });
});

test.each([
  ["nothing", undefined],
  ["no JSON", "{"],
  ["no object", "[]"],
  ["no process", '{"id":"0000aaaa","mode":"json"}'],
  ["a field of another kind", '{"pid":1,"host":"h","id":7}'],
])("a run.json that holds %s is no run", (_, content) => {
  mkdirSync(join(runs, "0000aaaa"), { recursive: true });
  if (content !== undefined) writeFileSync(join(runs, "0000aaaa", "run.json"), content);
  expect(listRuns(runs)).toEqual([]);
});

test("there are no runs where there is no folder, and a folder that is none is refused", () => {
  expect(listRuns(runs)).toEqual([]);
  writeFileSync(runs, "");
  expect(() => listRuns(runs)).toThrow("cannot be read");
});

describe("pruning", () => {
  const nowMs = Date.now();
  const hourMs = 3_600_000;

  function ended(id: string, ageMs: number): void {
    register(id).finish({ status: 0, exitedAt: "2026-01-01T00:00:00.000Z" });
    age(id, ageMs);
  }

  function age(name: string, ageMs: number): void {
    utimesSync(join(runs, name), (nowMs - ageMs) / 1000, (nowMs - ageMs) / 1000);
  }

  test("removes what ended a day ago and what a broken start left, and nothing that goes on", () => {
    ended("0000aaaa", 23 * hourMs);
    ended("0000bbbb", 25 * hourMs);
    register("0000cccc");
    age("0000cccc", 1000 * hourMs);
    for (const name of [".start-old", ".start-new"]) mkdirSync(join(runs, name));
    age(".start-old", 2 * hourMs);
    pruneRuns(runs, nowMs);
    expect(readdirSync(runs).sort()).toEqual([".start-new", "0000aaaa", "0000cccc"]);
  });

  test("keeps the latest 200, and looks at nothing before there are many more", () => {
    const name = (index: number) => index.toString(16).padStart(8, "0");
    for (let index = 0; index < 232; index++) ended(name(index), index * 1000);
    pruneWhenMany(runs, nowMs);
    expect(readdirSync(runs)).toHaveLength(232);
    ended(name(232), 232_000);
    pruneWhenMany(runs, nowMs);
    expect(readdirSync(runs).sort()).toEqual(Array.from({ length: 200 }, (_, index) => name(index)));
    rmSync(runs, { recursive: true });
    pruneWhenMany(runs, nowMs);
  });
});

describe("a target", () => {
  const find = async (target: string) =>
    (await findRun({ runs, id: target, signal: new AbortController().signal })).record.id;

  test("is an id, the unique beginning of one, or a name", async () => {
    register("aaaa1111", { name: "one" });
    register("aaaa2222", { name: "two" });
    expect(await Promise.all(["aaaa1111", "aaaa2", "two"].map(find))).toEqual([
      "aaaa1111",
      "aaaa2222",
      "aaaa2222",
    ]);
    await expect(find("aaaa")).rejects.toThrow(
      /"aaaa" means more than one run: aaaa\d{4} \(\w+\), aaaa\d{4}/,
    );
    await expect(find("aaa")).rejects.toThrow('no run has the id or name "aaa" (running: ');
    await expect(find("../../etc")).rejects.toThrow("no run has the id or name");
  });

  test("of one name means the run that goes on, else is ambiguous", async () => {
    register("aaaa1111", { name: "same" });
    bury("aaaa1111");
    register("bbbb2222", { name: "same" });
    expect(await find("same")).toBe("bbbb2222");
    bury("bbbb2222");
    await expect(find("same")).rejects.toThrow("more than one run");
    await expect(find("other")).rejects.toThrow("none is running, ended: ");
  });

  test("lists no more than ten candidates", async () => {
    for (let index = 10; index < 25; index++) register(`aaaa00${index}`);
    await expect(find("aaaa")).rejects.toThrow(/(aaaa00\d\d, ){9}aaaa00\d\d and 5 more/);
    rmSync(runs, { recursive: true });
    await expect(find("aaaa")).rejects.toThrow("(there is none)");
  });

  test("that is an id is awaited for a moment: a run tells it before it can be found", async () => {
    const found = find("aaaa1111");
    register("aaaa1111");
    expect(await found).toBe("aaaa1111");
  });
});

describe("the socket of a run", () => {
  test("is in its folder, or in a short private one where that is too deep", () => {
    expect(chooseSocketPath("/h/runs/abcd", "abcd", undefined)).toBe("/h/runs/abcd/control.sock");
    const deep = `/${"d".repeat(120)}`;
    const path = chooseSocketPath(deep, "abcd", root);
    expect(path.startsWith(join(root, "base-context-"))).toBe(true);
    expect(statSync(join(path, "..")).mode & 0o777).toBe(0o700);
    expect(chooseSocketPath(deep, "abcd", root)).toBe(path);
    expect(Buffer.byteLength(chooseSocketPath(deep, "abcd", deep))).toBeLessThan(104);
  });

  test("is not in a folder that others can get at", () => {
    const deep = `/${"d".repeat(120)}`;
    const first = join(chooseSocketPath(deep, "abcd", root), "..");
    const open = statSync(first);
    expect(open.isDirectory()).toBe(true);
    rmSync(first, { recursive: true });
    mkdirSync(first, { mode: 0o777 });
    expect(join(chooseSocketPath(deep, "abcd", root), "..")).not.toBe(first);
  });
});

test("descendants are children and theirs, also in sessions of their own", async () => {
  const child = spawn("sh", ["-c", "setsid sh -c 'sleep 60 & echo $!; wait' & wait"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [line] = await once(child.stdout, "data");
  const sleeper = Number(String(line));
  const found = descendantsOf(child.pid ?? 0);
  expect(found).toContain(sleeper);
  expect(found).not.toContain(child.pid);
  expect(readFileSync(`/proc/${sleeper}/cmdline`, "utf8")).toContain("sleep");
  for (const pid of found) process.kill(pid, "SIGKILL");
  child.kill("SIGKILL");
});
