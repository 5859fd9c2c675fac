import { lstatSync, mkdtempSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { isAbsolute, join } from "node:path";
import { makePrivateFolder } from "../session/store/private-files.ts";
import { runPaths } from "./run-folder.ts";

/** The shortest limit of the systems that there are (104 bytes, with a final zero), less some. */
const maxBytes = 100;

/**
 * Where a run listens: in its own folder, or, where that has a longer path than a Unix socket can have, in a short one
 * that is the user's alone. Throws the system's error when none can be made.
 */
export function chooseSocketPath(folder: string, id: string, runtimeFolder: string | undefined): string {
  const own = runPaths(folder).socket;
  if (fits(own)) return own;
  const bases = [runtimeFolder ?? "", tmpdir(), "/tmp"].filter(isAbsolute);
  const base = bases.find((path) => fits(join(path, "base-context-XXXXXX", `${id}.sock`))) ?? "/tmp";
  return join(privateFolder(base), `${id}.sock`);
}

function fits(path: string): boolean {
  return Buffer.byteLength(path) <= maxBytes;
}

/** A folder for everybody is one where somebody else may have made what is looked for. */
function privateFolder(base: string): string {
  const { uid } = userInfo();
  const folder = join(base, `base-context-${uid}`);
  makePrivateFolder(folder);
  const stats = lstatSync(folder);
  const isOurs = stats.isDirectory() && stats.uid === uid && (stats.mode & 0o077) === 0;
  return isOurs ? folder : mkdtempSync(join(base, "base-context-"));
}
