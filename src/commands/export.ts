import type { SessionEntry } from "../contract/entries.ts";
import { StartupError } from "../contract/errors.ts";
import type { SessionHeader } from "../contract/events.ts";
import { findSavedSession } from "../session/session-index.ts";
import { branchEntries, readSessionFile } from "../session/session-read.ts";
import { toMarkdown } from "./export-markdown.ts";

export type ExportSessionOptions = {
  /** Where sessions are kept. */
  readonly folder: string;
  /** The session's id, the unique beginning of one, or its name. */
  readonly id: string;
  /** One of `exportFormats`. */
  readonly format: string;
  /** Takes one line. */
  readonly warn: (line: string) => void;
};

/** Writes a session in a format, piece by piece. */
export type ExportFormat = (header: SessionHeader, entries: Iterable<SessionEntry>) => Iterable<string>;

/** The formats by name. */
export const exportFormats: ReadonlyMap<string, ExportFormat> = new Map([
  ["jsonl", toJsonLines],
  ["md", toMarkdown],
]);

/**
 * Writes the branch of a session in a format. The session may be in use. Gives the exit status; throws a StartupError
 * when there is no such session or format.
 */
export function exportSession(options: ExportSessionOptions, write: (text: string) => void): number {
  const format = exportFormats.get(options.format);
  if (format === undefined) {
    const known = [...exportFormats.keys()].join(", ");
    throw new StartupError(
      `there is no export format ${JSON.stringify(options.format)}: use one of ${known}`,
    );
  }
  const { path } = findSavedSession(options.folder, options.id, { byName: true });
  return readSessionFile(path, options.warn, (session) => {
    for (const piece of format(session.header, branchEntries(session))) write(piece);
    return 0;
  });
}

/** A session file again, with the branch only. */
function* toJsonLines(
  header: SessionHeader,
  entries: Iterable<SessionEntry>,
): Generator<string, void, undefined> {
  yield `${JSON.stringify(header)}\n`;
  for (const entry of entries) yield `${JSON.stringify(entry)}\n`;
}
