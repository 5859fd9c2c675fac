import type { SessionEntry } from "../../contract/entries.ts";
import { StartupError } from "../../contract/errors.ts";
import { readEntry, unknownEntry } from "./branch.ts";
import { idAt } from "./entry-schema.ts";
import { entryHeads } from "./session-scan.ts";

/** An entry as far as finding it takes. */
export type FindableEntry = {
  readonly id: string;
  /** What a label entry says, and of which entry; without a text it takes the label away. */
  readonly label?: { readonly targetId: string; readonly text: string | undefined };
};

/**
 * The id of the entry that a person names: by its id, by its label, or by the unique beginning of its id (4 characters
 * or more). `entries` come last first.
 *
 * @throws StartupError when there is none, or more than one.
 */
export function findEntryId(entries: Iterable<FindableEntry>, wanted: string): string {
  const labels = new Map<string, string | undefined>();
  const beginning = new Set<string>();
  for (const { id, label } of entries) {
    if (id === wanted) return id;
    if (id.startsWith(wanted)) beginning.add(id);
    if (label !== undefined && !labels.has(label.targetId)) labels.set(label.targetId, label.text);
  }
  for (const [targetId, text] of labels) if (text === wanted) return targetId;
  const [found, ...others] = beginning;
  if (found === undefined || wanted.length < minPrefixLength) throw unknownEntry(wanted);
  if (others.length > 0)
    throw new StartupError(
      `${JSON.stringify(wanted)} means more than one entry of the session: ${[found, ...others].slice(0, maxListed).join(", ")}; give more of the id`,
    );
  return found;
}

/** The entries of a session's file. */
export function* entriesOfFile(descriptor: number, size: number): Generator<FindableEntry, void, undefined> {
  for (const { start, length, head } of entryHeads(descriptor, size)) {
    if (head === undefined) continue;
    const id = head.id ?? idAt(start);
    const entry = head.type === "label" ? readEntry(descriptor, { start, length }) : undefined;
    yield entry === undefined ? { id } : toFindable(entry);
  }
}

/** The entries of a session that is not kept, given oldest first. */
export function entriesInMemory(entries: Iterable<SessionEntry>): FindableEntry[] {
  return [...entries].reverse().map(toFindable);
}

const minPrefixLength = 4;
const maxListed = 10;

function toFindable(entry: SessionEntry): FindableEntry {
  const { id } = entry;
  return entry.type === "label" ? { id, label: { targetId: entry.targetId, text: entry.label } } : { id };
}
