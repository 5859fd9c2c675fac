import { closeSync, fstatSync, readSync, writeSync } from "node:fs";
import { expect, test } from "vitest";
import { type Fifo, type FifoPair, makeFifos } from "../../src/tools/fifo.ts";

test.runIf(process.platform === "linux")("a pair that was given back is used again, empty", async () => {
  const first = await make();
  writeSync(first.stdout.writeFd, "left over");
  const inode = fstatSync(first.stdout.readFd).ino;
  close(first);
  first.giveBack();
  const second = await make();
  expect(fstatSync(second.stdout.readFd).ino).toBe(inode);
  writeSync(second.stdout.writeFd, "new");
  closeSync(second.stdout.writeFd);
  expect(readAll(second.stdout)).toBe("new");
  for (const fd of [second.stdout.readFd, second.stderr.readFd, second.stderr.writeFd]) closeSync(fd);
});

test("pairs that are in use at once have nothing to do with each other", async () => {
  const pairs = [await make(), await make()];
  for (const [index, { stdout, stderr }] of pairs.entries()) {
    writeSync(stdout.writeFd, `out ${index}`);
    writeSync(stderr.writeFd, `err ${index}`);
    closeSync(stdout.writeFd);
    closeSync(stderr.writeFd);
  }
  expect(pairs.map(({ stdout, stderr }) => [readAll(stdout), readAll(stderr)])).toEqual([
    ["out 0", "err 0"],
    ["out 1", "err 1"],
  ]);
  for (const { stdout, stderr } of pairs) for (const { readFd } of [stdout, stderr]) closeSync(readFd);
});

async function make(): Promise<FifoPair> {
  const pair = await makeFifos();
  if (pair === undefined) throw new Error("no FIFO could be made");
  return pair;
}

function close({ stdout, stderr }: FifoPair): void {
  for (const { readFd, writeFd } of [stdout, stderr]) {
    closeSync(readFd);
    closeSync(writeFd);
  }
}

function readAll({ readFd }: Fifo): string {
  const buffer = Buffer.alloc(100);
  const length = readSync(readFd, buffer);
  expect(readSync(readFd, buffer, length, 1, null)).toBe(0);
  return buffer.toString("utf8", 0, length);
}
