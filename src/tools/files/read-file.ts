import type { FileHandle } from "node:fs/promises";
import type { ToolContext, ToolResult } from "../../contract/tool.ts";
import { errorResult } from "../define-tool.ts";
import type { ImageOptions } from "../read.ts";
import { binaryType, imageType } from "./file-type.ts";
import { describeFileError, findForReading, showPath } from "./path.ts";
import { readText, type TextRange } from "./read-text.ts";
import { openRegularFile, showSize } from "./text-file.ts";

export type ReadRequest = TextRange & { readonly path: string; readonly images: ImageOptions };

/** An open file, its name for people, and its first bytes. */
export type FileToRead = {
  readonly handle: FileHandle;
  readonly shownAs: string;
  readonly sizeBytes: number;
  readonly head: Buffer;
};

const headBytes = 64 * 1024;

/** Shows a file in the way its content asks for; what cannot be shown is named. */
export async function readForModel(request: ReadRequest, context: ToolContext): Promise<ToolResult> {
  const found = await findForReading(context.cwd, request.path);
  if (!found.found) return errorResult(found.problem);
  const opened = await openRegularFile(found.path, request.path);
  if (!opened.ok) return errorResult(opened.problem);
  const { handle, stats } = opened;
  try {
    const head = await readHead(handle);
    const file = { handle, shownAs: showPath(request.path), sizeBytes: stats.size, head };
    return withNote(await show(file, request, context.signal), found.note);
  } catch (error) {
    if (context.signal.aborted) throw error;
    return errorResult(describeFileError("read", request.path, error));
  } finally {
    await handle.close();
  }
}

async function show(file: FileToRead, request: ReadRequest, signal: AbortSignal): Promise<ToolResult> {
  const mimeType = imageType(file.head);
  if (mimeType !== undefined) {
    const { readImage } = await import("./read-image.ts");
    return readImage(file, mimeType, request.images);
  }
  const type = binaryType(file.head);
  if (type !== undefined) {
    return errorResult(
      `${file.shownAs} is a binary file (${type}, ${showSize(file.sizeBytes)}) and cannot be read as text. Use bash with a program that knows the format.`,
    );
  }
  if (/\.ipynb$/i.test(request.path)) {
    const { readNotebook } = await import("./read-notebook.ts");
    return readNotebook(file, request, signal);
  }
  return readText(file, request, signal);
}

async function readHead(handle: FileHandle): Promise<Buffer> {
  const head = Buffer.alloc(headBytes);
  let length = 0;
  for (let read = 1; read > 0 && length < head.length; length += read) {
    read = (await handle.read(head, length, head.length - length, length)).bytesRead;
  }
  return head.subarray(0, length);
}

function withNote(result: ToolResult, note: string | undefined): ToolResult {
  if (note === undefined) return result;
  return { ...result, content: [...result.content, { type: "text", text: `[${note}]` }] };
}
