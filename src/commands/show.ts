import type { SessionEntry } from "../contract/entries.ts";
import { findSavedSession } from "../session/store/session-index.ts";
import { serializeLine } from "../session/store/session-line.ts";
import { branchEntries, currentSettings, streamSessionFile } from "../session/store/session-read.ts";
import type { TextOutput } from "./export-file.ts";
import { printable, toTranscript } from "./show-transcript.ts";

export type ShowSessionOptions = {
  /** Where sessions are kept. */
  readonly folder: string;
  /** The session's id, the unique beginning of one, or its name. */
  readonly id: string;
  readonly json: boolean;
  /** Ends the printing early. */
  readonly signal: AbortSignal;
  /** Takes one line. */
  readonly warn: (line: string) => void;
};

/**
 * Prints what is known of a session and the entries of its branch, oldest first: to be read, or as one JSON object with
 * an entry a line. The session may be in use. Gives the exit status; throws a StartupError when there is no such session.
 */
export async function showSession(options: ShowSessionOptions, stdout: TextOutput): Promise<number> {
  const { path } = findSavedSession(options.folder, options.id, { byName: true });
  return streamSessionFile(path, options.warn, async (session) => {
    const { type: _, version: __, ...header } = session.header;
    const about = { ...header, path, ...currentSettings(session) };
    const pieces = options.json
      ? toJson(about, branchEntries(session))
      : toText(about, branchEntries(session));
    for (const piece of pieces) {
      if (options.signal.aborted) break;
      stdout.write(piece);
      await stdout.ready();
    }
    return 0;
  });
}

function* toJson(about: object, entries: Iterable<SessionEntry>): Generator<string, void, undefined> {
  yield `${serializeLine(about).slice(0, -1)},"entries":[`;
  let separator = "\n";
  for (const entry of entries) {
    yield `${separator}${serializeLine(entry)}`;
    separator = ",\n";
  }
  yield "\n]}\n";
}

function* toText(about: object, entries: Iterable<SessionEntry>): Generator<string, void, undefined> {
  for (const [key, value] of Object.entries(about))
    yield `${key.padEnd(13)}  ${printable(typeof value === "string" ? value : modelName(value)).replaceAll("\n", " ")}\n`;
  for (const entry of entries) yield `\n${toTranscript(entry)}`;
}

function modelName({ provider, modelId }: { provider: string; modelId: string }): string {
  return `${provider}/${modelId}`;
}
