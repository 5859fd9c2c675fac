import type { Dirent } from "node:fs";
import { opendir, readlink, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ToolContext, ToolResult } from "../../contract/tool.ts";
import { errorResult, textResult } from "../define-tool.ts";
import { describeLookupError, errorCode, findForReading, showPath, specialKind } from "../files/path.ts";
import type { ListOptions } from "../ls.ts";
import { createListing } from "./listing.ts";

export type ListRequest = { readonly path: string; readonly limit: number };

/** The first entries of a folder in order of their names, and how many there are. */
type Listing = { readonly entries: readonly Dirent[]; readonly total: number };

/** Shows what is in a folder. */
export async function listForModel(
  { path, limit }: ListRequest,
  context: ToolContext,
  options: ListOptions,
): Promise<ToolResult> {
  const found = await findForReading(context.cwd, path);
  if (!found.found) return errorResult(found.problem);
  try {
    const { entries, total } = await listFirst(found.path, limit, context.signal);
    const listing = createListing({ toolName: "ls", ...options });
    for (const line of await Promise.all(entries.map((entry) => showEntry(found.path, entry)))) {
      listing.add(line);
    }
    const { text, details } = listing.finish();
    const notes = found.note === undefined ? [] : [found.note];
    if (total === 0) notes.push(`${showPath(path)} is empty.`);
    if (entries.length < total) {
      notes.push(`${entries.length} of ${total} entries. Use a larger limit, or find with a pattern.`);
    }
    const parts = [text, notes.map((note) => `[${note}]`).join("\n")];
    const facts = { entries: entries.length, total, ...details };
    return textResult(parts.filter((part) => part !== "").join("\n\n"), facts);
  } catch (error) {
    if (context.signal.aborted) throw error;
    if (errorCode(error) === "ENOTDIR") return errorResult(await notAFolder(found.path, path));
    return errorResult(await describeLookupError("list", { asked: path, path: found.path }, error));
  }
}

/** Never holds much more than the entries that are wanted, however many there are. */
async function listFirst(folder: string, limit: number, signal: AbortSignal): Promise<Listing> {
  let entries: Dirent[] = [];
  let total = 0;
  for await (const entry of await opendir(folder, { bufferSize: 256 })) {
    signal.throwIfAborted();
    total += 1;
    entries.push(entry);
    if (entries.length >= 2 * limit + 1000) entries = entries.sort(byName).slice(0, limit);
  }
  return { entries: entries.sort(byName).slice(0, limit), total };
}

function byName(a: Dirent, b: Dirent): number {
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

async function showEntry(folder: string, entry: Dirent): Promise<string> {
  const name = showPath(entry.name);
  if (entry.isDirectory()) return `${name}/`;
  if (!entry.isSymbolicLink()) return name;
  const path = join(folder, entry.name);
  const target = await readlink(path).catch(() => "?");
  const leadsToFolder = await stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  return `${name}@ -> ${showPath(target)}${leadsToFolder && !target.endsWith("/") ? "/" : ""}`;
}

async function notAFolder(path: string, shownAs: string): Promise<string> {
  const stats = await stat(path).catch(() => undefined);
  const kind = (stats && specialKind(stats)) ?? "a file";
  const advice = kind === "a file" ? " Use read to see it." : "";
  return `${showPath(shownAs)} is ${kind}, not a folder.${advice}`;
}
