import type { RequestJson } from "./provider-server.ts";

/** What a request of any API holds, a line a part: `user: words`, `assistant: words`, `thinking`, `call id`, `result id`. */
export function outlineRequest(json: RequestJson): string[] {
  const items: RequestJson[] = json.input ?? json.messages;
  return items.filter(({ role }) => role !== "system" && role !== "developer").flatMap(outlineItem);
}

/** The ids of results that do not stand right behind their calls, in call order, and of calls without one. */
export function unpaired(outline: readonly string[]): string[] {
  const wrong: string[] = [];
  let open: string[] = [];
  for (const line of outline) {
    const [kind = "", id = ""] = line.split(" ");
    if (kind === "result") {
      if (open.shift() !== id) wrong.push(line);
      continue;
    }
    if (kind !== "call" || wasAnswered(outline, line)) wrong.push(...open.splice(0));
    if (kind === "call") open.push(id);
  }
  open = open.splice(0);
  return [...wrong, ...open];
}

/** Whether a result stands directly before this call: then a new group of calls begins. */
function wasAnswered(outline: readonly string[], call: string): boolean {
  return outline[outline.indexOf(call) - 1]?.startsWith("result ") === true;
}

function outlineItem(item: RequestJson): string[] {
  switch (item.type) {
    case "function_call":
      return [`call ${item.call_id}`];
    case "function_call_output":
      return [`result ${item.call_id}`];
    case "reasoning":
      return ["thinking"];
  }
  if (item.role === "tool") return [`result ${item.tool_call_id}`];
  const content =
    typeof item.content === "string" ? [{ type: "text", text: item.content }] : (item.content ?? []);
  return [
    ...(item.reasoning_content === undefined ? [] : ["thinking"]),
    ...content.map((block: RequestJson) => outlineBlock(item.role, block)),
    ...(item.tool_calls ?? []).map(({ id }: RequestJson) => `call ${id}`),
  ];
}

function outlineBlock(role: string, block: RequestJson): string {
  switch (block.type) {
    case "tool_use":
      return `call ${block.id}`;
    case "tool_result":
      return `result ${block.tool_use_id}`;
    case "thinking":
    case "redacted_thinking":
      return "thinking";
    default:
      return `${role}: ${block.text ?? block.type}`;
  }
}
