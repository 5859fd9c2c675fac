import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { NewEntry } from "../../src/contract/entries.ts";
import type { Line } from "./run-cli.ts";
import type { Workspace } from "./workspace.ts";

export const sessionId = "11111111-2222-4333-8444-555555555555";

/** Writes a session of the workspace by hand, its entries in a line with the ids `entry-0`, `entry-1` ...; gives its path. */
export function writeSession(
  { cwd, homeFile }: Workspace,
  entries: readonly NewEntry[],
  header: Record<string, unknown> = {},
): string {
  const timestamp = "2025-01-01T00:00:00.000Z";
  const lines = [
    { type: "session", version: 3, id: sessionId, timestamp, cwd, ...header },
    ...entries.map(({ type, ...content }, index) => ({
      type,
      id: `entry-${index}`,
      parentId: index === 0 ? null : `entry-${index - 1}`,
      timestamp,
      ...content,
    })),
  ];
  return homeFile(
    `sessions/${header.id ?? sessionId}.jsonl`,
    lines.map((line) => `${JSON.stringify(line)}\n`).join(""),
  );
}

/** The path of the workspace's only session. */
export function sessionPath({ home }: Workspace): string {
  const folder = join(home, "sessions");
  const names = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
  if (names.length !== 1) throw new Error(`there are ${names.length} sessions`);
  return join(folder, names[0] ?? "");
}

/** The lines of a session file, the header first. Throws for one that is not JSON. */
export function readSession(path: string): Line[] {
  return readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line): Line => JSON.parse(line));
}
