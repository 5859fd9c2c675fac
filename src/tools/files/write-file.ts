import { sep } from "node:path";
import { errorMessage } from "../../contract/errors.ts";
import type { ToolContext, ToolResult } from "../../contract/tool.ts";
import { errorResult, textResult } from "../define-tool.ts";
import { countLines } from "../truncate.ts";
import { NotAFileError, writeFileAtomically } from "./atomic-write.ts";
import { inFileOrder } from "./file-queue.ts";
import { describeFileError, resolveForWriting, showPath } from "./path.ts";

export type WriteRequest = { readonly path: string; readonly content: string };

/** Gives a file its whole content. A failure leaves the file as it was. */
export async function writeForModel(request: WriteRequest, context: ToolContext): Promise<ToolResult> {
  const { path } = request;
  const content = request.content.toWellFormed();
  const data = Buffer.from(content);
  if (path.endsWith("/") || path.endsWith(sep)) {
    return errorResult(`Cannot write ${showPath(path)}: it names a folder. Name the file in it.`);
  }
  const target = resolveForWriting(context.cwd, path);
  try {
    const created = await inFileOrder(target, () => writeFileAtomically(target, data, context.signal));
    const lines = countLines(content);
    const size = `${data.length} ${data.length === 1 ? "byte" : "bytes"}, ${lines} ${lines === 1 ? "line" : "lines"}`;
    return textResult(`${created ? "Created" : "Overwrote"} ${showPath(path)} (${size}).`, {
      created,
      bytes: data.length,
      lines,
    });
  } catch (error) {
    if (context.signal.aborted) throw error;
    return errorResult(writeProblem(path, error));
  }
}

/** Why a file could not be written, in a sentence. */
export function writeProblem(path: string, error: unknown): string {
  if (error instanceof NotAFileError) return `Cannot write ${showPath(path)}: ${errorMessage(error)}.`;
  return describeFileError("write", path, error);
}
