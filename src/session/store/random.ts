import { randomFillSync } from "node:crypto";
import { closeSync, openSync, readSync } from "node:fs";

/** Bytes that were read ahead: each entry of a session takes a few. */
let pool = Buffer.alloc(0);
const poolBytes = 1024;

/**
 * Random bytes from the system, each given once. node:crypto gives the same, but is loaded only where the system has no
 * such file: that takes longer than all else that a session does before its header.
 */
export function randomBytes(count: number): Buffer {
  if (pool.length < count) {
    pool = Buffer.alloc(Math.max(poolBytes, count));
    if (!readSystem(pool)) randomFillSync(pool);
  }
  const bytes = pool.subarray(0, count);
  pool = pool.subarray(count);
  return bytes;
}

/** A random UUID (version 4). */
export function randomUuid(): string {
  const bytes = randomBytes(16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

function readSystem(bytes: Buffer): boolean {
  let descriptor: number | undefined;
  try {
    descriptor = openSync("/dev/urandom", "r");
    return readSync(descriptor, bytes) === bytes.length;
  } catch {
    return false;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
