import { closeSync, constants, fstatSync, openSync, writeSync } from "node:fs";

/** How often the far end of a socket is asked about, in milliseconds. */
const askMs = 1000;

/**
 * Calls `onGone` once when nobody reads from a file descriptor any more, also while nothing is written to it: a write
 * would tell, but a run can be silent for minutes. Where that cannot be told (files, terminals) it is never called. The
 * watch keeps no process alive. The result ends it.
 */
export function watchReader(fd: number, onGone: () => void): () => void {
  try {
    const stats = fstatSync(fd);
    if (stats.isFIFO()) return watchPipe(fd, onGone);
    if (stats.isSocket()) return watchSocket(fd, onGone);
  } catch {
    // What cannot be watched is noticed by the next write.
  }
  return () => undefined;
}

/** What is used of Node's handle of a stream. */
type StreamHandle = {
  open(fd: number): number;
  readStart(): number;
  onread: () => void;
  unref(): void;
  close(done: () => void): void;
};

/**
 * The system reports an error on the writing end of a pipe once no reader is left, but only to those who poll for it, and
 * Node polls a pipe only while it reads from it or has more to write than fits. It refuses to read from a writing end, but
 * not when told that the descriptor is a connection: then what comes of reading is that error and nothing else.
 */
function watchPipe(fd: number, onGone: () => void): () => void {
  const handle = connectionHandle();
  // Opened anew, so that its polling and closing are no matter of the descriptor that is written to.
  const own = openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
  if (handle.open(own) !== 0) {
    closeSync(own);
    return () => undefined;
  }
  let isOpen = true;
  const stop = () => {
    if (isOpen) handle.close(() => undefined);
    isOpen = false;
  };
  handle.onread = () => {
    stop();
    onGone();
  };
  handle.unref();
  if (handle.readStart() !== 0) stop();
  return stop;
}

/** Throws in a Node that gives no such handle away. */
function connectionHandle(): StreamHandle {
  const node = process as unknown as NodeInternals;
  const { noDeprecation } = node;
  // What Node may say of the way to its handles would be noise between the diagnostics.
  node.noDeprecation = true;
  try {
    const { TCP, constants: kinds } = node.binding("tcp_wrap");
    return new TCP(kinds.SOCKET);
  } finally {
    node.noDeprecation = noDeprecation;
  }
}

type NodeInternals = {
  noDeprecation: boolean | undefined;
  binding(name: "tcp_wrap"): {
    readonly TCP: new (kind: number) => StreamHandle;
    readonly constants: { readonly SOCKET: number };
  };
};

/** To write nothing at all to a socket fails like any other write once the far end is closed. */
function watchSocket(fd: number, onGone: () => void): () => void {
  const timer = setInterval(() => {
    try {
      writeSync(fd, new Uint8Array(0));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EPIPE") return;
      clearInterval(timer);
      onGone();
    }
  }, askMs);
  timer.unref();
  return () => clearInterval(timer);
}
