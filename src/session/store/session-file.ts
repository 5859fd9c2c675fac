import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  openSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { errorMessage, PersistenceError } from "../../contract/errors.ts";
import { readWhole } from "./lines.ts";
import { createPrivateFile, makePrivateFolder } from "./private-files.ts";

/** A file that only grows, by whole lines. Its one writer holds the session's lock. */
export type SessionFile = {
  readonly path: string;
  /** For reading; changes when the file had to be written anew. */
  descriptor(): number;
  /** Bytes. */
  size(): number;
  /**
   * Writes a line and its newline in one write and returns when the system has them. A write that fails leaves the
   * file as it was. A file that was deleted is written anew, whole.
   *
   * @throws PersistenceError when the line is not in the file, also when another program has changed the file.
   */
  append(line: string): void;
  /** As `append`, for bytes that hold whole lines, or what is missing of one. */
  appendBytes(bytes: Uint8Array): void;
  /** Cuts the file to its first `bytes` bytes. */
  truncate(bytes: number): void;
  /** Writes a file that was deleted since the last append anew, whole, and closes it. Throws as `append`. */
  close(): void;
  /** Closes the file as it is. */
  abandon(): void;
};

/** Makes a session file that does not exist yet, mode 0600. Throws the system's error. */
export function createSessionFile(path: string): SessionFile {
  return toSessionFile(path, createPrivateFile(path));
}

/** Opens an existing session file for appending. Throws the system's error. */
export function openSessionFile(path: string): SessionFile {
  const descriptor = openSync(path, constants.O_RDWR | constants.O_APPEND);
  makePrivate(descriptor);
  return toSessionFile(path, descriptor);
}

const maxPieceBytes = 1 << 20;

function toSessionFile(path: string, opened: number): SessionFile {
  let descriptor = opened;
  let own = fstatSync(descriptor);
  let { size } = own;

  /** The open descriptor still has what the name has lost. */
  function restoreIfDeleted(): void {
    const onDisk = statSync(path, { throwIfNoEntry: false });
    if (onDisk === undefined) {
      descriptor = copyAnew(descriptor, path, size);
      own = fstatSync(descriptor);
      return;
    }
    if (own.ino !== onDisk.ino || own.dev !== onDisk.dev) throw new Error("another file is in its place");
    if (onDisk.size !== size) throw new Error("another program has changed it");
  }

  function appendBytes(bytes: Uint8Array): void {
    try {
      restoreIfDeleted();
      writeOrRollBack(descriptor, bytes, size);
    } catch (error) {
      throw toPersistenceError(path, error);
    }
    size += bytes.length;
  }

  return {
    path,
    descriptor: () => descriptor,
    size: () => size,
    append: (line) => appendBytes(Buffer.from(`${line}\n`)),
    appendBytes,
    truncate(bytes) {
      ftruncateSync(descriptor, bytes);
      size = bytes;
    },
    close() {
      try {
        restoreIfDeleted();
      } catch (error) {
        throw toPersistenceError(path, error);
      } finally {
        closeSync(descriptor);
      }
    },
    abandon: () => closeSync(descriptor),
  };
}

function writeOrRollBack(descriptor: number, bytes: Uint8Array, size: number): void {
  try {
    // A short write on a file means that the rest will not fit; the next one says why.
    for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done);
  } catch (error) {
    ftruncateSync(descriptor, size);
    throw error;
  }
}

/** Copies an unlinked file back to its path and closes it. Returns the new file's descriptor. */
function copyAnew(from: number, path: string, size: number): number {
  makePrivateFolder(dirname(path));
  const to = createPrivateFile(path);
  try {
    copyBytes(from, to, size);
  } catch (error) {
    closeSync(to);
    rmSync(path, { force: true });
    throw error;
  }
  closeSync(from);
  return to;
}

function copyBytes(from: number, to: number, size: number): void {
  const buffer = Buffer.allocUnsafe(Math.min(maxPieceBytes, size));
  for (let done = 0; done < size; ) {
    const piece = buffer.subarray(0, Math.min(buffer.length, size - done));
    readWhole(from, piece, done);
    for (let written = 0; written < piece.length; ) written += writeSync(to, piece, written);
    done += piece.length;
  }
}

/** A session is private also when it was copied here with other modes. */
function makePrivate(descriptor: number): void {
  try {
    if ((fstatSync(descriptor).mode & 0o077) !== 0) fchmodSync(descriptor, 0o600);
  } catch {
    // Somebody else's file, or a file system without modes.
  }
}

function toPersistenceError(path: string, error: unknown): PersistenceError {
  return new PersistenceError(
    `cannot write the session file ${path}: ${errorMessage(error)}; what follows is not saved`,
    { cause: error },
  );
}
