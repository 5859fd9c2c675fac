import { closeSync, constants, fstatSync, openSync, writeSync, writevSync } from "node:fs";
import type { Socket } from "node:net";

/** The far end of a file descriptor, used so that a reader who does not read never blocks this process. */
export type Output = {
  /**
   * Writes what fits now and gives back what did not (nothing: undefined).
   * Throws the system's error when it can never be written.
   */
  writeNow(parts: readonly Uint8Array[]): Uint8Array | undefined;
  /** Writes bytes that did not fit as there is room for them, then calls `done`, with the error if there was one. */
  writeLater(bytes: Uint8Array, done: (error?: Error) => void): void;
  /** Whether this error means that nobody reads any more. */
  meansReaderGone(error: Error): boolean;
  close(): void;
};

/**
 * Finds out what a file descriptor is and how to write to it.
 *
 * - A file takes everything at once.
 * - A pipe, a terminal or another device is opened a second time, non-blocking: that leaves the flags of the
 *   descriptor that other processes share as they are, and costs a tenth of what touching `process.stdout` does.
 * - A socket (what a parent on Node makes) cannot be opened again, so it goes through `net.Socket`, which makes it
 *   non-blocking. So does a pipe that may not be opened again (another user's, or no /proc).
 */
export function openOutput(fd: number): Output {
  const stats = fstatSync(fd);
  if (stats.isFile()) return immediate(fd);
  const own = stats.isSocket() ? undefined : reopen(fd);
  if (stats.isCharacterDevice()) return own === undefined ? immediate(fd) : device(own);
  return own === undefined ? viaSocket(fd, { isOwn: false }) : viaSocket(own, { isOwn: true });
}

/** How long to wait before a full terminal is tried again. */
const deviceRetryMs = 5;
/** What an untouched socket buffer takes without blocking, on every system. */
const firstWriteMaxBytes = 4096;

function reopen(fd: number): number | undefined {
  try {
    return openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    return undefined;
  }
}

function immediate(fd: number): Output {
  return {
    writeNow: (parts) => writeUntilFull(fd, parts),
    writeLater: (bytes, done) => retry(fd, bytes, done),
    meansReaderGone: (error) => isGone(error),
    close: () => undefined,
  };
}

function device(fd: number): Output {
  return {
    ...immediate(fd),
    // A terminal that was closed answers EIO.
    meansReaderGone: (error) => isGone(error) || codeOf(error) === "EIO",
    close: () => closeSync(fd),
  };
}

function retry(fd: number, bytes: Uint8Array, done: (error?: Error) => void): void {
  setTimeout(() => {
    try {
      const rest = writeUntilFull(fd, [bytes]);
      if (rest === undefined) done();
      else retry(fd, rest, done);
    } catch (error) {
      done(toError(error));
    }
  }, deviceRetryMs);
}

/** `isOwn`: opened here, so non-blocking from the start, and closed in the end. */
function viaSocket(fd: number, { isOwn }: { isOwn: boolean }): Output {
  let nonBlocking = isOwn;
  let untouched = true;
  let socket: Socket | undefined;

  async function attach(): Promise<Socket> {
    // Loaded only here: the header need not wait for it.
    const { Socket } = await import("node:net");
    const attached = new Socket({ fd, readable: false, writable: true });
    // Errors arrive at the callback of the write that met them.
    attached.on("error", () => undefined);
    nonBlocking = true;
    return attached;
  }

  function writeNow(parts: readonly Uint8Array[]): Uint8Array | undefined {
    if (nonBlocking) return writeUntilFull(fd, parts);
    const bytes = Buffer.concat(parts);
    if (!untouched || bytes.length > firstWriteMaxBytes) return bytes;
    untouched = false;
    return writeUntilFull(fd, [bytes]);
  }

  async function writeLater(bytes: Uint8Array, done: (error?: Error) => void): Promise<void> {
    try {
      socket ??= await attach();
      socket.write(bytes, (error) => done(error ?? undefined));
    } catch (error) {
      done(toError(error));
    }
  }

  return {
    writeNow,
    writeLater: (bytes, done) => void writeLater(bytes, done),
    meansReaderGone: (error) => isGone(error),
    close() {
      if (!isOwn) return;
      if (socket === undefined) closeSync(fd);
      else socket.destroy();
    },
  };
}

function writeUntilFull(fd: number, parts: readonly Uint8Array[]): Uint8Array | undefined {
  const [only] = parts;
  if (only === undefined) return undefined;
  let rest = only;
  try {
    if (parts.length > 1) {
      const written = writevSync(fd, parts);
      const total = parts.reduce((sum, part) => sum + part.length, 0);
      if (written === total) return undefined;
      rest = Buffer.concat(parts).subarray(written);
    }
    while (rest.length > 0) rest = rest.subarray(writeSync(fd, rest));
    return undefined;
  } catch (error) {
    if (codeOf(error) !== "EAGAIN") throw error;
    return rest === only && parts.length > 1 ? Buffer.concat(parts) : rest;
  }
}

function isGone(error: Error): boolean {
  const code = codeOf(error);
  return code === "EPIPE" || code === "ECONNRESET" || code === "ERR_STREAM_DESTROYED";
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
