import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { expect, test } from "vitest";
import { removeSession } from "../../src/commands/rm.ts";
import { StartupError } from "../../src/contract/errors.ts";
import { useFolders } from "../session/samples.ts";
import { writeSampleSession } from "./sample-session.ts";

const makeFolder = useFolders();

test("rm removes a session that is not in use, with what belongs to it", () => {
  const folder = makeFolder();
  const store = writeSampleSession(folder);
  const remove = () => removeSession({ folder, runs: "/none", id: "mine", pid: process.pid });
  expect(remove).toThrow(
    new StartupError(
      `the session ${store.path} is in use by process ${process.pid}: remove it when that has ended`,
    ),
  );
  expect(existsSync(store.path ?? "")).toBe(true);
  store.close();
  const deadLock = JSON.stringify({ pid: 1, host: hostname(), startTime: "0", bootId: "gone" });
  writeFileSync(`${store.path}.torn`, "");
  writeFileSync(`${store.path}.lock`, deadLock);
  writeFileSync(`${store.path}.lock.takeover`, deadLock);
  writeFileSync(`${store.path}.lock.1.aaaa`, deadLock);
  expect(remove()).toBe(0);
  expect(readdirSync(folder)).toEqual([]);
  expect(remove).toThrow(StartupError);
});

test("rm leaves other sessions alone, and asks which of several is meant", () => {
  const folder = makeFolder();
  const [one, other] = [writeSampleSession(folder), writeSampleSession(folder)];
  one.close();
  other.close();
  const remove = (id: string) => removeSession({ folder, runs: "/none", id, pid: process.pid });
  expect(() => remove("mine")).toThrow(/means more than one session: .*, .*; give more of the id/);
  remove(one.header.id);
  expect(readdirSync(folder)).toEqual([`${other.header.id}.jsonl`]);
});

test("rm does not take the lock of another machine for a dead one", () => {
  const folder = makeFolder();
  const store = writeSampleSession(folder);
  store.close();
  writeFileSync(`${store.path}.lock`, JSON.stringify({ pid: 1, host: "elsewhere" }));
  expect(() => removeSession({ folder, runs: "/none", id: "mine", pid: process.pid })).toThrow(
    /in use by process 1 on the machine elsewhere: .* or remove .*\.lock if that process is gone/,
  );
});
