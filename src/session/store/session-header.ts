import { fstatSync, realpathSync, statSync } from "node:fs";
import { errorMessage, StartupError } from "../../contract/errors.ts";
import type { SessionHeader } from "../../contract/events.ts";
import { toHeader } from "./entry-schema.ts";
import { readWhole } from "./lines.ts";
import { errorCode } from "./private-files.ts";

/** A session file's first line. */
export type HeaderLine = {
  readonly header: SessionHeader;
  /** Bytes up to the newline, or to the end of the file where there is none. */
  readonly length: number;
};

/**
 * Resolves links, so that one file has one lock, and proves that it is a plain file: opening others may never return.
 *
 * @throws StartupError when there is none.
 */
export function sessionFilePath(path: string): string {
  try {
    const real = realpathSync(path);
    if (statSync(real).isFile()) return real;
  } catch (error) {
    if (errorCode(error) === "ENOENT") throw new StartupError(`there is no session file ${path}`);
    throw new StartupError(`cannot open the session file ${path}: ${errorMessage(error)}`);
  }
  throw new StartupError(`${path} is no session file: it is not a regular file`);
}

/** Reads the header of an open session file. Throws a StartupError when it is none that is understood. */
export function readHeader(descriptor: number, path: string): HeaderLine {
  const { size } = fstatSync(descriptor);
  if (size === 0) throw new StartupError(`${path} is no session file: it is empty`);
  let bytes = readStart(descriptor, Math.min(size, usualHeaderBytes));
  if (!bytes.includes(newline)) bytes = readStart(descriptor, Math.min(size, maxHeaderBytes));
  const at = bytes.indexOf(newline);
  const length = at < 0 ? bytes.length : at;
  const header = toHeader(bytes.subarray(0, length));
  if (typeof header === "string") throw new StartupError(`${path} is no session file: ${header}`);
  return { header, length };
}

const newline = 10;
const usualHeaderBytes = 1 << 10;
const maxHeaderBytes = 1 << 16;

function readStart(descriptor: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  readWhole(descriptor, bytes, 0);
  return bytes;
}
