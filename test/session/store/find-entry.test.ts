import { describe, expect, test } from "vitest";
import type { NewEntry } from "../../../src/contract/entries.ts";
import { entriesInMemory, findEntryId } from "../../../src/session/store/find-entry.ts";
import { chain, message, user } from "../samples.ts";

const label = (targetId: string, text?: string): NewEntry => ({
  type: "label",
  targetId,
  ...(text === undefined ? {} : { label: text }),
});
const entries = chain([
  message(user("a")),
  message(user("b")),
  label("e0", "here"),
  label("e1", "there"),
  label("e1", "moved"),
  label("e0"),
  label("e0", "e1"),
]).map((entry) => ({
  ...entry,
  id: entry.id === "e5" ? "longer-1" : entry.id === "e6" ? "longer-2" : entry.id,
}));

function find(wanted: string): string {
  return findEntryId(entriesInMemory(entries), wanted);
}

describe("an entry is found", () => {
  test.each([
    ["by its id", "e1", "e1"],
    ["by its id before a label of that name", "e0", "e0"],
    ["by its latest label", "moved", "e1"],
    ["by the unique beginning of its id", "longer-2", "longer-2"],
  ])("%s", (_, wanted, id) => expect(find(wanted)).toBe(id));
});

describe("an entry is not found", () => {
  test.each([
    ["by a label that was changed", "there", /no entry "there"/],
    ["by a label that was taken away", "here", /no entry "here"/],
    ["by a short beginning", "lon", /no entry "lon"/],
    ["by a beginning that two have", "longer", /more than one entry of the session: longer-2, longer-1/],
    ["by nothing", "", /no entry ""/],
  ])("%s", (_, wanted, words) => expect(() => find(wanted)).toThrow(words));
});
