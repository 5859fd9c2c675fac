import { isJsonObject, type JsonObject, type JsonValue } from "../../contract/json.ts";
import type { ToolResult } from "../../contract/tool.ts";
import { stripAnsi } from "../truncate.ts";
import type { FileToRead } from "./read-file.ts";
import { readText, showText, type TextRange } from "./read-text.ts";
import { showSize } from "./text-file.ts";

/** Larger notebooks are shown as the JSON that they are. */
const maxNotebookBytes = 64 * 1024 * 1024;

/** Shows the cells of a Jupyter notebook with their outputs; a file that is none is shown as text. */
export async function readNotebook(
  file: FileToRead,
  range: TextRange,
  signal: AbortSignal,
): Promise<ToolResult> {
  const cells = file.sizeBytes <= maxNotebookBytes ? await readCells(file, signal) : undefined;
  if (cells === undefined) return readText(file, range, signal);
  return showText(cells.map(showCell).join("\n"), file.shownAs, range);
}

async function readCells(file: FileToRead, signal: AbortSignal): Promise<JsonObject[] | undefined> {
  const bytes = Buffer.alloc(file.sizeBytes);
  const { bytesRead } = await file.handle.read(bytes, 0, bytes.length, 0);
  signal.throwIfAborted();
  try {
    const notebook: JsonValue = JSON.parse(bytes.toString("utf8", 0, bytesRead));
    if (!isJsonObject(notebook) || !Array.isArray(notebook.cells)) return undefined;
    return notebook.cells.filter(isJsonObject);
  } catch {
    return undefined;
  }
}

function showCell(cell: JsonObject, index: number): string {
  const kind = typeof cell.cell_type === "string" ? cell.cell_type : "unknown";
  const run = typeof cell.execution_count === "number" ? `, run as [${cell.execution_count}]` : "";
  const outputs = Array.isArray(cell.outputs) ? cell.outputs.filter(isJsonObject) : [];
  const parts = [`--- cell ${index + 1} (${kind}${run}) ---`, joinText(cell.source)];
  for (const output of outputs) parts.push(`--- output of cell ${index + 1} ---`, showOutput(output));
  return parts.map((part) => (part.endsWith("\n") ? part : `${part}\n`)).join("");
}

function showOutput(output: JsonObject): string {
  if (output.output_type === "stream") return stripAnsi(joinText(output.text));
  if (output.output_type === "error") {
    const trace = Array.isArray(output.traceback) ? output.traceback.map(joinText).join("\n") : "";
    return stripAnsi(trace || `${joinText(output.ename)}: ${joinText(output.evalue)}`);
  }
  return isJsonObject(output.data) ? showData(output.data) : "";
}

/** The plain text of a rich output, and the names of what cannot be shown as text. */
function showData(data: JsonObject): string {
  const parts: string[] = [];
  for (const [mimeType, value] of Object.entries(data)) {
    if (mimeType === "text/plain" || mimeType === "text/markdown") parts.push(joinText(value));
    else if (mimeType.startsWith("image/")) parts.push(`[${mimeType}, ${showSize(joinText(value).length)}]`);
  }
  return stripAnsi(parts.join("\n"));
}

/** A notebook holds text as a string or as a list of lines. */
function joinText(value: JsonValue | undefined): string {
  if (typeof value === "string") return value;
  return Array.isArray(value) ? value.filter((line) => typeof line === "string").join("") : "";
}
