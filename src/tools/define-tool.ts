import type { JsonObject, JsonValue } from "../contract/json.ts";
import type { Tool, ToolContext, ToolResult } from "../contract/tool.ts";
import { checkArguments, type ObjectSchema, type ValueOf } from "./arguments.ts";
import { cleanText, truncateHead } from "./truncate.ts";

/** How much of a bad call's arguments is quoted back to the model. */
const quoteLimits = { maxBytes: 500, maxLines: 1 };

export type ToolSpec<Schema extends ObjectSchema> = {
  readonly name: string;
  /** What the model reads about the tool; kept in the tool's `.md` file. */
  readonly description: string;
  /** A literal: the type of `run`'s arguments is computed from it. */
  readonly parameters: Schema;
  /** Only reads: calls of one message that only read run in parallel. */
  readonly readOnly: boolean;
  /** Loads what is heavy with `await import()`. May throw when the call was aborted. */
  run(args: ValueOf<Schema>, context: ToolContext): Promise<ToolResult>;
  close?(): Promise<void>;
};

/**
 * Makes a tool from its schema and the function that does the work. The function only sees arguments that fit the
 * schema; a call that does not fit and a call that was aborted become error results.
 */
export function defineTool<const Schema extends ObjectSchema>(spec: ToolSpec<Schema>): Tool {
  const { name, parameters, readOnly, close } = spec;
  return {
    name,
    description: spec.description.trim(),
    parameters: parameters as JsonObject,
    readOnly,
    async execute(args, context) {
      const checked = checkArguments(parameters, args);
      if (!checked.ok) return errorResult(badCall(name, args, checked.problems));
      if (context.signal.aborted) return abortedResult(name);
      try {
        return await spec.run(checked.value, context);
      } catch (error) {
        if (context.signal.aborted) return abortedResult(name);
        throw error;
      }
    },
    ...(close ? { close: () => close.call(spec) } : {}),
  };
}

/** A result that is one text, made safe for JSON, storage and providers. */
export function textResult(text: string, details?: JsonValue): ToolResult {
  return {
    content: [{ type: "text", text: cleanText(text) }],
    ...(details === undefined ? {} : { details }),
    isError: false,
  };
}

/** The same for a failure: the text is the why. */
export function errorResult(text: string, details?: JsonValue): ToolResult {
  return { ...textResult(text, details), isError: true };
}

function abortedResult(name: string): ToolResult {
  return errorResult(`${name} was aborted.`);
}

function badCall(name: string, args: JsonObject, problems: readonly string[]): string {
  const { text, truncated } = truncateHead(JSON.stringify(args), quoteLimits);
  return `The call of ${name} was not run, its arguments do not fit: ${problems.join("; ")}. Arguments received: ${text}${truncated ? " ..." : ""}`;
}
