import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { NewEntry } from "../../../src/contract/entries.ts";
import type { AgentMessage } from "../../../src/contract/messages.ts";
import { collectFiles, withFileLists, withoutFileLists } from "../../../src/session/compaction/files.ts";
import { planCompaction } from "../../../src/session/compaction/plan.ts";
import { summaryPrompt } from "../../../src/session/compaction/prompt.ts";
import { serializeForSummary } from "../../../src/session/compaction/transcript.ts";
import { toModelMessages } from "../../../src/session/context/context.ts";
import { measureText } from "../../../src/session/context/estimate.ts";
import { assistant, call, chain, message, result, text, user } from "../samples.ts";

/** 100 tokens, and 4 for the message. */
const long = "x".repeat(400);
const ask = message(user(long));
const answer = message(assistant([text(long)]));
const failed = message(assistant([], { stopReason: "error" }));
const limits = (keepRecentTokens: number, maxKeptTokens = 1_000_000) => ({
  keepRecentTokens,
  maxKeptTokens,
  maxResultTokens: 1000,
});

function step(id: string, words = long): NewEntry[] {
  return [message(assistant([call(id)])), message(result(id, words))];
}

function compaction(firstKeptEntryId: string): NewEntry {
  return { type: "compaction", summary: "earlier", firstKeptEntryId, tokensBefore: 1 };
}

/** What stays first, how many messages are summarised, and whether a turn is split. */
function outline(entries: readonly NewEntry[], bounds: ReturnType<typeof limits>): unknown {
  const plan = planCompaction(chain(entries), bounds);
  return plan && [plan.firstKeptEntryId, plan.summarized.length, plan.splitsTurn];
}

describe("the plan of a compaction", () => {
  const plans: [string, NewEntry[], ReturnType<typeof limits>, unknown][] = [
    ["keeps about the recent tokens", [ask, answer, ask, answer, ask, answer], limits(220), ["e4", 4, false]],
    ["may split a turn", [ask, answer, ask, answer], limits(110), ["e3", 3, true]],
    ["never parts a call from its result", [ask, ...step("1"), ...step("2")], limits(120), ["e3", 3, true]],
    [
      "keeps the last step though it is too much",
      [ask, ...step("1"), ...step("2")],
      limits(10),
      ["e3", 3, true],
    ],
    [
      "keeps nothing when the last step cannot stay",
      [ask, ...step("1")],
      limits(10, 50),
      [undefined, 3, false],
    ],
    ["keeps an unanswered prompt however long", [ask, answer, ask], limits(0, 0), ["e2", 2, false]],
    [
      "keeps an unanswered prompt that an attempt failed at",
      [ask, answer, ask, failed],
      limits(50, 0),
      ["e2", 2, false],
    ],
    ["keeps all prompts that are unanswered", [ask, answer, ask, ask], limits(110, 0), ["e2", 2, false]],
    [
      "keeps an unanswered prompt of the program's own",
      [ask, answer, message({ role: "custom", customType: "x", content: long, display: true, timestamp: 1 })],
      limits(0, 0),
      ["e2", 2, false],
    ],
    [
      "keeps the last step though an attempt failed behind it",
      [ask, ...step("1"), ...step("2"), failed],
      limits(50),
      ["e3", 3, true],
    ],
    ["has nothing to do when all of it stays", [ask, answer], limits(1000), undefined],
    ["has nothing to do without messages", [{ type: "label", targetId: "x" }], limits(0), undefined],
    [
      "leaves out attempts that were tried again",
      [ask, message(assistant([text("half")], { stopReason: "error" })), answer, ask],
      limits(0),
      ["e3", 2, false],
    ],
    [
      "begins at what the earlier compaction kept",
      [ask, answer, ask, compaction("e2"), answer, ask],
      limits(0),
      ["e5", 2, false],
    ],
    [
      "keeps a pair together that an earlier compaction stands between",
      [ask, message(assistant([call("x")])), compaction("e0"), message(result("x")), answer],
      limits(110),
      ["e4", 3, true],
    ],
    [
      "is not held up by an id that comes again",
      [ask, ...step("1"), ask, ...step("1"), ask],
      limits(0),
      ["e6", 6, false],
    ],
  ];
  test.each(plans)("%s", (_, entries, bounds, expected) => {
    expect(outline(entries, bounds)).toEqual(expected);
  });

  test("feeds the earlier summary in", () => {
    const entries = chain([ask, answer, compaction("e1"), ask]);
    expect(planCompaction(entries, limits(0))).toMatchObject({ earlier: entries[2], keptTokens: 104 });
  });

  const ids = fc.constantFrom("1", "2", "3");
  const anyEntry: fc.Arbitrary<NewEntry> = fc.oneof(
    fc.constant(ask),
    fc
      .array(ids, { maxLength: 2 })
      .map((called) => message(assistant([text("a"), ...called.map((id) => call(id))]))),
    ids.map((id) => message(result(id))),
    fc.nat(8).map((at) => compaction(`e${at}`)),
  );

  test("for any entries keeps each result that the model saw with its call, and loses nothing", () => {
    fc.assert(
      fc.property(fc.array(anyEntry, { maxLength: 12 }), fc.nat(500), (added, keep) => {
        const entries = chain(added);
        const plan = planCompaction(entries, limits(keep));
        if (plan === undefined) return;
        const at = entries.findIndex(({ id }) => id === plan.firstKeptEntryId);
        const target = {
          api: "openai-completions",
          provider: "p",
          id: "m",
          input: ["text"],
          contextWindow: 9000,
        } as const;
        const compacted = chain([...added, compaction(plan.firstKeptEntryId ?? "none")]);
        const before = toModelMessages(entries, target).filter(isRealResult);
        const after = toModelMessages(compacted, target).filter(isRealResult);
        const summarized = toModelMessages(chain(plan.summarized.map(message)), target).filter(isRealResult);
        expect(at).not.toBe(0);
        expect(summarized.length + after.length).toBe(before.length);
      }),
      { numRuns: 1000 },
    );
  });
});

