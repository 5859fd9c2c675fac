import type { JsonObject, JsonValue } from "../../contract/json.ts";
import { isJsonObject } from "../../contract/json.ts";
import type { ToolCall, ToolResultMessage } from "../../contract/messages.ts";
import { content, folded, output, type Renderers } from "./blocks.ts";
import { escapeHtml, type Html } from "./escape.ts";
import { languageOf } from "./highlight.ts";

/** A tool call with its result, folded under a line that says what it did. */
export function callHtml(
  { name, arguments: args }: ToolCall,
  result: ToolResultMessage | undefined,
  renderers: Renderers,
): Html {
  const state = result === undefined ? "no result" : result.isError ? "error" : "ok";
  const summary = `<span class="tool-name">${escapeHtml(name)}</span> <code>${escapeHtml(shorten(briefly(args)))}</code> <span class="state ${state.replace(" ", "-")}">${state}</span>`;
  const asked = (views.get(name) ?? viewAny)(args, renderers);
  return folded(
    "call",
    summary,
    `${asked}${result === undefined ? "" : resultHtml(result, args, renderers)}`,
  );
}

/** A result under a line that says of what. */
export function resultHtml(
  { toolName, content: blocks, isError }: ToolResultMessage,
  args: JsonObject,
  { highlight }: Renderers,
): Html {
  const language = toolName === "read" && !isError ? languageOf(text(args.path)) : undefined;
  const shown = content(blocks, (words) => output(words, highlight(words, language)));
  return `<div class="part">${isError ? "Error" : "Result"}</div>${shown}`;
}

type View = (args: JsonObject, renderers: Renderers) => Html;

const maxBriefLength = 120;

/** Tools whose arguments are easier to read than as JSON. */
const views: ReadonlyMap<string, View> = new Map<string, View>([
  [
    "bash",
    ({ command, ...rest }, renderers) =>
      code("Command", text(command), "bash", renderers) + viewRest(rest, renderers),
  ],
  [
    "ipython",
    ({ code: cell, ...rest }, renderers) =>
      code("Code", text(cell), "python", renderers) + viewRest(rest, renderers),
  ],
  [
    "write",
    ({ path, content: written, ...rest }, renderers) =>
      code(`Content of ${text(path)}`, text(written), languageOf(text(path)), renderers) +
      viewRest(rest, renderers),
  ],
  ["edit", viewEdits],
]);

function viewAny(args: JsonObject, renderers: Renderers): Html {
  return code("Arguments", JSON.stringify(args, null, 2), "json", renderers);
}

function viewRest(args: JsonObject, renderers: Renderers): Html {
  return Object.keys(args).length === 0 ? "" : viewAny(args, renderers);
}

function viewEdits(args: JsonObject, renderers: Renderers): Html {
  const { path, edits, oldText, newText, ...rest } = args;
  const all = [
    ...(Array.isArray(edits) ? edits : []),
    ...(oldText === undefined ? [] : [{ oldText, newText }]),
  ];
  const changes = all.flatMap((edit) => toChange(edit) ?? []);
  // What is not as it should be is shown as it is.
  if (changes.length === 0 || changes.length < all.length || (edits !== undefined && !Array.isArray(edits)))
    return viewAny(args, renderers);
  return changes.map((change) => viewChange(text(path), change)).join("") + viewRest(rest, renderers);
}

type Change = { readonly oldText: string; readonly newText: string };

function toChange(edit: JsonValue): Change | undefined {
  if (!isJsonObject(edit) || Object.keys(edit).length !== 2) return undefined;
  const { oldText, newText } = edit;
  return typeof oldText === "string" && typeof newText === "string" ? { oldText, newText } : undefined;
}

function viewChange(path: string, { oldText, newText }: Change): Html {
  const lines = marked("del", "-", oldText) + marked("ins", "+", newText);
  return `<div class="part">Change of ${escapeHtml(path)}</div><pre class="change"><code>${lines}</code></pre>`;
}

function marked(element: "del" | "ins", sign: string, words: string): Html {
  if (words === "") return "";
  const lines = words.replace(/\n$/, "").split("\n");
  return `<${element}>${lines.map((line) => `${sign} ${escapeHtml(line)}`).join("\n")}</${element}>`;
}

function code(title: string, words: string, language: string | undefined, { highlight }: Renderers): Html {
  return `<div class="part">${escapeHtml(title)}</div>${output(words, highlight(words, language))}`;
}

/** The argument that says most. */
function briefly(args: JsonObject): string {
  const main = [args.command, args.code, args.pattern, args.path].find((value) => typeof value === "string");
  const parts = [main, main === args.path ? undefined : args.path].filter((part) => typeof part === "string");
  return main === undefined && Object.keys(args).length > 0 ? JSON.stringify(args) : parts.join("  ");
}

function shorten(words: string): string {
  const line = words
    .slice(0, 4 * maxBriefLength)
    .replace(/\s+/g, " ")
    .trim();
  const characters = [...line];
  return characters.length <= maxBriefLength ? line : `${characters.slice(0, maxBriefLength).join("")}…`;
}

function text(value: JsonValue | undefined): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
