import { errorMessage } from "../contract/errors.ts";
import { findSavedSession } from "../session/store/session-index.ts";
import {
  branchEntries,
  currentSettings,
  type SessionReading,
  streamSessionFile,
} from "../session/store/session-read.ts";
import { type ExportFile, openExportFile, type TextOutput } from "./export-file.ts";
import type { ExportFormat, ExportFormatName, ExportSource } from "./export-formats.ts";

export type ExportSessionOptions = {
  /** Where sessions are kept. */
  readonly folder: string;
  /** The session's id, the unique beginning of one, or its name. */
  readonly id: string;
  readonly format: ExportFormatName;
  /** Absolute; absent: stdout. */
  readonly file?: string;
  /** Ends the export early. */
  readonly signal: AbortSignal;
  /** Takes one line. */
  readonly warn: (line: string) => void;
};

/**
 * Writes the branch of a session in a format. The session may be in use. Gives the exit status: 1 when a file could not
 * be written to its end. Throws a StartupError when there is no such session, or the file cannot be opened.
 */
export async function exportSession(options: ExportSessionOptions, stdout: TextOutput): Promise<number> {
  const { folder, id, format, file, signal, warn } = options;
  const { path } = findSavedSession(folder, id, { byName: true });
  return streamSessionFile(path, warn, async (session) => {
    const source = toSource(session);
    if (file === undefined) {
      await writeExport(source, { format, signal }, stdout);
      return 0;
    }
    const output = openExportFile(file, session.path);
    const problem = await exportToFile(source, { format, signal }, output);
    if (problem !== undefined) warn(`cannot write ${file}: ${problem}`);
    return problem === undefined ? 0 : 1;
  });
}

/** What a session that is open for reading has to export. */
export function toSource(session: SessionReading): ExportSource {
  return {
    header: session.header,
    settings: currentSettings(session),
    entries: () => branchEntries(session),
  };
}

export type WriteExportOptions = { readonly format: ExportFormatName; readonly signal: AbortSignal };

/** Writes an export to a file that was opened for it; gives what went wrong with the writing. */
export async function exportToFile(
  source: ExportSource,
  options: WriteExportOptions,
  file: ExportFile,
): Promise<string | undefined> {
  let problem: string | undefined;
  const attempt = (step: () => void) => {
    if (problem !== undefined) return;
    try {
      step();
    } catch (error) {
      problem = errorMessage(error);
    }
  };
  try {
    await writeExport(source, options, {
      write: (text) => attempt(() => file.write(text)),
      ready: file.ready,
    });
    if (!options.signal.aborted) attempt(file.keep);
  } finally {
    file.discard();
  }
  return problem;
}

async function writeExport(
  source: ExportSource,
  { format, signal }: WriteExportOptions,
  { write, ready }: TextOutput,
): Promise<void> {
  const toText = await loaders[format]();
  for (const piece of toText(source)) {
    if (signal.aborted) return;
    write(piece);
    await ready();
  }
}

const loaders: Readonly<Record<ExportFormatName, () => Promise<ExportFormat>>> = {
  jsonl: async () => (await import("./export-jsonl.ts")).toJsonLines,
  md: async () => (await import("./export-markdown.ts")).toMarkdown,
  html: async () => (await import("./export-html/export-html.ts")).toHtml,
  atif: async () => (await import("./export-atif.ts")).toAtif,
};
