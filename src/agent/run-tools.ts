import { errorMessage } from "../contract/errors.ts";
import type { Emit, ToolOutput } from "../contract/events.ts";
import type { ToolCall, ToolResultMessage } from "../contract/messages.ts";
import { redactValue } from "../contract/redact.ts";
import type { Tool, ToolResult } from "../contract/tool.ts";
import type { AccumulatedCall } from "./accumulate.ts";
import type { RepeatGuard } from "./repeat-guard.ts";
import { throttle } from "./throttle.ts";
import { abortWords, type Reply } from "./turn.ts";

/** What running tools needs of its surroundings. */
export type ToolDeps = {
  readonly tools: ReadonlyMap<string, Tool>;
  /** Absolute; where the tools work. */
  readonly cwd: string;
  readonly emit: Emit;
  readonly ready: () => Promise<void>;
  /** Keeps a result: as soon as it is there and none is missing before it, and before its message is told. */
  readonly record: (message: ToolResultMessage) => void;
  readonly redact: (text: string) => string;
  readonly guard: RepeatGuard;
  readonly now: () => number;
};

/** How long an aborted tool may take to say how it ended, in milliseconds. */
const abortGraceMs = 5_000;
/**
 * When updates are told. A call that says nothing is told of again: it shows that the run is alive, and it is how a
 * reader who went away meanwhile is found out.
 */
const updateTimes = { intervalMs: 100, silenceMs: 1_000, maxSilenceMs: 30_000 };

/**
 * Answers every call of a reply, in call order. Calls that only read run side by side; any other runs alone. A call
 * that must not run (cut off, arguments that did not parse, unknown tool, aborted) is answered with the reason.
 */
export async function runTools(
  reply: Reply,
  deps: ToolDeps,
  signal: AbortSignal,
): Promise<ToolResultMessage[]> {
  const messages: ToolResultMessage[] = [];
  const { overdue, dispose } = watchAbort(signal);
  try {
    for (const group of groups(reply.calls, deps.tools)) {
      const results = await Promise.all(group.map((item) => answer(item, { reply, deps, signal, overdue })));
      // Kept at once: a run that is killed in a later call must not forget what this one did.
      for (const [index, { call }] of group.entries()) {
        const message = toMessage(call, results[index], deps);
        deps.record(message);
        messages.push(message);
      }
    }
  } finally {
    dispose();
  }
  for (const message of messages) {
    deps.emit({ type: "message_start", message });
    deps.emit({ type: "message_end", message });
    await deps.ready();
  }
  return messages;
}

function groups(
  calls: readonly AccumulatedCall[],
  tools: ReadonlyMap<string, Tool>,
): (readonly AccumulatedCall[])[] {
  const result: AccumulatedCall[][] = [];
  let reading: AccumulatedCall[] | undefined;
  for (const item of calls) {
    if (tools.get(item.call.name)?.readOnly !== true) {
      reading = undefined;
      result.push([item]);
    } else if (reading === undefined) {
      reading = [item];
      result.push(reading);
    } else reading.push(item);
  }
  return result;
}

/** What each call of a reply gets. `overdue` rejects when an aborted call must not be waited for any longer. */
type Surroundings = {
  readonly deps: ToolDeps;
  readonly signal: AbortSignal;
  readonly overdue: Promise<never>;
};

async function answer(
  { call, arguments: args }: AccumulatedCall,
  { reply, ...surroundings }: Surroundings & { reply: Reply },
): Promise<ToolResult> {
  const { deps, signal } = surroundings;
  if (signal.aborted) return failure(`The call was not run: ${abortWords(signal)}.`);
  const refuse = (text: string) => deps.guard.check(call, failure(deps.redact(text)));
  if (reply.message.stopReason === "length")
    return refuse(
      "The call was not run: the reply reached its output limit, so the call may be incomplete. " +
        "Send it again, in smaller parts if it is large.",
    );
  const tool = deps.tools.get(call.name);
  if (tool === undefined)
    return refuse(
      `There is no tool "${quote(call.name)}". The tools are: ${[...deps.tools.keys()].join(", ") || "none"}.`,
    );
  if (!args.ok)
    return refuse(
      `The call was not run: its arguments are not valid (${args.problem}). What arrived: ${quote(args.raw)}`,
    );
  return execute(call, tool, surroundings);
}

async function execute(
  call: ToolCall,
  tool: Tool,
  { deps, signal, overdue }: Surroundings,
): Promise<ToolResult> {
  const about = { toolCallId: call.id, toolName: call.name };
  const clean = (output: ToolOutput) => cleanOutput(output, deps.redact);
  const updates = throttle<ToolOutput>({ ...updateTimes, first: { content: [] } }, (partial) =>
    deps.emit({
      type: "tool_execution_update",
      ...about,
      args: call.arguments,
      partialResult: clean(partial),
    }),
  );
  deps.emit({ type: "tool_execution_start", ...about, args: call.arguments });
  let result: ToolResult;
  try {
    const context = { cwd: deps.cwd, toolCallId: call.id, signal, onUpdate: updates.push };
    result = await Promise.race([tool.execute(call.arguments, context), overdue]);
  } catch (error) {
    result = failure(
      signal.aborted
        ? `The call was ${abortWords(signal)}.`
        : `The tool failed: ${quote(errorMessage(error))}`,
    );
  }
  updates.stop();
  const { isError, ...output } = deps.guard.check(call, { ...clean(result), isError: result.isError });
  deps.emit({ type: "tool_execution_end", ...about, result: output, isError });
  return { ...output, isError };
}

/**
 * A tool that does not end soon after an abort is left behind rather than waited for. One watch serves all calls of a
 * reply, however many there are: Node warns of a signal with many listeners.
 */
function watchAbort(signal: AbortSignal): { readonly overdue: Promise<never>; dispose(): void } {
  let timer: NodeJS.Timeout | undefined;
  let onAbort = (): void => undefined;
  const overdue = new Promise<never>((_, reject) => {
    onAbort = () => {
      timer = setTimeout(() => reject(signal.reason), abortGraceMs);
    };
  });
  signal.addEventListener("abort", onAbort, { once: true });
  return {
    overdue,
    dispose() {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
    },
  };
}

function cleanOutput({ content, details }: ToolOutput, redact: (text: string) => string): ToolOutput {
  return {
    content: content.map((block) =>
      block.type === "text" ? { ...block, text: redact(block.text).toWellFormed() } : block,
    ),
    ...(details === undefined ? {} : { details: redactValue(details, redact) }),
  };
}

function toMessage(call: ToolCall, result: ToolResult | undefined, deps: ToolDeps): ToolResultMessage {
  const { content, details, isError } = result ?? failure("The call was not run.");
  return {
    role: "toolResult",
    toolCallId: call.id,
    toolName: call.name,
    content,
    ...(details === undefined ? {} : { details }),
    isError,
    timestamp: deps.now(),
  };
}

function failure(text: string): ToolResult {
  return { content: [{ type: "text", text }], isError: true };
}

function quote(raw: string): string {
  return raw.length > 500 ? `${raw.slice(0, 500).toWellFormed()}… (${raw.length} characters)` : raw;
}
