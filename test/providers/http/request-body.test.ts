import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/contract/json.ts";
import type { RequestBody } from "../../../src/providers/adapter.ts";
import { toRequestBody } from "../../../src/providers/http/request-body.ts";
import { toWellFormedText } from "../../../src/providers/well-formed.ts";

const text = (body: RequestBody) => Buffer.concat(body).toString();

const item = fc.oneof(
  fc.jsonValue({ noUnicodeString: false }) as fc.Arbitrary<JsonValue>,
  fc.record({ content: fc.string({ unit: "binary", minLength: 9_000, maxLength: 9_100 }) }),
);

test("a body is what serialising it whole gives, also when its items were sent before", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue()),
      fc.array(item),
      fc.array(item),
      (rest, old, added) => {
        const first = { ...(rest as JsonObject), input: old, last: "\ud800" };
        const second = { ...(rest as JsonObject), last: "x", input: [...old, ...added] };
        expect(text(toRequestBody(first, "input"))).toBe(toWellFormedText(first));
        expect(text(toRequestBody(second, "input"))).toBe(toWellFormedText(second));
      },
    ),
  );
});

test("what is undefined is left out", () => {
  const body: Readonly<Record<string, JsonValue | undefined>> = { a: undefined, messages: [], b: 1 };
  expect(text(toRequestBody(body as JsonObject, "messages"))).toBe('{"messages":[],"b":1}');
});

test("a large item is serialised once and sent without a copy", () => {
  const large = { content: "x".repeat(50_000) };
  const partOf = (items: JsonObject[]) =>
    toRequestBody({ model: "m", messages: items }, "messages").find((part) => part.length > 50_000);
  expect(partOf([large])).toBe(partOf([{ content: "before" }, large, { content: "behind" }]));
  expect(partOf([large])).toBeDefined();
});
