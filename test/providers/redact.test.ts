import fc from "fast-check";
import { expect, it } from "vitest";
import { createErrorRedactor, createPieceRedactor, createRedactor } from "../../src/providers/redact.ts";

const key = "sk-live+/=42.$(x)";
const quoted = 'p"ss\\w\nrd';

it.each<[string, string, string, string]>([
  ["as it is", key, `Bearer ${key}, again ${key}`, "Bearer [redacted], again [redacted]"],
  ["in JSON", quoted, JSON.stringify({ key: quoted }), '{"key":"[redacted]"}'],
  [
    "in JSON in JSON",
    quoted,
    JSON.stringify(JSON.stringify({ key: quoted })),
    JSON.stringify('{"key":"[redacted]"}'),
  ],
  [
    "in a URL",
    key,
    `https://x.test/?key=${encodeURIComponent(key)}&b=1`,
    "https://x.test/?key=[redacted]&b=1",
  ],
  ["in Basic authorization", key, `Basic ${btoa(key)} next`, "Basic [redacted] next"],
  ["as the user of Basic authorization", key, `Basic ${btoa(`${key}:`)} next`, "Basic [redacted] next"],
  ["nowhere", key, "sk-live", "sk-live"],
])("strips a credential: %s", (_, secret, text, expected) => {
  expect(createRedactor([undefined, secret])(text)).toBe(expected);
});

it.each(["", "short", "ollama", "lm-studio"])("leaves %j alone, which is no secret", (word) => {
  const text = `a ${word} b`;
  expect(createRedactor([word])(text)).toBe(text);
});

it("strips the longer of two credentials that start alike", () => {
  expect(createRedactor(["abcdef", "abcdef-123"])("x abcdef-123 abcdef")).toBe("x [redacted] [redacted]");
});

it("leaves no credential in a JSON text, which stays JSON", () => {
  const secret = fc.string({ minLength: 6, maxLength: 40, unit: "grapheme" });
  fc.assert(
    fc.property(secret, fc.string(), fc.string(), (known, before, after) => {
      fc.pre(!"[redacted]".includes(known) && !known.includes("redacted"));
      const text = createRedactor([known])(JSON.stringify({ text: before + known + after }));
      expect(JSON.parse(text).text).not.toContain(known);
    }),
  );
});

it.each([
  ["no key sk-live-1…", "no key [redacted]…"],
  ["sk-live-12345678… (sk-live-12345678)", "[redacted]… ([redacted])"],
  [
    'a page titled "x sk-live-…": sk-live-12… (try again)',
    'a page titled "x [redacted]…": [redacted]… (try again)',
  ],
  ["sk-li… is too short to tell", "sk-li… is too short to tell"],
  ["sk-live-1 that no quote cut …", "sk-live-1 that no quote cut …"],
])("strips what a cut quote left of a credential: %s", (text, expected) => {
  expect(createErrorRedactor(["sk-live-12345678"])(text)).toBe(expected);
});

it("strips from pieces what it strips from their text, and leaves all other pieces", () => {
  const secrets = ["abcabcab", "cabbage"];
  const piece = fc.string({
    unit: fc.constantFrom("a", "b", "c", "cabbage", "abcabcab", "Y2FiYmFnZQ=="),
    maxLength: 4,
  });
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const clean = createPieceRedactor(secrets)(pieces);
      expect(clean).toHaveLength(pieces.length);
      expect(clean.join("")).toBe(createRedactor(secrets)(pieces.join("")));
    }),
  );
  expect(createPieceRedactor(secrets)(["x cab", "ba", "ge y", "z"])).toEqual(["x [redacted]", "", " y", "z"]);
});
