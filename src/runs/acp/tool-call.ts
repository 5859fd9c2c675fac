import { resolve } from "node:path";
import type * as acp from "@agentclientprotocol/sdk";
import type { ToolOutput } from "../../contract/events.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../contract/json.ts";
import type { ToolCall } from "../../contract/messages.ts";

/** What an editor shows of a call whose arguments are known. */
export function describeCall(
  call: Pick<ToolCall, "name" | "arguments">,
  cwd: string,
): Required<Pick<acp.ToolCall, "title" | "kind" | "locations" | "content" | "rawInput">> {
  const { name, arguments: args } = call;
  return {
    title: title(name, args),
    kind: kindOf(name),
    locations: locations(args, cwd),
    content: diffs(name, args, cwd),
    rawInput: args,
  };
}

/** What a tool does, in the protocol's words. */
export function kindOf(name: string): acp.ToolKind {
  return kinds.get(name) ?? "other";
}

/** What a call gave; of an edit that worked, the diff says more than its words. */
export function resultContent(
  name: string,
  output: ToolOutput,
  isError: boolean,
): acp.ToolCallContent[] | undefined {
  if (!isError && kindOf(name) === "edit") return undefined;
  return output.content.map((block) => ({ type: "content", content: block }));
}

const kinds: ReadonlyMap<string, acp.ToolKind> = new Map([
  ["read", "read"],
  ["ls", "read"],
  ["bash", "execute"],
  ["ipython", "execute"],
  ["edit", "edit"],
  ["write", "edit"],
  ["grep", "search"],
  ["find", "search"],
]);

/** By tool, the argument that says what a call is about, and the words before it. */
const subjects: ReadonlyMap<string, readonly [argument: string, verb: string]> = new Map([
  ["read", ["path", "Read "]],
  ["ls", ["path", "List "]],
  ["bash", ["command", ""]],
  ["ipython", ["code", ""]],
  ["edit", ["path", "Edit "]],
  ["write", ["path", "Write "]],
  ["grep", ["pattern", "Search for "]],
  ["find", ["pattern", "Find "]],
]);
const maxTitleLength = 120;

function title(name: string, args: JsonObject): string {
  const [argument = "", verb = ""] = subjects.get(name) ?? [];
  const subject = text(args[argument]);
  if (subject === undefined) return name;
  const [line = "", ...further] = subject.trim().split("\n");
  const short = line.length > maxTitleLength ? line.slice(0, maxTitleLength).toWellFormed() : line;
  return `${verb}${short}${short !== line || further.length > 0 ? " …" : ""}`;
}

function locations({ path, offset }: JsonObject, cwd: string): acp.ToolCallLocation[] {
  const file = text(path);
  if (file === undefined) return [];
  const line = typeof offset === "number" && Number.isInteger(offset) && offset > 0 ? { line: offset } : {};
  return [{ path: resolve(cwd, file), ...line }];
}

function diffs(name: string, args: JsonObject, cwd: string): acp.ToolCallContent[] {
  const file = text(args.path);
  if (kindOf(name) !== "edit" || file === undefined) return [];
  const path = resolve(cwd, file);
  if (typeof args.content === "string") return [{ type: "diff", path, oldText: null, newText: args.content }];
  const edits = Array.isArray(args.edits) ? args.edits : [args];
  return edits.flatMap((edit: JsonValue): acp.ToolCallContent[] => {
    if (!isJsonObject(edit)) return [];
    const { oldText, newText } = edit;
    if (typeof oldText !== "string" || typeof newText !== "string") return [];
    return [{ type: "diff", path, oldText, newText }];
  });
}

function text(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}
