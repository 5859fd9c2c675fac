import type { SessionEntry } from "../../contract/entries.ts";
import { loadBranch, readEntry } from "./branch.ts";
import { idAt, parseObject, readHead } from "./entry-schema.ts";
import { readLine } from "./lines.ts";
import { readSessionFile, type SessionReading } from "./session-read.ts";
import type { Warn } from "./session-repair.ts";
import { scanSession } from "./session-scan.ts";
import { type CreateSessionOptions, createOnDisk, newHeader, type SessionStore, toStore } from "./store.ts";

export type ForkSessionOptions = Omit<CreateSessionOptions, "parentSession" | "cwd"> & {
  /** Where the tools run; absent: where they ran in the session that is copied. */
  readonly cwd?: string;
  /** The session file that is copied; it may be in use. */
  readonly source: string;
  readonly warn: Warn;
};

/**
 * Starts a session with a copy of another one's branch; its `parentSession` is the other's id.
 *
 * @throws StartupError when the source is no session file, or the folder or the file cannot be made.
 */
export function forkSession(options: ForkSessionOptions): SessionStore {
  const now = options.now ?? Date.now;
  return readSessionFile(options.source, options.warn, (source) => {
    const header = newHeader({ cwd: source.header.cwd, ...options, parentSession: source.header.id });
    if (!options.persist) return toStore({ header, now, loaded: loadBranch(source.descriptor, source.scan) });
    const disk = createOnDisk(options.folder, header, options.pid, (file) => {
      for (const bytes of copiedLines(source)) file.appendBytes(bytes);
    });
    const { file } = disk;
    const loaded = loadBranch(file.descriptor(), scanSession(file.descriptor(), file.size()));
    return toStore({ header, now, disk, loaded });
  });
}

const batchBytes = 1 << 20;
const newline = Buffer.from("\n");

/** The branch's lines, oldest first, in pieces of about a megabyte. */
function* copiedLines(source: SessionReading): Generator<Buffer, void, undefined> {
  let batch: Buffer[] = [];
  let bytes = 0;
  for (const line of branchLines(source)) {
    batch.push(line, newline);
    bytes += line.length + 1;
    if (bytes < batchBytes) continue;
    yield Buffer.concat(batch);
    batch = [];
    bytes = 0;
  }
  yield Buffer.concat(batch);
}

/** Lines are copied byte for byte, but for those that do not say what stands before them. */
function* branchLines({ descriptor, scan }: SessionReading): Generator<Buffer, void, undefined> {
  let parentId: string | null = null;
  for (let index = scan.starts.length - 1; index >= 0; index--) {
    const span = { start: scan.starts[index] ?? 0, length: scan.lengths[index] ?? 0 };
    const line = readLine(descriptor, span.start, span.length);
    const head = readHead(line);
    const id: string = head?.id ?? idAt(span.start);
    const isPlaced = head?.id !== undefined && head.parentId === parentId;
    yield isPlaced ? line : placedLine(line, readEntry(descriptor, span), { id, parentId });
    parentId = id;
  }
}

function placedLine(
  line: Buffer,
  entry: SessionEntry | undefined,
  place: { id: string; parentId: string | null },
): Buffer {
  return Buffer.from(JSON.stringify({ ...parseObject(line), ...entry, ...place }));
}
