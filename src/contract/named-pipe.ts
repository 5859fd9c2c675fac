import { closeSync, constants, openSync, statSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { errorMessage } from "./errors.ts";

/** How long a pipe that nobody has opened to write waits for its writer, in milliseconds. */
const writerGraceMs = 3_000;
const pollMs = 10;
const chunkBytes = 64 * 1024;
/** Of what says no size of its own: /dev/zero has no end. */
const maxBytes = 256 * 1024 * 1024;

/**
 * Opens a file for writing, from its beginning. Throws where it is a pipe that nobody reads: to open one waits for its
 * reader, and no signal ends that.
 */
export function openToWrite(path: string, mode?: number): number {
  if (statSync(path, { throwIfNoEntry: false })?.isFIFO() !== true) return openSync(path, "w", mode);
  // Held while the other one is opened: a reader must not see an end between the two.
  const probe = openProbe(path);
  try {
    return openSync(path, "w");
  } finally {
    closeSync(probe);
  }
}

function openProbe(path: string): number {
  try {
    return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch (error) {
    if (errorMessage(error).startsWith("ENXIO")) throw new Error("it is a pipe that nobody reads");
    throw error;
  }
}

/**
 * Reads a file, or a pipe to its end, such as the one that a shell makes of `<(command)`. A pipe waits for its writer
 * until the signal is aborted, and for one to come a few seconds. Rejects with the system's error, with words for what
 * has no end, or with the signal's reason.
 */
export async function readFileOrPipe(path: string, signal?: AbortSignal): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await file.stat();
    if (stats.isFile() || stats.isDirectory()) return await file.readFile();
    return await readToEnd(file, stats.isFIFO() ? Date.now() + writerGraceMs : 0, signal);
  } finally {
    await file.close();
  }
}

async function readToEnd(file: FileHandle, graceEnd: number, signal?: AbortSignal): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  while (size <= maxBytes) {
    signal?.throwIfAborted();
    const chunk = await readChunk(file);
    if (chunk?.length === 0 && (chunks.length > 0 || Date.now() >= graceEnd)) return Buffer.concat(chunks);
    if (chunk === undefined || chunk.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, pollMs));
      continue;
    }
    chunks.push(chunk);
    size += chunk.length;
  }
  throw new Error(`it does not end within ${maxBytes} bytes`);
}

/** Undefined when there is nothing yet; empty when nobody writes. */
async function readChunk(file: FileHandle): Promise<Buffer | undefined> {
  const chunk = Buffer.allocUnsafe(chunkBytes);
  try {
    const { bytesRead } = await file.read(chunk, 0, chunkBytes, null);
    return chunk.subarray(0, bytesRead);
  } catch (error) {
    if (errorMessage(error).startsWith("EAGAIN")) return undefined;
    throw error;
  }
}
