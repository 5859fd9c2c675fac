import type { ToolOutput } from "./events.ts";
import type { JsonObject } from "./json.ts";
import type { ToolSchema } from "./provider.ts";

/** A tool's answer. Failure has the same fields: `isError` says that the content is the why. */
export type ToolResult = ToolOutput & { isError: boolean };

/** What one call may use. */
export type ToolContext = {
  /** Absolute; relative paths of the model start here. */
  readonly cwd: string;
  readonly toolCallId: string;
  /** Aborted when the run is: the tool ends at once, leaves no process behind and says that it was aborted. */
  readonly signal: AbortSignal;
  /** Tells what there is so far. May be called as often as the tool likes: the loop sends at most one in 100 ms. */
  readonly onUpdate: (partial: ToolOutput) => void;
};

/** Something the model can call. */
export type Tool = ToolSchema & {
  /** Only reads: calls of one message that only read run in parallel. */
  readonly readOnly: boolean;
  /**
   * Runs a call whose arguments parsed as a JSON object; the tool itself validates them against its schema.
   * Expected failure is a result with `isError`; an exception is turned into one by the loop.
   */
  execute(args: JsonObject, context: ToolContext): Promise<ToolResult>;
  /** Ends what the tool keeps between calls (a process, a file). */
  close?(): Promise<void>;
};