function isRealResult(each: AgentMessage): boolean {
  return each.role === "toolResult" && !each.isError;
}

describe("the files of a conversation", () => {
  function working(name: string, path: string, id = path): AgentMessage {
    return assistant([{ type: "toolCall", id, name, arguments: { path } }]);
  }

  test("are those read and changed without an error, behind those of before", () => {
    const messages = [
      working("read", "a"),
      working("read", "b"),
      working("edit", "b", "b2"),
      working("write", "c"),
      working("edit", "d"),
      { ...result("d"), isError: true },
      working("ls", "e"),
      { ...working("write", "never"), stopReason: "error" } as AgentMessage,
      working("read", "old"),
    ];
    const earlier = { readFiles: ["old", "older", 5], modifiedFiles: ["done"], other: 1 };
    expect(collectFiles(messages, earlier)).toEqual({
      readFiles: ["older", "a", "old"],
      modifiedFiles: ["done", "b", "c"],
    });
  });

  test("stand behind the summary once, however often it is brought up to date", () => {
    const first = withFileLists("what happened", { readFiles: ["a", "b"], modifiedFiles: ["c"] });
    expect(first).toBe(
      "what happened\n\n<files-read>\na\nb\n</files-read>\n\n<files-changed>\nc\n</files-changed>",
    );
    expect(withoutFileLists(first)).toBe("what happened");
    expect(withFileLists(first, { readFiles: [], modifiedFiles: ["d"] })).toBe(
      "what happened\n\n<files-changed>\nd\n</files-changed>",
    );
  });
});

