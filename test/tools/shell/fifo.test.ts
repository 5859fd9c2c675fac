import { closeSync, fstatSync, readSync, writeSync } from "node:fs";
import { expect, test } from "vitest";
import { type Fifo, makeFifos } from "../../../src/tools/shell/fifo.ts";

test.runIf(process.platform === "linux")("one that was given back is used again, empty", async () => {
  const [first] = await make(1);
  writeSync(first.writeFd, "left over");
  const inode = fstatSync(first.readFd).ino;
  close(first);
  first.giveBack();
  const both = await make(2);
  expect(both.map(({ readFd }) => fstatSync(readFd).ino)).toContain(inode);
  for (const [index, fifo] of both.entries()) {
    writeSync(fifo.writeFd, `new ${index}`);
    closeSync(fifo.writeFd);
    expect(readAll(fifo)).toBe(`new ${index}`);
    closeSync(fifo.readFd);
  }
});

test("those that are in use at once have nothing to do with each other", async () => {
  const fifos = [...(await make(2)), ...(await make(1))];
  for (const [index, { writeFd }] of fifos.entries()) {
    writeSync(writeFd, `pipe ${index}`);
    closeSync(writeFd);
  }
  expect(fifos.map(readAll)).toEqual(["pipe 0", "pipe 1", "pipe 2"]);
  expect(new Set(fifos.map(({ buffer }) => buffer)).size).toBe(3);
  for (const { readFd } of fifos) closeSync(readFd);
});

async function make(count: number): Promise<readonly [Fifo, ...Fifo[]]> {
  const [first, ...others] = await makeFifos(count);
  if (first === undefined) throw new Error("no FIFO could be made");
  return [first, ...others];
}

function close({ readFd, writeFd }: Fifo): void {
  closeSync(readFd);
  closeSync(writeFd);
}

function readAll({ readFd }: Fifo): string {
  const buffer = Buffer.alloc(100);
  const length = readSync(readFd, buffer);
  expect(readSync(readFd, buffer, length, 1, null)).toBe(0);
  return buffer.toString("utf8", 0, length);
}
