import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { schemaCommand } from "../../src/commands/schema.ts";
import type { SessionEntry } from "../../src/contract/entries.ts";
import { sessionEntrySchema } from "../../src/contract/schema.ts";
import { sampleMessage } from "../support/sample-run.ts";

test.each([
  ["stream.schema.json", false],
  ["stream-deltas.schema.json", true],
])("docs/%s is what the program prints", async (file, deltas) => {
  let printed = "";
  const status = await schemaCommand({ deltas }, (text) => {
    printed += text;
  });
  expect({ status, printed }).toEqual({
    status: 0,
    printed: await readFile(new URL(`../../docs/${file}`, import.meta.url), "utf8"),
  });
});

const place = { id: "a1", parentId: null, timestamp: "2026-01-02T03:04:05.678Z" };
const entries: readonly SessionEntry[] = [
  { type: "message", ...place, message: sampleMessage([{ type: "text", text: "hi" }]) },
  { type: "model_change", ...place, provider: "local", modelId: "m" },
  { type: "thinking_level_change", ...place, thinkingLevel: "high" },
  { type: "compaction", ...place, summary: "s", firstKeptEntryId: "a0", tokensBefore: 1, details: [null] },
  { type: "branch_summary", ...place, fromId: "a0", summary: "s" },
  { type: "custom", ...place, customType: "t", data: { x: 1 } },
  { type: "custom_message", ...place, customType: "t", content: "c", display: false },
  { type: "label", ...place, targetId: "a0", label: "l" },
  { type: "session_info", ...place, name: "n" },
];

test.each(entries)("an entry of type $type is accepted, and not with a field too many", (entry) => {
  expect(sessionEntrySchema.safeParse(entry).success).toBe(true);
  expect(sessionEntrySchema.safeParse({ ...entry, extra: 1 }).success).toBe(false);
  expect(sessionEntrySchema.safeParse({ ...entry, id: undefined }).success).toBe(false);
});
