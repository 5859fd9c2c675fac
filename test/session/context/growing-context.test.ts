import fc from "fast-check";
import { expect, test } from "vitest";
import type { NewEntry, SessionEntry } from "../../../src/contract/entries.ts";
import { type ContextTarget, supersededType, toModelMessages } from "../../../src/session/context/context.ts";
import { createGrowingContext } from "../../../src/session/context/growing-context.ts";
import { assistant, call, chain, message, result, text, user } from "../samples.ts";

const target: ContextTarget = {
  api: "openai-completions",
  provider: "p",
  id: "m",
  input: ["text", "image"],
  contextWindow: 128_000,
};
const smallTarget: ContextTarget = { ...target, id: "other", input: ["text"], contextWindow: 4 };

const id = fc.constantFrom("1", "2", "3", "");
const failure = fc.constantFrom("error", "aborted", undefined);
const entry: fc.Arbitrary<readonly NewEntry[]> = fc.oneof(
  fc.constantFrom("a", "").map((said) => [message(user(said))]),
  // A turn that went well, and any other.
  fc.nat({ max: 40 }).map((n) => [message(assistant([call(`t${n}`)])), message(result(`t${n}`))]),
  fc.tuple(fc.array(id, { maxLength: 3 }), fc.boolean(), failure).map(([ids, hasText, stopReason]) => [
    message(
      assistant([...(hasText ? [text("t")] : []), ...ids.map((each) => call(each))], {
        ...(stopReason !== undefined && { stopReason, errorMessage: "broken" }),
      }),
    ),
  ]),
  id.map((each) => [message(result(each))]),
  fc.constant([{ type: "custom_message", customType: "c", content: "said", display: true }]),
  fc.constant([{ type: "session_info", name: "n" }]),
  fc.constant([{ type: "custom", customType: supersededType }]),
  fc.constant([{ type: "branch_summary", fromId: "x", summary: "left" }]),
  fc
    .constantFrom("1", "none")
    .map((firstKeptEntryId): NewEntry[] => [
      { type: "compaction", summary: "sum", firstKeptEntryId, tokensBefore: 100 },
    ]),
);
const history = fc.array(entry, { maxLength: 12 }).map((parts) => chain(parts.flat()));

test("the messages are those that all entries together give, at every length and after a change of branch or model", () => {
  fc.assert(
    fc.property(history, history, fc.nat({ max: 8 }), fc.nat({ max: 3 }), (one, other, fork, skip) => {
      const messagesOf = createGrowingContext();
      const check = (entries: readonly SessionEntry[], wanted: ContextTarget) =>
        expect(messagesOf(entries, wanted)).toEqual(toModelMessages(entries, wanted));
      for (let count = 0; count <= one.length; count += 1 + (count % (skip + 1)))
        check(one.slice(0, count), target);
      const branch = [...one.slice(0, fork), ...other];
      for (let count = fork; count <= branch.length; count++) {
        check(branch.slice(0, count), target);
        if (count % 4 === 0) check(branch.slice(0, count), smallTarget);
      }
    }),
    { numRuns: 500 },
  );
});

test("what a turn adds leaves what was before as it is", () => {
  const turns = Array.from({ length: 3 }, (_, n) => [
    message(assistant([call(`${n}`)])),
    message(result(`${n}`)),
  ]);
  const entries = chain([message(user("go")), ...turns.flat()]);
  const messagesOf = createGrowingContext();
  const before = messagesOf(entries.slice(0, 5), target);
  const after = messagesOf(entries, target);
  expect(after).toHaveLength(7);
  for (const [index, each] of before.entries()) expect(after[index]).toBe(each);
});
