import type { Writer } from "../../src/sinks/writer.ts";

/** A writer that keeps what it is given. Bytes are copied when they are read, so a change behind its back shows. */
export type MemoryWriter = Writer & {
  text(): string;
  lines(): string[];
};

export function createMemoryWriter(): MemoryWriter {
  const parts: Uint8Array[] = [];
  const text = () => Buffer.concat(parts).toString();
  return {
    write: (more) => void parts.push(Buffer.from(more)),
    writeParts: (more) =>
      void parts.push(...more.map((part) => (typeof part === "string" ? Buffer.from(part) : part))),
    flush: () => undefined,
    ready: () => Promise.resolve(),
    close: () => Promise.resolve(),
    text,
    lines: () => text().split("\n").slice(0, -1),
  };
}
