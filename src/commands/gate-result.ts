import type { SessionEntry } from "../contract/entries.ts";
import { isJsonObject } from "../contract/json.ts";

/** What a session keeps of a gate's result, for a person; undefined for an entry that is none. */
export function gateResultOf(entry: SessionEntry): { words: string; output: string } | undefined {
  if (entry.type !== "custom" || entry.customType !== "gate_result") return undefined;
  const data = entry.data;
  if (!isJsonObject(data) || typeof data.command !== "string") return undefined;
  const { command, exit, signal, output } = data;
  const outcome = String(data.outcome).replace("_", " ");
  const end = typeof exit === "number" ? `exit status ${exit}` : typeof signal === "string" ? signal : "";
  // Its output stands where it ran.
  const isRun = data.unchanged !== true;
  const notes = [end, isRun ? "" : "not run again since nothing changed"].filter((note) => note !== "");
  return {
    words: `gate ${outcome}: ${command}${notes.length === 0 ? "" : ` (${notes.join(", ")})`}`,
    output: isRun && typeof output === "string" ? output : "",
  };
}