describe("the transcript for a summary", () => {
  test("says who said what", () => {
    const messages = [
      user("list"),
      assistant([{ type: "thinking", thinking: "hm" }, text("so"), call("1")]),
      result("1", "files"),
      { ...result("2", "no such tool"), isError: true },
    ];
    expect(serializeForSummary(messages, 1000)).toBe(
      "[User]\nlist\n\n[Agent]\nso\n\n[Tool call]\nls {}\n\n[Tool result]\nfiles\n\n[Tool error]\nno such tool",
    );
  });

  test("shortens results before words, in their middle", () => {
    const written = serializeForSummary([user("w".repeat(3000)), result("1", `a${"r".repeat(9000)}z`)], 1600);
    expect(written).toContain("w".repeat(3000));
    expect(written).toMatch(/\[Tool result\]\nar+\n\(… 7002 characters left out …\)\nr+z$/);
  });

  test("keeps the first message and the latest when there are too many", () => {
    const messages = Array.from({ length: 200 }, (_, n) => user(`message ${n}`));
    const written = serializeForSummary(messages, 200);
    expect(written).toMatch(/^\[User\]\nmessage 0\n\n\(… \d+ messages left out …\)\n\n[\s\S]*message 199$/);
  });

  const said = fc.oneof(
    fc.string(),
    fc.constantFrom("漢".repeat(9000), "😀".repeat(5000), "word ".repeat(9000)),
  );
  const anyMessage = fc.oneof(
    said.map(user),
    said.map((words) => result("1", words)),
    said.map((words) => assistant([text(words), call("1")])),
  );

  test("never exceeds its bound nor cuts a character", () => {
    fc.assert(
      fc.property(fc.array(anyMessage), fc.nat(5000), (messages, maxTokens) => {
        const written = serializeForSummary(messages, maxTokens);
        expect(measureText(written)).toBeLessThanOrEqual(maxTokens);
        expect(/\p{Surrogate}/u.test(written)).toBe(false);
      }),
      { numRuns: 300 },
    );
  });
});

describe("the request for a summary", () => {
  const messages = [user("list the files")];

  test("holds the transcript and the task", () => {
    const { systemPrompt, message: asked } = summaryPrompt({ messages, maxTokens: 8000 }, 5);
    expect(systemPrompt).toMatch(/^You write summaries/);
    expect(asked).toMatchObject({ role: "user", timestamp: 5 });
    expect(asked.content).toMatch(
      /^<conversation>\n\[User\]\nlist the files\n<\/conversation>\n\nSummarise the conversation above\./,
    );
    expect(asked.content).not.toMatch(/\{\{|earlier-summary|middle of the agent's work|The user asks/);
  });

  test("brings an earlier summary up to date, without its lists of files", () => {
    const earlierSummary = withFileLists("what was $& done", { readFiles: ["a"], modifiedFiles: [] });
    const { message: asked } = summaryPrompt({ messages, earlierSummary, maxTokens: 8000 }, 5);
    expect(asked.content).toContain("<earlier-summary>\nwhat was $& done\n</earlier-summary>");
  });

  test("says what the user asks of it, and that a turn goes on", () => {
    const { message: asked } = summaryPrompt(
      { messages, instructions: " only the tests ", splitsTurn: true, maxTokens: 8000 },
      5,
    );
    expect(asked.content).toMatch(
      /the middle of the agent's work[\s\S]*The user asks [\s\S]*\n\nonly the tests$/,
    );
  });

  test("stays within its bound, with much to summarise and a long earlier summary", () => {
    const many = Array.from({ length: 300 }, (_, n) => result(`${n}`, "y".repeat(5000)));
    const request = { messages: many, earlierSummary: "s".repeat(100_000), maxTokens: 4000 };
    const { systemPrompt, message: asked } = summaryPrompt(request, 5);
    const tokens = measureText(systemPrompt) + measureText(String(asked.content));
    expect(tokens).toBeLessThanOrEqual(4000);
    expect(tokens).toBeGreaterThan(3000);
  });
});
