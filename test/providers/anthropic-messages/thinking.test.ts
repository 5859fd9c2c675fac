import { expect, test } from "vitest";
import type { ThinkingLevel } from "../../../src/contract/provider.ts";
import {
  supportsOutputSchema,
  toThinkingParams,
} from "../../../src/providers/anthropic-messages/thinking.ts";
import { testModel } from "../../support/provider-replies.ts";

const adaptive = { type: "adaptive", display: "summarized" };

test.each<[string, ThinkingLevel, number, object]>([
  ["claude-sonnet-4-5-20250929", "minimal", 64_000, { thinking: { type: "enabled", budget_tokens: 1024 } }],
  ["claude-sonnet-4-5", "high", 64_000, { thinking: { type: "enabled", budget_tokens: 20_480 } }],
  ["claude-opus-4-20250514", "max", 32_000, { thinking: { type: "enabled", budget_tokens: 23_808 } }],
  ["claude-3-7-sonnet-20250219", "high", 4096, { thinking: { type: "enabled", budget_tokens: 2048 } }],
  ["claude-haiku-4-5", "low", 1500, { thinking: { type: "enabled", budget_tokens: 1024 } }],
  ["claude-haiku-4-5", "low", 1024, { thinking: { type: "disabled" } }],
  ["claude-haiku-4-5", "off", 64_000, { thinking: { type: "disabled" } }],
  ["some-other-model", "medium", 32_000, { thinking: { type: "enabled", budget_tokens: 10_240 } }],
  ["claude-opus-4-6", "minimal", 64_000, { thinking: adaptive, effort: "low" }],
  ["claude-opus-4-6", "xhigh", 64_000, { thinking: adaptive, effort: "high" }],
  ["claude-opus-4-6", "max", 64_000, { thinking: adaptive, effort: "max" }],
  ["claude-opus-4-6", "off", 64_000, { thinking: { type: "disabled" } }],
  ["claude-opus-4-7", "xhigh", 64_000, { thinking: adaptive, effort: "xhigh" }],
  ["anthropic/claude-sonnet-4.6", "medium", 64_000, { thinking: adaptive, effort: "medium" }],
  ["claude-sonnet-5", "off", 64_000, { thinking: { type: "disabled" } }],
  ["claude-sonnet-5-5", "off", 64_000, { thinking: { type: "between_tools" } }],
  ["claude-opus-5-5", "off", 64_000, { effort: "low" }],
  ["claude-fable-5", "off", 64_000, { effort: "low" }],
  ["claude-mythos-preview", "high", 64_000, { thinking: adaptive, effort: "high" }],
])("%s at %s with %d tokens", (id, level, maxTokens, expected) => {
  const model = testModel("anthropic-messages", { id, reasoning: true });
  expect(toThinkingParams(model, level, maxTokens)).toEqual(expected);
});

test("a model that does not reason is told nothing", () => {
  const model = testModel("anthropic-messages", { id: "claude-3-5-haiku-20241022" });
  expect(toThinkingParams(model, "high", 8192)).toEqual({});
});

test.each([
  ["claude-sonnet-4-5", true],
  ["claude-opus-4-1-20250805", true],
  ["claude-sonnet-4-20250514", false],
  ["claude-opus-5", true],
  ["some-other-model", false],
])("%s takes an output schema: %s", (id, expected) => {
  expect(supportsOutputSchema(testModel("anthropic-messages", { id }))).toBe(expected);
});
