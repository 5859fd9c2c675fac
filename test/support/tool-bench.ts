import type { ToolResultMessage } from "../../src/contract/messages.ts";
import { chatReply, type ScriptedCall } from "./chat-wire.ts";
import type { Line, RunOptions, RunResult } from "./run-cli.ts";
import { type Bench, createBench } from "./with-provider.ts";
import type { ProviderSetup } from "./workspace.ts";

/** A run in JSON mode, with the results of its tool calls in the order of the stream. */
export type ToolRun = RunResult & { readonly results: readonly ToolResultMessage[] };

export type ToolBench = Bench & {
  /** Runs the program with options of its own in front of the prompt. */
  runTools(args?: readonly string[], options?: RunOptions): Promise<ToolRun>;
};

/** A bench whose model makes the calls of each list in one message, and then says that it is done. */
export async function createToolBench(
  messages: readonly (readonly ScriptedCall[])[],
  setup?: Omit<ProviderSetup, "url">,
): Promise<ToolBench> {
  const script = [...messages.map((calls) => chatReply({ calls })), chatReply({ text: "done" })];
  const bench = await createBench(script, setup);
  return {
    ...bench,
    async runTools(args = [], options) {
      const result = await bench.run(["--mode", "json", ...args, "hi"], options);
      return { ...result, results: resultsIn(result.lines) };
    },
  };
}

/** Makes calls of a tool. */
export function callsOf(name: string, ...args: readonly object[]): ScriptedCall[] {
  return args.map((each) => ({ name, args: each }));
}

/** The text of a result, after `ERROR: ` when it is an error. */
export function textOf({ content, isError }: ToolResultMessage): string {
  const text = content.map((block) => (block.type === "text" ? block.text : `<${block.mimeType}>`)).join("");
  return isError ? `ERROR: ${text}` : text;
}

/** Half characters in a request's body: escapes of a surrogate without its partner. */
export function halfCharacters(body: string): readonly string[] {
  return body.match(/\\ud[89ab]..(?!\\ud[c-f])|(?<!\\ud[89ab]..)\\ud[c-f]../gi) ?? [];
}

/** The results of tool calls in a stream, in its order. */
export function resultsIn(lines: readonly Line[]): ToolResultMessage[] {
  return lines.flatMap(({ type, message }) =>
    type === "message_end" && message.role === "toolResult" ? [message] : [],
  );
}
