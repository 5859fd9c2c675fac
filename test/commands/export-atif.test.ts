import fc from "fast-check";
import { expect, test } from "vitest";
import { toAtif } from "../../src/commands/export-atif.ts";
import type { ExportSource } from "../../src/commands/export-formats.ts";
import type { NewEntry } from "../../src/contract/entries.ts";
import { StartupError } from "../../src/contract/errors.ts";
import type { Usage } from "../../src/contract/messages.ts";
import { version } from "../../src/version.ts";
import { assistant, call, chain, message, result, text, user } from "../session/samples.ts";
import { type AtifTrajectory, atifSchema } from "../support/atif-schema.ts";

const header = { type: "session", version: 3, id: "id-1", timestamp: "", cwd: "/work" } as const;

function source(entries: readonly NewEntry[], fields: Partial<ExportSource> = {}): ExportSource {
  const placed = chain(entries);
  return { header, settings: {}, entries: () => placed, ...fields };
}

function trajectory(entries: readonly NewEntry[], fields: Partial<ExportSource> = {}): AtifTrajectory {
  return atifSchema.parse(JSON.parse([...toAtif(source(entries, fields))].join("")));
}

function usage(input: number, output: number, cacheRead: number, cacheWrite: number): Usage {
  const totalTokens = input + output + cacheRead + cacheWrite;
  const cost = { input: 1, output: 1, cacheRead: 1, cacheWrite: 1, total: 4 };
  return { input, output, cacheRead, cacheWrite, totalTokens, cost };
}

function at(index: number): string {
  return new Date(index).toISOString();
}

test("a session is a trajectory of the format, with results at the calls that they answer", () => {
  const entries: NewEntry[] = [
    { type: "model_change", provider: "p", modelId: "m" },
    { type: "thinking_level_change", thinkingLevel: "high" },
    message(user("list")),
    message(
      assistant([{ type: "thinking", thinking: "hm" }, text("Yes"), call("a"), call("b", "read")], {
        usage: usage(10, 5, 100, 7),
        stopReason: "toolUse",
        responseId: "r1",
      }),
    ),
    message(result("b")),
    message({ ...result("a"), isError: true }),
    { type: "thinking_level_change", thinkingLevel: "off" },
    message(assistant([text("Done")], { usage: usage(1, 2, 0, 0) })),
  ];
  const settings = { name: "mine", model: { provider: "p", modelId: "m" } };
  expect(trajectory(entries, { settings, header: { ...header, parentSession: "id-0" } })).toEqual({
    schema_version: "ATIF-v1.7",
    session_id: "id-1",
    agent: { name: "base-context", version, model_name: "m", extra: { provider: "p" } },
    extra: { cwd: "/work", name: "mine", parent_session: "id-0" },
    steps: [
      { step_id: 1, timestamp: at(2), source: "user", message: "list" },
      {
        step_id: 2,
        timestamp: at(3),
        source: "agent",
        model_name: "m",
        reasoning_effort: "high",
        message: "Yes",
        reasoning_content: "hm",
        tool_calls: [
          { tool_call_id: "a", function_name: "ls", arguments: {} },
          { tool_call_id: "b", function_name: "read", arguments: {} },
        ],
        observation: {
          results: [
            { source_call_id: "a", content: "result of a", extra: { is_error: true } },
            { source_call_id: "b", content: "result of b" },
          ],
        },
        metrics: {
          prompt_tokens: 117,
          completion_tokens: 5,
          cached_tokens: 100,
          cost_usd: 4,
          extra: { cache_creation_input_tokens: 7 },
        },
        extra: { api: "openai-completions", provider: "p", stop_reason: "toolUse", response_id: "r1" },
      },
      {
        step_id: 3,
        timestamp: at(7),
        source: "agent",
        model_name: "m",
        message: "Done",
        metrics: { prompt_tokens: 1, completion_tokens: 2, cached_tokens: 0, cost_usd: 4 },
        extra: { api: "openai-completions", provider: "p", stop_reason: "stop" },
      },
    ],
    final_metrics: {
      total_prompt_tokens: 118,
      total_completion_tokens: 7,
      total_cached_tokens: 100,
      total_cost_usd: 8,
      total_steps: 3,
      extra: { total_cache_creation_input_tokens: 7 },
    },
  });
});

