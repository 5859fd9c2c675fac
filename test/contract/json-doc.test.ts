import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { deltaStreamLineSchema, streamLineSchema } from "../../src/contract/schema.ts";

const page = await readFile(new URL("../../docs/json.md", import.meta.url), "utf8");

function blocks(language: string): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, "gms"))].map(
    ([, body]) => body ?? "",
  );
}

test.each([
  ["json", streamLineSchema],
  ["json-deltas", deltaStreamLineSchema],
])("every example line in %s is a line of such a stream", (language, schema) => {
  const lines = blocks(language).flatMap((body) => body.trimEnd().split("\n"));
  expect(lines).not.toEqual([]);
  for (const line of lines) {
    expect(schema.safeParse(JSON.parse(line)).error).toBeUndefined();
    expect(JSON.stringify(JSON.parse(line))).toBe(line);
  }
});

test("the table has every type of line with its fields", () => {
  const rows = [...page.matchAll(/^\| `(\w+)` \|(.*?)\|.*\|$/gm)].map(([, type, fields = ""]) => [
    type,
    [...fields.matchAll(/`(\w+)(\??)`/g)].map(([, name, optional]) => `${name}${optional}`).sort(),
  ]);
  const types = streamLineSchema.options.map(({ shape }) => [
    shape.type.value,
    Object.entries(shape)
      .filter(([name]) => name !== "type")
      .map(([name, field]) => (field._zod.optin === "optional" ? `${name}?` : name))
      .sort(),
  ]);
  expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(types));
});
