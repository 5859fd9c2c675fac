import { Socket } from "node:net";
import type { Fifo } from "./fifo.ts";

/** Reads one output pipe of a process. */
export type OutputReader = {
  /** Resolves when every process that could write is gone. */
  readonly ended: Promise<void>;
  hasEnded(): boolean;
  /** How much came so far. */
  bytes(): number;
  /**
   * Goes on reading, but slowly, throws away what comes and no longer keeps this process alive: a background child
   * that logs is neither killed by a closed pipe nor blocked by a full one.
   */
  detach(): void;
  /** Reads on as before `detach`. */
  attach(): void;
  close(): void;
};

/** Takes a chunk, which is only valid during the call: its memory is used again for the next one. */
export type OnChunk = (chunk: Uint8Array) => void;

/** With 64 KB for each read, the rate at which a detached pipe is emptied: 3 MB a second. */
const detachedPauseMs = 20;

/** Reads a pipe's end, and owns it. One buffer serves all chunks: a flood takes constant memory. */
export function readFifo({ readFd, buffer }: Fifo, onChunk: OnChunk): OutputReader {
  return readSocket(onChunk, (take) => {
    const callback = (length: number): boolean => take(buffer.subarray(0, length));
    // The type of the constructor's options leaves onread out.
    const options = { fd: readFd, readable: true, writable: false, onread: { buffer, callback } };
    return new Socket(options);
  });
}

/** Reads the stream that Node made for an output of a child process. */
export function readStream(stream: Socket, onChunk: OnChunk): OutputReader {
  return readSocket(onChunk, (take) =>
    stream.on("data", (chunk) => {
      if (!take(chunk)) stream.pause();
    }),
  );
}

/** @param open makes the socket; what it reads goes to `take`, which answers whether to read on at once. */
function readSocket(onChunk: OnChunk, open: (take: (chunk: Buffer) => boolean) => Socket): OutputReader {
  let bytes = 0;
  let hasEnded = false;
  let detached = false;
  const socket = open((chunk) => {
    bytes += chunk.length;
    if (!detached) {
      onChunk(chunk);
      return true;
    }
    setTimeout(() => socket.resume(), detachedPauseMs).unref();
    return false;
  });
  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      hasEnded = true;
      resolve();
    };
    socket.once("end", end).once("close", end);
  });
  // A pipe that breaks has ended; there is nothing else to tell.
  socket.on("error", () => socket.destroy());
  socket.resume();
  return {
    ended,
    hasEnded: () => hasEnded,
    bytes: () => bytes,
    detach() {
      detached = true;
      socket.unref();
    },
    attach() {
      detached = false;
      socket.ref();
      socket.resume();
    },
    close: () => socket.destroy(),
  };
}
