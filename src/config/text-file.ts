import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from "node:fs";
import { errorMessage } from "../contract/errors.ts";

/** A text that somebody wrote for the model. */
export type TextFile = {
  readonly path: string;
  /** Without a byte order mark, with LF as its line ends; the first `maxBytes` of the file, cut between characters. */
  readonly text: string;
  /** Of the whole file. */
  readonly sizeBytes: number;
  readonly isCut: boolean;
  /** The same for two paths that lead to one file. */
  readonly identity: string;
};

export type TextFileOptions = {
  readonly maxBytes: number;
  /** Takes one line about a file that is there and cannot be used. */
  readonly warn: (line: string) => void;
};

/**
 * Reads the beginning of a UTF-8 file; undefined when there is none. One that cannot be read, is not text or is no
 * regular file is warned of and treated as if it were not there. Never waits, whatever the path leads to.
 */
export function readTextFile(path: string, { maxBytes, warn }: TextFileOptions): TextFile | undefined {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return undefined;
    return read(path, found, maxBytes);
  } catch (error) {
    if (codeOf(error) !== "ENOTDIR") warn(`${showPath(path)} is left out: ${reason(error)}`);
    return undefined;
  }
}

/** A path on one line. */
export function showPath(path: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: names may hold them
  return /[\x00-\x1f\x7f]/.test(path) ? JSON.stringify(path) : path;
}

/** Why a file is not read as text. */
class NotTextError extends Error {}

function read(path: string, found: Stats, maxBytes: number): TextFile {
  refuse(found);
  // A file of the kernel says 0 and may keep its reader waiting.
  if (found.size === 0) return textFile(path, found, Buffer.alloc(0));
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const opened = fstatSync(fd);
    refuse(opened);
    return textFile(path, opened, readHead(fd, Math.min(opened.size, maxBytes)));
  } finally {
    closeSync(fd);
  }
}

function refuse(stats: Stats): void {
  if (stats.isDirectory()) throw new NotTextError("it is a directory");
  if (!stats.isFile()) throw new NotTextError("it is not a regular file");
}

function readHead(fd: number, byteCount: number): Buffer {
  const head = Buffer.allocUnsafe(byteCount);
  let filled = 0;
  while (filled < byteCount) {
    const count = readSync(fd, head, filled, byteCount - filled, null);
    if (count === 0) break;
    filled += count;
  }
  return head.subarray(0, filled);
}

function textFile(path: string, { dev, ino, size }: Stats, head: Buffer): TextFile {
  const isCut = head.length < size;
  return {
    path,
    text: decode(head, isCut).replaceAll("\r\n", "\n"),
    sizeBytes: size,
    isCut,
    identity: `${dev}:${ino}`,
  };
}

function decode(bytes: Buffer, isCut: boolean): string {
  if (bytes.includes(0)) throw new NotTextError("it is binary");
  try {
    // Of a character that the cut went through, nothing comes out.
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: isCut });
  } catch {
    throw new NotTextError("it is not UTF-8 text; save it as UTF-8");
  }
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: "it may not be read; check its permissions",
  EPERM: "it may not be read; check its permissions",
  ELOOP: "its symbolic links go in a circle",
};

function reason(error: unknown): string {
  return reasons[codeOf(error) ?? ""] ?? errorMessage(error);
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
