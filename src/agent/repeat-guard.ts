import { createHash } from "node:crypto";
import { isJsonObject } from "../contract/json.ts";
import type { ToolCall } from "../contract/messages.ts";
import type { ToolResult } from "../contract/tool.ts";

/** Notices a model that makes the same call with the same result over and over. */
export type RepeatGuard = {
  /** Counts a call with its result and gives the result back, from the third time on with a remark for the model. */
  check(call: ToolCall, result: ToolResult): ToolResult;
  /** The call that was made too often, in words. */
  exceeded(): string | undefined;
  /** Starts the count anew. */
  reset(): void;
};

const remarkFrom = 3;
const stopAt = 6;

/**
 * Makes a guard. Only progress (a call or a result that was not seen before) starts the count anew; what was seen before
 * it counts as once, so that calls made in turns are all noticed at their third time.
 */
export function createRepeatGuard(): RepeatGuard {
  const counts = new Map<string, number>();
  const seen = new Set<string>();
  let tooOften: string | undefined;

  function check(call: ToolCall, result: ToolResult): ToolResult {
    const key = digest([call.name, call.arguments, saidBy(result), result.isError]);
    const isNew = !seen.has(key);
    if (isNew) counts.clear();
    seen.add(key);
    const count = isNew ? 1 : (counts.get(key) ?? 1) + 1;
    counts.set(key, count);
    if (count >= stopAt) tooOften = `the call of ${call.name} gave the same result ${count} times`;
    if (count < remarkFrom) return result;
    const text = `This is call number ${count} with the same arguments and the same result. Try something else.`;
    return { ...result, content: [...result.content, { type: "text", text }] };
  }

  function reset(): void {
    counts.clear();
    seen.clear();
    tooOften = undefined;
  }

  return { check, exceeded: () => tooOften, reset };
}

/** What a result says, but for the name of the file that the whole of it is in: each call has another one. */
function saidBy({ content, details }: ToolResult): string {
  const said = JSON.stringify(content);
  const path = isJsonObject(details) ? details.fullOutputPath : undefined;
  return typeof path === "string" ? said.replaceAll(JSON.stringify(path).slice(1, -1), "") : said;
}

/** The same text for the same value. Only a long one is worth node:crypto, which takes milliseconds to load. */
function digest(value: unknown): string {
  const text = JSON.stringify(value, inOrder);
  return text.length <= maxKeptLength ? text : createHash("sha1").update(text).digest("base64");
}

/** Arguments are the same whatever order the model names them in. */
function inOrder(_key: string, value: unknown): unknown {
  return isJsonObject(value) ? Object.fromEntries(Object.entries(value).sort(byKey)) : value;
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

const maxKeptLength = 256;