test.each<[string, NewEntry, object | undefined]>([
  [
    "a compaction",
    {
      type: "compaction",
      summary: "what was",
      firstKeptEntryId: "e0",
      tokensBefore: 9,
      details: { usage: usage(3, 2, 1, 0) },
    },
    { source: "system", message: "what was", extra: { kind: "compaction", tokens_before: 9 } },
  ],
  [
    "a branch that was left",
    { type: "branch_summary", summary: "left", fromId: "e0" },
    { source: "system", message: "left", extra: { kind: "branch_summary" } },
  ],
  [
    "a message of the program",
    { type: "custom_message", customType: "note", content: "hi", display: false },
    { source: "system", message: "hi", extra: { kind: "custom", custom_type: "note" } },
  ],
  [
    "a result without its call",
    message(result("x")),
    {
      source: "system",
      message: "",
      extra: { kind: "tool_result", tool_call_id: "x", tool_name: "ls", is_error: false },
      observation: { results: [{ content: "result of x" }] },
    },
  ],
  [
    "a command of the user",
    message({
      role: "bashExecution",
      command: "ls",
      output: "a",
      exitCode: 0,
      cancelled: false,
      truncated: false,
      timestamp: 1,
    }),
    {
      source: "system",
      message: "ls",
      extra: { kind: "user_command", cancelled: false, exit_code: 0 },
      observation: { results: [{ content: "a" }] },
    },
  ],
  [
    "an image",
    message({
      role: "user",
      content: [
        { type: "text", text: "see" },
        { type: "image", mimeType: "image/png", data: "AAAA" },
        { type: "image", mimeType: "image/svg+xml", data: "AAAA" },
      ],
      timestamp: 1,
    }),
    {
      source: "user",
      message: [
        { type: "text", text: "see" },
        { type: "image", source: { media_type: "image/png", path: "data:image/png;base64,AAAA" } },
        { type: "text", text: "(an image, image/svg+xml)" },
      ],
    },
  ],
  ["a label", { type: "label", targetId: "e0", label: "x" }, undefined],
  [
    "the result of a gate",
    {
      type: "custom",
      customType: "gate_result",
      data: { command: "npm test", outcome: "passed", exit: 0, output: "fine" },
    },
    {
      source: "system",
      message: "gate passed: npm test (exit status 0)\nfine",
      extra: { kind: "custom", custom_type: "gate_result" },
    },
  ],
  ["data of the program", { type: "custom", customType: "x", data: 1 }, undefined],
])("%s has its step", (_, entry, step) => {
  const { steps, final_metrics: totals } = trajectory([message(user("hi")), entry]);
  expect(steps.slice(1)).toEqual(step === undefined ? [] : [{ step_id: 2, timestamp: at(1), ...step }]);
  if (entry.type === "compaction")
    expect(totals).toMatchObject({
      total_cost_usd: 4,
      extra: { summary_prompt_tokens: 4, summary_completion_tokens: 2, summary_cost_usd: 4 },
    });
});

test("a failed answer says why, and has no metrics where none are known", () => {
  const failed = assistant([], { stopReason: "error", stopReasonRaw: "filter", errorMessage: "no" });
  expect(trajectory([message(failed)]).steps).toEqual([
    {
      step_id: 1,
      timestamp: at(0),
      source: "agent",
      model_name: "m",
      message: "",
      extra: {
        api: "openai-completions",
        provider: "p",
        stop_reason: "error",
        stop_reason_raw: "filter",
        error_message: "no",
      },
    },
  ]);
});

test("a session without messages is no trajectory", () => {
  expect(() => [...toAtif(source([{ type: "session_info", name: "x" }]))]).toThrow(StartupError);
});

test("any order of entries is a trajectory of the format", () => {
  const id = fc.constantFrom("1", "2", "3");
  const entry = fc.oneof(
    fc.string({ unit: "binary" }).map((words) => message(user(words))),
    fc
      .uniqueArray(id)
      .map((ids) =>
        message(assistant([text("a"), ...ids.map((each) => call(each))], { usage: usage(1, 2, 3, 4) })),
      ),
    id.map((each) => message(result(each))),
    fc.constant<NewEntry>({ type: "compaction", summary: "s", firstKeptEntryId: "", tokensBefore: 1 }),
    fc.constant<NewEntry>({ type: "label", targetId: "e0" }),
  );
  fc.assert(
    fc.property(fc.array(entry), (entries) => {
      trajectory([message(user("go")), ...entries]);
    }),
  );
});
