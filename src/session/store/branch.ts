import type { SessionEntry } from "../../contract/entries.ts";
import { StartupError } from "../../contract/errors.ts";
import type { JsonObject } from "../../contract/json.ts";
import { measureEntry } from "../context/estimate.ts";
import { idAt, parseObject, readHead, toEntry } from "./entry-schema.ts";
import { linesForward, readLine } from "./lines.ts";
import { type LineSpan, type SessionScan, scanSession, UnknownEntryError } from "./session-scan.ts";

/** What entries set for the rest of the session; the last one counts. */
export type SessionSettings = {
  readonly name?: string;
  /** Of the last model change or answer on the branch, whichever is later. */
  readonly model?: { readonly provider: string; readonly modelId: string };
  readonly thinkingLevel?: string;
};

/** What a store begins with. */
export type LoadedBranch = {
  readonly entries: readonly SessionEntry[];
  readonly leafId: string | null;
  readonly settings: SessionSettings;
  /** Older entries were left out although no compaction stands for them: they are more than any model can take. */
  readonly cut: boolean;
};

/** A line that is no entry stands where one is needed. */
export class BadLineError extends Error {
  override readonly name = "BadLineError";
  /** Offset of the line in the file. */
  readonly start: number;

  constructor(start: number) {
    super("a line is no session entry");
    this.start = start;
  }
}

/**
 * Reads the branch that ends in an entry.
 *
 * @throws StartupError when the file has no such entry, BadLineError when one of its lines is damaged.
 */
export function readBranch(descriptor: number, size: number, leafId: string): LoadedBranch {
  try {
    return loadBranch(descriptor, scanSession(descriptor, size, { leafId }));
  } catch (error) {
    if (error instanceof UnknownEntryError) throw unknownEntry(leafId);
    throw error;
  }
}

/** Parses the part of a branch that the context needs: from the leaf back to the first entry that was kept. */
export function loadBranch(descriptor: number, scan: SessionScan): LoadedBranch {
  const entries: SessionEntry[] = [];
  let firstKeptId: string | undefined;
  let tokens = 0;
  let bytes = 0;
  let cut = false;
  for (const [index, start] of scan.starts.entries()) {
    const length = scan.lengths[index] ?? 0;
    cut = tokens > maxTokens || bytes > maxBytes;
    if (cut) break;
    const entry = readEntry(descriptor, { start, length });
    if (entry === undefined) continue;
    const child = entries.at(-1);
    if (child !== undefined) child.parentId = entry.id;
    entries.push(entry);
    tokens += measureEntry(entry);
    bytes += length;
    if (entry.type === "compaction") firstKeptId ??= entry.firstKeptEntryId;
    if (entry.id === firstKeptId) break;
  }
  entries.reverse();
  return { entries, leafId: scan.leafId, settings: settingsAt(descriptor, scan, entries), cut };
}

/** The entry of a line; undefined when its type is not known here. Throws a BadLineError. */
export function readEntry(descriptor: number, span: LineSpan): SessionEntry | undefined {
  const value = parseObject(readLine(descriptor, span.start, span.length));
  if (value === undefined) throw new BadLineError(span.start);
  const id = typeof value.id === "string" && value.id !== "" ? value.id : idAt(span.start);
  const parentId = typeof value.parentId === "string" ? value.parentId : null;
  const entry = toEntry(value, { id, parentId });
  if (entry?.type !== "compaction" || entry.firstKeptEntryId !== "") return entry;
  return { ...entry, firstKeptEntryId: firstKeptOfVersion1(descriptor, span.start, value) };
}

/** What is set once an entry stands. */
export function applyEntry(settings: SessionSettings, entry: SessionEntry): SessionSettings {
  switch (entry.type) {
    case "session_info": {
      const { name: _, ...others } = settings;
      return entry.name === undefined ? others : { ...others, name: entry.name };
    }
    case "model_change":
      return withModel(settings, entry.provider, entry.modelId);
    case "thinking_level_change":
      return { ...settings, thinkingLevel: entry.thinkingLevel };
    case "message": {
      const { message } = entry;
      if (message.role !== "assistant") return settings;
      return withModel(settings, message.provider, message.model);
    }
    default:
      return settings;
  }
}

/** An answer that another program kept may not say whose it is: it is no reason to forget what is known, or to refuse. */
function withModel(settings: SessionSettings, provider: string, modelId: string): SessionSettings {
  return provider === "" || modelId === "" ? settings : { ...settings, model: { provider, modelId } };
}

/** The refusal of an entry that is not there. */
export function unknownEntry(entryId: string): StartupError {
  return new StartupError(
    `the session has no entry ${JSON.stringify(entryId)}: "base-context show" lists its entries with their ids`,
  );
}

/** No model takes more: 4 million tokens. */
const maxTokens = 4_000_000;
/** Images are few tokens and many bytes. */
const maxBytes = 128 << 20;

/** Version 1 counts the lines, from the header's 0. */
function firstKeptOfVersion1(descriptor: number, end: number, value: JsonObject): string {
  let index = 0;
  for (const { start, bytes } of linesForward(descriptor, end)) {
    if (index++ === value.firstKeptEntryIndex && start > 0) return readHead(bytes)?.id ?? idAt(start);
  }
  return "";
}

function settingsAt(
  descriptor: number,
  scan: SessionScan,
  entries: readonly SessionEntry[],
): SessionSettings {
  const earlier = [...scan.settings.values()].flatMap((span) => readEntry(descriptor, span) ?? []);
  const settings = [...earlier, ...entries].reduce(applyEntry, {});
  // A name is the whole session's, whichever branch it was given on.
  const info = earlier.find((entry) => entry.type === "session_info");
  return info === undefined ? settings : applyEntry(settings, info);
}
