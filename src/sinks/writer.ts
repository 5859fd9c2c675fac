import { monotonicMs } from "../contract/monotonic.ts";
import { type Output, openOutput } from "./output.ts";

/** Carries text to a file descriptor: whole, in order, and without ever blocking the process. */
export type Writer = {
  /** Takes text. Never throws and never waits; what is written in one turn of the event loop leaves together. */
  write(text: string): void;
  /** Takes text and bytes that belong together. The bytes are not copied: they must never change afterwards. */
  writeParts(parts: readonly (string | Uint8Array)[]): void;
  /** Hands over now what fits, without waiting for the end of this turn of the event loop. */
  flush(): void;
  /** Resolves when there is room for more: at once while little waits. Also resolves when nobody reads any more. */
  ready(): Promise<void>;
  /** Resolves when all of it has left the process, or never can. What is written later is dropped. */
  close(): Promise<void>;
};

export type WriterOptions = {
  readonly fd: number;
  /** Called once when the reader went away. What is written later is dropped. */
  readonly onGone: () => void;
  /** Called once when writing failed for another reason (disk full). What is written later is dropped. */
  readonly onError: (error: Error) => void;
};

/** More than this waiting, and `ready` waits. */
const highWaterBytes = 256 * 1024;
/** More than this, and it is handed over without waiting for the turn's end. */
const flushBytes = 64 * 1024;
/** Longer than this in one turn of the event loop, and lines leave (and signals and timers get their turn). */
const maxTurnMs = 4;

/** Makes a writer. Nothing is opened before the first write. */
export function createWriter({ fd, onGone, onError }: WriterOptions): Writer {
  let output: Output | undefined;
  let parts: Uint8Array[] = [];
  let text = "";
  let waitingBytes = 0;
  let inFlightBytes = 0;
  let ended = false;
  let turnStartMs: number | undefined;
  let closing: Promise<void> | undefined;
  let waiters: { isMet: () => boolean; resolve: () => void }[] = [];

  function write(more: string): void {
    if (ended) return;
    text += more;
    waitingBytes += more.length;
    // A text that waits takes its size twice.
    if (text.length > flushBytes) sealText();
    schedule();
  }

  function writeParts(more: readonly (string | Uint8Array)[]): void {
    if (ended) return;
    for (const part of more) {
      waitingBytes += part.length;
      if (typeof part === "string") text += part;
      else {
        sealText();
        parts.push(part);
      }
    }
    schedule();
  }

  function sealText(): void {
    if (text === "") return;
    const bytes = Buffer.from(text);
    parts.push(bytes);
    waitingBytes += bytes.length - text.length;
    text = "";
  }

  function schedule(): void {
    if (turnStartMs === undefined) {
      turnStartMs = monotonicMs();
      setImmediate(endTurn);
    } else if (waitingBytes > flushBytes || monotonicMs() - turnStartMs > maxTurnMs) flush();
  }

  function endTurn(): void {
    turnStartMs = undefined;
    flush();
    settle();
  }

  function flush(): void {
    if (ended || inFlightBytes > 0) return;
    sealText();
    try {
      while (!ended && inFlightBytes === 0 && parts.length > 0) send(takeParts());
    } catch (error) {
      fail(error);
    }
  }

  function send(sending: readonly Uint8Array[]): void {
    output ??= openOutput(fd);
    const rest = output.writeNow(sending);
    if (rest === undefined) return;
    inFlightBytes = rest.length;
    output.writeLater(rest, sent);
  }

  /** What did not fit is copied, so no more is taken than may wait. */
  function takeParts(): readonly Uint8Array[] {
    let bytes = 0;
    const next = parts.findIndex((part) => {
      bytes += part.length;
      return bytes > highWaterBytes;
    });
    const taken = parts.splice(0, next < 0 ? parts.length : next + 1);
    waitingBytes -= taken.reduce((sum, part) => sum + part.length, 0);
    return taken;
  }

  function sent(error?: Error): void {
    inFlightBytes = 0;
    if (error !== undefined) fail(error);
    else flush();
    settle();
  }

  function fail(thrown: unknown): void {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    end(output?.meansReaderGone(error) === true ? onGone : () => onError(error));
  }

  /** The owner is told outside of the write that found out: it may want to abort the work that wrote. */
  function end(tell?: () => void): void {
    if (ended) return;
    ended = true;
    parts = [];
    text = "";
    waitingBytes = 0;
    inFlightBytes = 0;
    if (tell !== undefined) queueMicrotask(tell);
    settle();
  }

  function settle(): void {
    const met = waiters.filter(({ isMet }) => ended || isMet());
    if (met.length === 0) return;
    waiters = waiters.filter((waiter) => !met.includes(waiter));
    for (const { resolve } of met) resolve();
  }

  function until(isMet: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      waiters.push({ isMet, resolve });
    });
  }

  function ready(): Promise<void> {
    if (ended) return Promise.resolve();
    if (waitingBytes + inFlightBytes > highWaterBytes)
      return until(() => waitingBytes + inFlightBytes <= highWaterBytes);
    if (turnStartMs !== undefined && monotonicMs() - turnStartMs > maxTurnMs)
      return until(() => turnStartMs === undefined);
    return Promise.resolve();
  }

  async function drain(): Promise<void> {
    flush();
    while (!ended && waitingBytes + inFlightBytes > 0) await until(() => waitingBytes + inFlightBytes === 0);
    end();
    output?.close();
  }

  return {
    write,
    writeParts,
    flush,
    ready,
    close() {
      closing ??= drain();
      return closing;
    },
  };
}
