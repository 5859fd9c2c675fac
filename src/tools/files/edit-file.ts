import type { ToolContext, ToolResult } from "../../contract/tool.ts";
import { errorResult, textResult } from "../define-tool.ts";
import { writeFileAtomically } from "./atomic-write.ts";
import { unifiedDiff } from "./edit-diff.ts";
import { nearestHint } from "./edit-hint.ts";
import { applyReplacements, type Edit, lineAt, matchEdits, type Replacement } from "./edit-match.ts";
import { inFileOrder } from "./file-queue.ts";
import { resolveForWriting, showPath } from "./path.ts";
import {
  decodeText,
  encodeText,
  findByteOrderMark,
  guessEncoding,
  openRegularFile,
  showSize,
  type TextEncoding,
} from "./text-file.ts";
import { writeProblem } from "./write-file.ts";

/** Edits as a list, or one edit by itself. */
export type EditRequest = {
  readonly path: string;
  readonly edits: readonly Edit[];
  readonly oldText: string | undefined;
  readonly newText: string | undefined;
};

/** A text file in memory, and what is needed to write it back byte for byte. */
type TextFile = { readonly mark: Buffer; readonly encoding: TextEncoding; readonly text: string };
type Loaded =
  | { readonly ok: true; readonly file: TextFile }
  | { readonly ok: false; readonly problem: string };

const maxFileBytes = 32 * 1024 * 1024;

/** Replaces pieces of a text file, all of them or none; bytes outside of them stay as they are. */
export async function editForModel(request: EditRequest, context: ToolContext): Promise<ToolResult> {
  const edits = editsOf(request);
  if (typeof edits === "string") return errorResult(`Cannot edit ${showPath(request.path)}: ${edits}`);
  const target = resolveForWriting(context.cwd, request.path);
  try {
    return await inFileOrder(target, () => editFile(target, { path: request.path, edits }, context.signal));
  } catch (error) {
    if (context.signal.aborted) throw error;
    return errorResult(writeProblem(request.path, error));
  }
}

function editsOf({ edits, oldText, newText }: EditRequest): Edit[] | string {
  // Some models fill in every argument that there is: an empty pair beside a list is none.
  const isUnused = edits.length > 0 && !oldText && !newText;
  if (!isUnused && (oldText === undefined) !== (newText === undefined)) {
    return `${oldText === undefined ? "oldText" : "newText"} is missing.`;
  }
  const hasBoth = !isUnused && oldText !== undefined && newText !== undefined;
  const all = [...edits, ...(hasBoth ? [{ oldText, newText }] : [])].map((edit) => ({
    oldText: edit.oldText.toWellFormed(),
    newText: edit.newText.toWellFormed(),
  }));
  return all.length > 0 ? all : "edits is empty: give at least one {oldText, newText}.";
}

async function editFile(
  target: string,
  { path, edits }: { path: string; edits: readonly Edit[] },
  signal: AbortSignal,
): Promise<ToolResult> {
  signal.throwIfAborted();
  const loaded = await load(target, path);
  if (!loaded.ok) return errorResult(loaded.problem);
  const { file } = loaded;
  const refused = (problem: string) => errorResult(`${showPath(path)} was not changed: ${problem}`);
  const matches = matchEdits(file.text, edits);
  if (!matches.ok) {
    const hint = matches.notFound && nearestHint(file.text, matches.notFound.oldText);
    return refused(hint === undefined ? matches.problem : `${matches.problem} ${hint}`);
  }
  const text = applyReplacements(file.text, matches.replacements);
  if (text === file.text) return refused("the replacements are what is there already.");
  const encoded = encodeText(text, file.encoding);
  if ("unknown" in encoded) {
    return refused(`it is ${file.encoding} text, which has no character ${JSON.stringify(encoded.unknown)}.`);
  }
  await writeFileAtomically(target, Buffer.concat([file.mark, encoded.bytes]), signal);
  return textResult(describeEdit(path, file.text, matches.replacements), {
    diff: await unifiedDiff(path, { before: file.text, replacements: matches.replacements }),
    firstChangedLine: lineAt(text, firstDifference(file.text, text)),
  });
}

async function load(target: string, path: string): Promise<Loaded> {
  const opened = await openRegularFile(target, path);
  if (!opened.ok) return opened;
  try {
    const refuse = (why: string): Loaded => ({ ok: false, problem: `Cannot edit ${showPath(path)}: ${why}` });
    if (opened.stats.size > maxFileBytes) {
      return refuse(
        `it has ${showSize(opened.stats.size)}, edit takes up to ${showSize(maxFileBytes)}. Use bash.`,
      );
    }
    const bytes = await opened.handle.readFile();
    const mark = findByteOrderMark(bytes);
    const body = bytes.subarray(mark?.bytes ?? 0);
    const encoding = mark?.encoding ?? guessEncoding(body);
    const isWide = encoding === "utf-16le" || encoding === "utf-16be";
    if (!isWide && body.includes(0)) return refuse("it is a binary file (it holds NUL bytes). Use bash.");
    if (isWide && body.length % 2 !== 0) return refuse("it starts as UTF-16 but has an odd number of bytes.");
    return {
      ok: true,
      file: { mark: bytes.subarray(0, mark?.bytes ?? 0), encoding, text: decodeText(body, encoding) },
    };
  } finally {
    await opened.handle.close();
  }
}

function describeEdit(path: string, text: string, replacements: readonly Replacement[]): string {
  const lines = replacements.map(({ start, end }) => {
    const first = lineAt(text, start);
    const last = lineAt(text, Math.max(start, end - 1));
    return first === last ? `${first}` : `${first}-${last}`;
  });
  const places = `${replacements.length} ${replacements.length === 1 ? "place" : "places"}`;
  const note = replacements.some(({ tolerant }) => tolerant)
    ? " The text was found by a tolerant match (quotes, dashes, white space or line ends differ)."
    : "";
  return `Edited ${showPath(path)} in ${places} (at line ${lines.join(", ")}).${note}`;
}

function firstDifference(before: string, after: string): number {
  let at = 0;
  while (at < before.length && before[at] === after[at]) at += 1;
  return at;
}
