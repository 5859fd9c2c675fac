import { serializeLine } from "../session/store/session-line.ts";
import type { ExportSource } from "./export-formats.ts";

/** Writes a session file again, with the branch only. */
export function* toJsonLines({ header, entries }: ExportSource): Generator<string, void, undefined> {
  yield `${serializeLine(header)}\n`;
  for (const entry of entries()) yield `${serializeLine(entry)}\n`;
}
