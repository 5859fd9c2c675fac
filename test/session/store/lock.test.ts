import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { acquireLock, LockedError } from "../../../src/session/store/lock.ts";
import { useFolders } from "../samples.ts";

const makeFolder = useFolders();

/** A process that has ended and is reaped. */
function deadPid(): number {
  return spawnSync(process.execPath, ["-e", ""]).pid;
}

function holder(fields: object): string {
  return `${JSON.stringify({ pid: process.pid, host: hostname(), ...fields })}\n`;
}

test("one process holds a lock, and gives it back once", () => {
  const path = join(makeFolder(), "lock");
  const lock = acquireLock(path, process.pid);
  expect(() => acquireLock(path, process.pid)).toThrow(LockedError);
  expect(JSON.parse(readFileSync(path, "utf8")).pid).toBe(process.pid);
  lock.release();
  expect(existsSync(path)).toBe(false);
  const next = acquireLock(path, process.pid);
  lock.release();
  expect(existsSync(path)).toBe(true);
  next.release();
});

test("a lock leaves no other files behind", () => {
  const folder = makeFolder();
  writeFileSync(join(folder, "lock"), holder({ pid: deadPid() }));
  const lock = acquireLock(join(folder, "lock"), process.pid);
  expect(readdirSync(folder)).toEqual(["lock"]);
  lock.release();
  expect(readdirSync(folder)).toEqual([]);
});

const dead: [string, () => string][] = [
  ["a process that is gone", () => holder({ pid: deadPid() })],
  ["an earlier process with the same number", () => holder({ startTime: "1" })],
  ["a process of before the last boot", () => holder({ bootId: "another" })],
  ["nobody: the machine crashed while it was written", () => ""],
];
test.each(dead)("the lock of %s is taken over", (_, content) => {
  const path = join(makeFolder(), "lock");
  writeFileSync(path, content());
  const lock = acquireLock(path, process.pid);
  expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ pid: process.pid });
  lock.release();
});

test("the lock of a dead process is taken over also where another died doing that", () => {
  const folder = makeFolder();
  for (const name of ["lock", "lock.takeover", "lock.takeover.takeover"]) {
    writeFileSync(join(folder, name), holder({ pid: deadPid() }));
  }
  acquireLock(join(folder, "lock"), process.pid).release();
  expect(readdirSync(folder)).toEqual([]);
});

const alive: [string, object, boolean][] = [
  ["a living process", {}, true],
  ["a process of another machine", { pid: 1, host: "elsewhere" }, false],
];
test.each(alive)("the lock of %s is refused", (_, fields, local) => {
  const path = join(makeFolder(), "lock");
  writeFileSync(path, holder(fields));
  expect(() => acquireLock(path, process.pid)).toThrow(LockedError);
  try {
    acquireLock(path, process.pid);
  } catch (error) {
    expect(error).toMatchObject({ local, holder: JSON.parse(holder(fields)) });
  }
});

test("a killed process that nobody has reaped is dead", async () => {
  const path = join(makeFolder(), "lock");
  // The shell's child becomes a zombie, since the sleep that replaces the shell never waits for it.
  const parent = spawn("bash", ["-c", "sleep 60 & echo $!; exec sleep 60"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  try {
    const [said] = (await once(parent.stdout, "data")) as [Buffer];
    const pid = Number(said.toString());
    const parentName = () => readFileSync(`/proc/${parent.pid}/comm`, "utf8").trim();
    await expect.poll(parentName).toBe("sleep");
    process.kill(pid, "SIGKILL");
    const isZombie = () => /\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
    await expect.poll(isZombie).toBe(true);
    writeFileSync(path, holder({ pid }));
    acquireLock(path, process.pid).release();
  } finally {
    parent.kill("SIGKILL");
    await once(parent, "exit");
  }
});

test("of many processes that take over a dead lock at once exactly one wins", async () => {
  const folder = makeFolder();
  await build({
    stdin: {
      contents: `
        import { acquireLock } from "./src/session/store/lock.ts";
        process.stdin.once("data", () => {
          const won = [];
          for (let round = 0; round < 100; round++) {
            try { acquireLock(process.argv[2] + "/lock" + round, process.pid); won.push(round); }
            catch (error) { if (error.name !== "LockedError") throw error; }
          }
          process.stdout.write(JSON.stringify(won));
          process.stdin.once("data", () => process.exit());
        });
        process.stdout.write("ready");
      `,
      resolveDir: process.cwd(),
    },
    bundle: true,
    platform: "node",
    format: "esm",
    logLevel: "error",
    outfile: join(folder, "taker.mjs"),
  });
  const gone = holder({ pid: deadPid() });
  for (let round = 0; round < 100; round++) writeFileSync(join(folder, `lock${round}`), gone);
  const takers = Array.from({ length: 4 }, () =>
    spawn(process.execPath, [join(folder, "taker.mjs"), folder], { stdio: ["pipe", "pipe", "inherit"] }),
  );
  await Promise.all(takers.map((taker) => once(taker.stdout, "data")));
  // All of them stay alive until all have tried.
  const answers = takers.map((taker) => once(taker.stdout, "data"));
  for (const taker of takers) taker.stdin.write("go");
  const won = (await Promise.all(answers)).map(([bytes]) => JSON.parse(String(bytes)) as number[]);
  for (const taker of takers) taker.stdin.write("end");
  await Promise.all(takers.map((taker) => once(taker, "exit")));
  expect(won.flat().sort((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, round) => round));
});
