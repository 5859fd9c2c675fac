import { expect, test } from "vitest";
import { thinkingLevels } from "../../../src/contract/provider.ts";
import { toReasoning } from "../../../src/providers/openai-responses/reasoning.ts";
import { testModel } from "../../support/provider-replies.ts";

/** What each level becomes, from off to max. */
test.each([
  ["gpt-5", ["minimal", "minimal", "low", "medium", "high", "high", "high"]],
  ["gpt-5-mini-2025-08-07", ["minimal", "minimal", "low", "medium", "high", "high", "high"]],
  ["gpt-5-codex", ["low", "low", "low", "medium", "high", "high", "high"]],
  ["gpt-5-pro", ["high", "high", "high", "high", "high", "high", "high"]],
  ["gpt-5.1", ["none", "low", "low", "medium", "high", "high", "high"]],
  ["gpt-5.1-codex-max", ["low", "low", "low", "medium", "high", "xhigh", "xhigh"]],
  ["gpt-5.1-codex-mini", ["low", "low", "low", "medium", "high", "high", "high"]],
  ["gpt-5.2", ["none", "low", "low", "medium", "high", "xhigh", "xhigh"]],
  ["gpt-5.3-codex-spark", ["low", "low", "low", "medium", "high", "xhigh", "xhigh"]],
  ["openai/gpt-5.4-mini", ["none", "low", "low", "medium", "high", "xhigh", "xhigh"]],
  ["gpt-5.6-sol", ["none", "low", "low", "medium", "high", "xhigh", "max"]],
  ["gpt-6", ["none", "low", "low", "medium", "high", "xhigh", "max"]],
  ["o4-mini", ["low", "low", "low", "medium", "high", "high", "high"]],
  ["gpt-oss-20b", ["low", "low", "low", "medium", "high", "high", "high"]],
  ["some-other-model", [undefined, "low", "low", "medium", "high", "high", "high"]],
])("%s", (id, expected) => {
  const model = testModel("openai-responses", { id, reasoning: true });
  expect(thinkingLevels.map((level) => toReasoning(model, level)?.effort)).toEqual(expected);
});

test("thinking is summarized, unless it is off", () => {
  const model = testModel("openai-responses", { id: "gpt-5.2", reasoning: true });
  expect([toReasoning(model, "low"), toReasoning(model, "off")]).toEqual([
    { effort: "low", summary: "auto" },
    { effort: "none" },
  ]);
});

test.each([
  ["does not reason", { id: "gpt-4.1" }],
  ["is never asked to think", { id: "gpt-5", reasoning: true, compat: { thinkingFormat: "none" as const } }],
  ["takes no effort", { id: "gpt-5", reasoning: true, compat: { supportsReasoningEffort: false } }],
])("a model that %s is told nothing", (_, fields) => {
  expect(toReasoning(testModel("openai-responses", fields), "high")).toBeUndefined();
});
