import { join } from "node:path";
import type { NewEntry } from "../../src/contract/entries.ts";
import { createSession } from "../../src/session/store/store.ts";
import type { Workspace } from "./workspace.ts";

/** Saves a session in a workspace's home; gives its id and its file. */
export function saveSession(
  { home, cwd }: Workspace,
  entries: readonly NewEntry[],
  folder = join(home, "sessions"),
): { readonly id: string; readonly path: string } {
  const store = createSession({ folder, cwd, pid: process.pid, persist: true });
  for (const entry of entries) store.append(entry);
  store.close();
  return { id: store.header.id, path: store.path ?? "" };
}
