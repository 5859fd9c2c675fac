import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createIdMapper, type IdRule } from "../../src/providers/tool-call-ids.ts";

const accepted: [IdRule, RegExp][] = [
  ["openai", /^[a-zA-Z0-9_.:-]{1,40}$/],
  ["responses", /^[a-zA-Z0-9_-]{1,40}$/],
  ["anthropic", /^[a-zA-Z0-9_-]{1,64}$/],
  ["mistral", /^[a-zA-Z0-9]{9}$/],
];

const anyId = fc.oneof(
  fc.string(),
  fc.stringMatching(/^call_[a-zA-Z0-9]{1,80}$/),
  fc.stringMatching(/^call_[ab]\|fc_[a-z0-9]{1,3}$/),
  fc.stringMatching(/^[a-c]{9}$/),
);

describe.each(accepted)("for %s", (rule, pattern) => {
  it("gives ids that are accepted, each its own, the same ones every time", () => {
    fc.assert(
      fc.property(fc.uniqueArray(anyId), (ids) => {
        const map = createIdMapper(rule);
        const mapped = ids.map(map);
        expect(mapped.filter((id) => !pattern.test(id))).toEqual([]);
        expect(new Set(mapped).size).toBe(ids.length);
        expect(ids.map(map)).toEqual(mapped);
        expect(ids.map(createIdMapper(rule))).toEqual(mapped);
      }),
    );
  });

  it("leaves ids alone that are fine", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.stringMatching(pattern)), (ids) => {
        expect(ids.map(createIdMapper(rule))).toEqual(ids);
      }),
    );
  });
});

it.each<[string, IdRule, string, string | RegExp]>([
  ["the item's id behind a bar goes", "responses", "call_1|fc_2", "call_1"],
  ["it goes for others too", "anthropic", "call_1|fc_2", "call_1"],
  ["a numbered function stays", "openai", "functions.read:0", "functions.read:0"],
  ["a long id is hashed", "openai", "x".repeat(64), /^call_[0-9a-f]{24}$/],
  ["Mistral's length is nine", "mistral", "call_abc", /^[a-z0-9]{9}$/],
])("%s", (_, rule, id, expected) => {
  expect(createIdMapper(rule)(id)).toEqual(
    expected instanceof RegExp ? expect.stringMatching(expected) : expected,
  );
});

it("keeps calls apart that differ behind the bar only", () => {
  const map = createIdMapper("responses");
  expect(map("call_1|fc_1")).toBe("call_1");
  expect(map("call_1|fc_2")).toMatch(/^call_[0-9a-f]{24}$/);
});
