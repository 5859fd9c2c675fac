import { randomBytes } from "node:crypto";
import { constants, type Stats } from "node:fs";
import {
  access,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readlink,
  realpath,
  rename,
  rm,
  stat,
} from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { isOwnOutput } from "./own-output.ts";
import { errorCode, specialKind } from "./path.ts";

/** A path that cannot be written because of what is there: the message is one sentence without the path. */
export class NotAFileError extends Error {
  override readonly name = "NotAFileError";
}

const maxLinks = 40;

/**
 * Gives a file new content so that a failure at any point leaves the old one: a temporary file beside it takes its
 * name, mode and owner. A file with several hard links, or one whose name cannot be taken over, is overwritten in place
 * and put back when that fails. Symbolic links are followed, missing folders made. Throws the system's errors, and a
 * NotAFileError. Tells whether the file is new.
 */
export async function writeFileAtomically(path: string, data: Buffer, signal: AbortSignal): Promise<boolean> {
  const target = await resolveLinks(path);
  const old = await statIfThere(target);
  const kind = old && specialKind(old);
  if (kind !== undefined) throw new NotAFileError(`it is ${kind}, not a file`);
  if (old && isOwnOutput(old)) throw new NotAFileError("this run's own output goes there");
  if (old === undefined) await mkdir(dirname(target), { recursive: true });
  else await access(target, constants.W_OK);
  signal.throwIfAborted();
  if (old !== undefined && old.nlink > 1) await overwriteInPlace(target, data);
  else if (!(await replaceByRename(target, data, old))) await overwriteInPlace(target, data);
  return old === undefined;
}

/** The path that writing to a path ends at: links are followed even where the last one leads to nothing. */
export async function resolveLinks(path: string): Promise<string> {
  let target = path;
  for (let links = 0; links < maxLinks; links += 1) {
    target = join(await resolveFolder(dirname(target)), basename(target));
    const link = await readLinkIfOne(target);
    if (link === undefined) return target;
    target = resolve(dirname(target), link);
  }
  throw Object.assign(new Error("too many symbolic links"), { code: "ELOOP" });
}

/** The real path of a folder, of which the last parts may not exist yet. */
async function resolveFolder(folder: string): Promise<string> {
  try {
    return await realpath(folder);
  } catch (error) {
    if (errorCode(error) !== "ENOENT" || dirname(folder) === folder) throw error;
    return join(await resolveFolder(dirname(folder)), basename(folder));
  }
}

async function readLinkIfOne(path: string): Promise<string | undefined> {
  const stats = await statIfThere(path, lstat);
  return stats?.isSymbolicLink() ? readlink(path) : undefined;
}

async function statIfThere(
  path: string,
  look: (path: string) => Promise<Stats> = stat,
): Promise<Stats | undefined> {
  try {
    return await look(path);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** Says false, with nothing changed, when the file's folder or owner does not let its name be taken over. */
async function replaceByRename(target: string, data: Buffer, old: Stats | undefined): Promise<boolean> {
  const temporary = join(dirname(target), `.${randomBytes(6).toString("hex")}.tmp`);
  try {
    const handle = await open(temporary, "wx", old === undefined ? 0o666 : 0o600);
    try {
      if (old !== undefined) await takeOver(handle, old);
      await handle.writeFile(data);
      // A power cut must not leave an empty file where there was a full one.
      if (old !== undefined) await handle.datasync();
    } finally {
      await handle.close();
    }
    await rename(temporary, target);
    return true;
  } catch (error) {
    await rm(temporary, { force: true });
    if (old !== undefined && cannotTakeOver.has(errorCode(error) ?? "")) return false;
    throw error;
  }
}

/** No new file in this folder, no change of owner, a file that is a mount point. */
const cannotTakeOver: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS", "EBUSY", "EXDEV"]);

async function takeOver(handle: FileHandle, old: Stats): Promise<void> {
  const now = await handle.stat();
  if (now.uid !== old.uid || now.gid !== old.gid) await handle.chown(old.uid, old.gid);
  await handle.chmod(old.mode & 0o7777);
}

async function overwriteInPlace(target: string, data: Buffer): Promise<void> {
  const handle = await open(target, "r+");
  try {
    const old = await handle.readFile();
    try {
      await writeAll(handle, data);
    } catch (error) {
      await writeAll(handle, old);
      throw error;
    }
  } finally {
    await handle.close();
  }
}

async function writeAll(handle: FileHandle, data: Buffer): Promise<void> {
  for (let written = 0; written < data.length; ) {
    written += (await handle.write(data, written, data.length - written, written)).bytesWritten;
  }
  await handle.truncate(data.length);
}
