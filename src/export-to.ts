import { writeFileSync } from "node:fs";
import { extname, resolve } from "node:path";
import { exportFormats } from "./commands/export.ts";
import { StartupError } from "./contract/errors.ts";
import { branchEntries, readSessionFile } from "./session/session-read.ts";
import type { SessionStore } from "./session/store.ts";

export type ExportToOptions = {
  /** Its ending names the format; absent: `<session id>.md`. */
  readonly file: string | undefined;
  /** Absolute; relative files start here. */
  readonly cwd: string;
  readonly warn: (line: string) => void;
};

/** Writes the session as it stands to a file; gives the file's path. Throws a StartupError with words. */
export function exportTo(store: SessionStore, { file, cwd, warn }: ExportToOptions): string {
  if (store.path === undefined)
    throw new StartupError("the session is not kept (--no-session), so it cannot be exported");
  const path = resolve(cwd, file ?? `${store.header.id}.md`);
  const format = exportFormats.get(extname(path).slice(1));
  if (format === undefined)
    throw new StartupError(`the file's ending has to be one of .${[...exportFormats.keys()].join(", .")}`);
  const text = readSessionFile(store.path, warn, (session) =>
    [...format(session.header, branchEntries(session))].join(""),
  );
  writeFileSync(path, text);
  return path;
}
