import { closeSync, writeSync } from "node:fs";
import { createPrivateFile } from "../session/store/private-files.ts";

export type EventLogOptions = {
  /** Must not exist yet. */
  readonly path: string;
  /** What is more is left out. */
  readonly maxBytes: number;
  /** Called once when it cannot be written any more; what comes later is left out. */
  readonly onError: (error: unknown) => void;
};

/** The last line of a log that became too long: no event, but the reason why none follows. */
export const logEnd = { type: "log_end", reason: "too_long" } as const;

/** Keeps text in a file; takes what a sink writes to. Throws the system's error when the file cannot be made. */
export function createEventLog({ path, maxBytes, onError }: EventLogOptions) {
  const descriptor = createPrivateFile(path);
  let waiting: (string | Uint8Array)[] = [];
  let size = 0;
  let isOver = false;

  function writeParts(parts: readonly (string | Uint8Array)[]): void {
    if (isOver) return;
    // What is written in one turn of the event loop leaves together.
    if (waiting.length === 0) setImmediate(flush);
    waiting.push(...parts);
  }

  function flush(): void {
    if (isOver || waiting.length === 0) return;
    const bytes = Buffer.concat(waiting.map((part) => (typeof part === "string" ? Buffer.from(part) : part)));
    waiting = [];
    const isTooLong = size + bytes.length > maxBytes;
    try {
      writeAll(descriptor, isTooLong ? Buffer.from(`${JSON.stringify(logEnd)}\n`) : bytes);
      size += bytes.length;
    } catch (error) {
      end();
      onError(error);
    }
    if (isTooLong) end();
  }

  function end(): void {
    if (isOver) return;
    isOver = true;
    waiting = [];
    closeSync(descriptor);
  }

  return {
    write: (text: string) => writeParts([text]),
    writeParts,
    flush,
    ready: () => Promise.resolve(),
    async close() {
      flush();
      end();
    },
  };
}

function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let rest = bytes; rest.length > 0; ) rest = rest.subarray(writeSync(descriptor, rest));
}
