import { randomFillSync } from "node:crypto";
import { closeSync, openSync, readSync } from "node:fs";

/**
 * Random bytes from the system. node:crypto gives the same, but is loaded only where the system has no such file: that
 * takes longer than all else that a session does before its header.
 */
export function randomBytes(count: number): Buffer {
  const bytes = Buffer.alloc(count);
  return readSystem(bytes) ? bytes : randomFillSync(bytes);
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
