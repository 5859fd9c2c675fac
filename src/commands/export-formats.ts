import type { SessionEntry } from "../contract/entries.ts";
import type { SessionHeader } from "../contract/events.ts";
import type { SessionSettings } from "../session/store/branch.ts";

/** What a format makes text of. */
export type ExportSource = {
  readonly header: SessionHeader;
  /** What is set at the end. */
  readonly settings: SessionSettings;
  /** The branch, root first; from its beginning at each call. */
  readonly entries: () => Iterable<SessionEntry>;
};

/** Writes a session piece by piece, in memory that does not grow with the session's length. */
export type ExportFormat = (source: ExportSource) => Iterable<string>;

/** What a session can be exported as, the default first. */
export const exportFormatNames = ["jsonl", "md", "html", "atif"] as const;

export type ExportFormatName = (typeof exportFormatNames)[number];

/** How files of the formats end. */
export const exportEndings: ReadonlyMap<string, ExportFormatName> = new Map([
  [".jsonl", "jsonl"],
  [".md", "md"],
  [".markdown", "md"],
  [".html", "html"],
  [".htm", "html"],
  [".json", "atif"],
  [".atif", "atif"],
]);

/** The format that a file's ending names, if it names one. */
export function formatOfFile(path: string): ExportFormatName | undefined {
  return exportEndings.get(/\.[^./]+$/.exec(path)?.[0].toLowerCase() ?? "");
}
