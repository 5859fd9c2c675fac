import { closeSync, fstatSync, openSync, readSync, renameSync, rmSync, writeSync } from "node:fs";
import { linesForward, readLine } from "./lines.ts";
import { createPrivateFile, openPrivateFile } from "./private-files.ts";
import { openSessionFile, type SessionFile } from "./session-file.ts";
import type { SessionScan } from "./session-scan.ts";

/** Tells a person something, in one line. */
export type Warn = (line: string) => void;

/** Where a session's damaged bytes are kept. */
export function tornPath(path: string): string {
  return `${path}.torn`;
}

/** Moves what stands behind the last whole entry to `<file>.torn`. Throws the system's error, the file being whole then. */
export function moveTornTail(file: SessionFile, scan: SessionScan, warn: Warn): void {
  const length = file.size() - scan.wholeBytes;
  if (length === 0) return;
  keepTorn(file.path, [readLine(file.descriptor(), scan.wholeBytes, length)]);
  file.truncate(scan.wholeBytes);
  warn(
    `the last ${length} bytes of ${file.path} were no whole entry; they are now in ${tornPath(file.path)} and the session goes on without them`,
  );
}

/** Moves the lines that begin at `badLines` to `<file>.torn` and puts a file without them in its place, at once. */
export function rewriteWithoutBadLines(
  file: SessionFile,
  badLines: ReadonlySet<number>,
  warn: Warn,
): SessionFile {
  const repaired = `${file.path}.repair`;
  rmSync(repaired, { force: true });
  const descriptor = createPrivateFile(repaired);
  const bad: Buffer[] = [];
  try {
    for (const { start, bytes } of linesForward(file.descriptor(), file.size())) {
      if (badLines.has(start)) bad.push(Buffer.concat([bytes, newline]));
      else if (start + bytes.length < file.size()) writeAll(descriptor, Buffer.concat([bytes, newline]));
      else writeAll(descriptor, bytes);
    }
    keepTorn(file.path, bad);
    renameSync(repaired, file.path);
  } catch (error) {
    rmSync(repaired, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
  file.abandon();
  const lines = bad.length === 1 ? "1 damaged line" : `${bad.length} damaged lines`;
  warn(`${lines} of ${file.path} moved to ${tornPath(file.path)}`);
  return openSessionFile(file.path);
}

const newline = Buffer.from("\n");

function keepTorn(path: string, pieces: readonly Buffer[]): void {
  const descriptor = openPrivateFile(tornPath(path));
  try {
    if (!endsLine(tornPath(path), fstatSync(descriptor).size)) writeAll(descriptor, newline);
    for (const piece of pieces) writeAll(descriptor, piece);
  } finally {
    closeSync(descriptor);
  }
}

function endsLine(path: string, size: number): boolean {
  if (size === 0) return true;
  const descriptor = openSync(path, "r");
  try {
    const last = Buffer.alloc(1);
    readSync(descriptor, last, 0, 1, size - 1);
    return last.equals(newline);
  } finally {
    closeSync(descriptor);
  }
}

function writeAll(descriptor: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done);
}
