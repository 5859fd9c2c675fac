import { type EntryHead, idAt, readHead, readHeadStrictly } from "./entry-schema.ts";
import { linesBackward } from "./lines.ts";

/** Where one entry's line is. */
export type LineSpan = { readonly start: number; readonly length: number };

/** One way from the leaf to the root through a session file, as places in the file: the texts stay on disk. */
export type SessionScan = {
  /** Of the branch's entries, leaf first. */
  readonly starts: readonly number[];
  readonly lengths: readonly number[];
  readonly leafId: string | null;
  /** The last entry of each type that sets something for the rest of the session: on the branch, or (name) in the file. */
  readonly settings: ReadonlyMap<string, LineSpan>;
  /** Where the run of bytes at the end begins that is no whole entry; the file's size when all of it is whole. */
  readonly wholeBytes: number;
  /** The last whole entry lacks its newline. */
  readonly unterminated: boolean;
  /** Starts of the lines between whole entries that are none themselves, last first. */
  readonly badLines: readonly number[];
  /** Entries of the branch whose parent is not in the file; the entry before them was taken. */
  readonly brokenLinks: number;
};

export type ScanOptions = {
  readonly leafId?: string;
  /** Proves every line of a file of any size. */
  readonly strict?: boolean;
};

/** The entry that was asked for is not in the file. */
export class UnknownEntryError extends Error {
  override readonly name = "UnknownEntryError";
}

/**
 * Finds the branch that ends in `leafId` (by default the file's last entry). Reads the first `size` bytes of the file
 * once, from its end: parents always stand before their children. Memory: two numbers an entry of the branch.
 *
 * Files up to 4 MB are proved to be JSON line by line; in larger ones a line counts as whole by its two ends and its
 * first fields unless `strict`, and those that the context needs are proved when they are loaded.
 */
export function scanSession(descriptor: number, size: number, options: ScanOptions = {}): SessionScan {
  const { leafId } = options;
  const head = options.strict === true || size <= strictBytes ? readHeadStrictly : readHead;
  const lines = () => headsBackward(descriptor, size, head);
  return walk(lines(), size, { leafId }) ?? walk(lines(), size, { leafId, ids: allIds(lines()) }) ?? fail();
}

/** What the lines of a session's file say of themselves, last first; the head of a damaged one is undefined. */
export function entryHeads(descriptor: number, size: number): Generator<HeadLine, void, undefined> {
  return headsBackward(descriptor, size, readHead);
}

const strictBytes = 4 << 20;
const branchSettings: ReadonlySet<string> = new Set(["model_change", "thinking_level_change"]);
const fileSettings: ReadonlySet<string> = new Set(["session_info"]);

export type HeadLine = LineSpan & { readonly head: EntryHead | undefined };

/** The lines after the header that are not blank, last first. */
function* headsBackward(
  descriptor: number,
  size: number,
  toHead: (line: Buffer) => EntryHead | undefined,
): Generator<HeadLine, void, undefined> {
  for (const { start, bytes } of linesBackward(descriptor, size)) {
    if (start === 0) return;
    // Blanks behind the last newline are a torn tail like any other.
    const isTail = start + bytes.length === size && bytes.length > 0;
    if (!isTail && isBlank(bytes)) continue;
    yield { start, length: bytes.length, head: toHead(bytes) };
  }
}

/** Undefined when a parent is missing and `ids` was not there to notice it in time. */
function walk(
  lines: Iterable<HeadLine>,
  size: number,
  options: { leafId: string | undefined; ids?: ReadonlySet<string> },
): SessionScan | undefined {
  const starts: number[] = [];
  const lengths: number[] = [];
  const badLines: number[] = [];
  const settings = new Map<string, LineSpan>();
  /** The id of the branch's next entry; undefined: whichever comes; null: the branch is complete. */
  let wanted: string | null | undefined = options.leafId;
  let leafId: string | null = null;
  let brokenLinks = 0;
  let wholeBytes: number | undefined;
  let tornStart = size;
  let unterminated = false;

  for (const { start, length, head } of lines) {
    if (head === undefined) {
      if (wholeBytes === undefined) tornStart = start;
      else badLines.push(start);
      continue;
    }
    if (wholeBytes === undefined) {
      unterminated = start + length === size;
      wholeBytes = tornStart;
    }
    const { type } = head;
    if (fileSettings.has(type) && !settings.has(type)) settings.set(type, { start, length });
    const id = head.id ?? idAt(start);
    if (wanted !== undefined && wanted !== id) continue;
    if (starts.length === 0) leafId = id;
    starts.push(start);
    lengths.push(length);
    if (branchSettings.has(type) && !settings.has(type)) settings.set(type, { start, length });
    wanted = head.parentId;
    if (typeof wanted === "string" && options.ids?.has(wanted) === false) {
      brokenLinks++;
      wanted = undefined;
    }
  }

  if (options.leafId !== undefined && starts.length === 0) {
    throw new UnknownEntryError(`no entry has the id ${JSON.stringify(options.leafId)}`);
  }
  if (typeof wanted === "string" && options.ids === undefined) return undefined;
  return {
    starts,
    lengths,
    leafId,
    settings,
    wholeBytes: wholeBytes ?? tornStart,
    unterminated,
    badLines,
    brokenLinks,
  };
}

function allIds(lines: Iterable<HeadLine>): Set<string> {
  const ids = new Set<string>();
  for (const { start, head } of lines) {
    if (head !== undefined) ids.add(head.id ?? idAt(start));
  }
  return ids;
}

function fail(): never {
  throw new Error("the walk with all ids is always complete");
}

const blankBytes: ReadonlySet<number> = new Set([0x09, 0x0d, 0x20]);

function isBlank(bytes: Buffer): boolean {
  for (const byte of bytes) {
    if (!blankBytes.has(byte)) return false;
  }
  return true;
}
