import { statSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { exportToFile, toSource } from "../commands/export.ts";
import { openExportFile } from "../commands/export-file.ts";
import { type ExportSource, exportEndings, formatOfFile } from "../commands/export-formats.ts";
import { PersistenceError, StartupError } from "../contract/errors.ts";
import { streamSessionFile } from "../session/store/session-read.ts";
import type { SessionStore } from "../session/store/store.ts";
import { isOwnOutput } from "../tools/files/own-output.ts";

export type ExportToOptions = {
  /** Its ending names the format; absent: `<session id>.html`. */
  readonly file: string | undefined;
  /** Absolute; relative files start here. */
  readonly cwd: string;
  /** Ends the export early. */
  readonly signal: AbortSignal;
  readonly warn: (line: string) => void;
};

/**
 * Writes the session as it stands to a file; gives the file's path. A session that is not kept on disk is written as
 * far as it is in memory. Throws a StartupError or a PersistenceError with words.
 */
export async function exportTo(
  store: SessionStore,
  { file, cwd, signal, warn }: ExportToOptions,
): Promise<string> {
  const name = file ?? `${store.header.id}.html`;
  // No shell has seen what a prompt says.
  const path = resolve(cwd, name.startsWith("~/") ? `${homedir()}${name.slice(1)}` : name);
  const format = formatOfFile(path);
  if (format === undefined)
    throw new StartupError(`${path} has to end in one of ${[...exportEndings.keys()].join(", ")}`);
  if (isOwnFile(path))
    throw new StartupError(`${path} is where this run's own output goes: choose another name`);
  const write = (source: ExportSource) =>
    exportToFile(source, { format, signal }, openExportFile(path, store.path));
  const problem = await (store.path === undefined
    ? write({ header: store.header, settings: store.settings(), entries: () => store.branch() })
    : streamSessionFile(store.path, warn, (session) => write(toSource(session))));
  if (problem !== undefined) throw new PersistenceError(`cannot write ${path}: ${problem}`);
  if (signal.aborted) throw new Error("aborted");
  return path;
}

function isOwnFile(path: string): boolean {
  try {
    const stats = statSync(path);
    return stats.isFile() && isOwnOutput(stats);
  } catch {
    return false;
  }
}
