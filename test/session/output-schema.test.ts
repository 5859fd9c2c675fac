import fc from "fast-check";
import { expect, test } from "vitest";
import { checkAnswer, schemaMissedPrompt, schemaSystemPrompt } from "../../src/session/output-schema.ts";

const anything = { schema: {}, problem: () => undefined };

test.each([
  ["{}", "{}"],
  ["  [1]\n", "[1]"],
  ["```json\n{}\n```", "{}"],
  ["```\n{}\n```\n", "{}"],
  ["~~~json\n{}\n~~~", "{}"],
  ["```JSON  \n\n{}\n\n```", "{}"],
  ['"```"', '"```"'],
])("%j holds the JSON %j", (answer, json) => {
  expect(checkAnswer(answer, anything)).toEqual({ ok: true, json });
});

test.each([
  ["", "the answer is empty"],
  ["```json\n\n```", "the answer is empty"],
  ["yes", "the answer is not JSON"],
  ["{} {}", "the answer is not JSON"],
  ["Here:\n```json\n{}\n```", "the answer is not JSON"],
  ["```json\n{}", "the answer is not JSON"],
])("%j is refused: %s", (answer, problem) => {
  expect(checkAnswer(answer, anything)).toEqual({ ok: false, problem });
});

test("any JSON in a fence is taken out as it is", () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      expect(checkAnswer(`\`\`\`json\n${json}\n\`\`\``, anything)).toEqual({ ok: true, json: json.trim() });
    }),
  );
});

test("what the schema says of a value is what is wrong with the answer", () => {
  const schema = { schema: {}, problem: (value: unknown) => `not ${JSON.stringify(value)}` };
  expect(checkAnswer("[1, 2]", schema)).toEqual({ ok: false, problem: "not [1,2]" });
});

test("the model gets the schema and the problem as they are", () => {
  const schema = { pattern: "$&{{problem}}" };
  expect(schemaSystemPrompt({ ...anything, schema })).toContain(JSON.stringify(schema, null, 2));
  expect(schemaMissedPrompt("a $& b")).toContain("asked for: a $& b\n");
});
