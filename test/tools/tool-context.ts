import type { ToolContext } from "../../src/contract/tool.ts";

/** What a call may use, for tests that call a tool directly. */
export function toolContext(overrides: Partial<ToolContext> = {}): ToolContext {
  return {
    cwd: "/",
    toolCallId: "call_1",
    signal: new AbortController().signal,
    onUpdate: () => {},
    ...overrides,
  };
}
