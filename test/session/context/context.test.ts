import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { NewEntry } from "../../../src/contract/entries.ts";
import type {
  AgentMessage,
  AssistantContent,
  ModelMessage,
  UserContent,
} from "../../../src/contract/messages.ts";
import { zeroUsage } from "../../../src/contract/messages.ts";
import { type ContextTarget, toModelMessages } from "../../../src/session/context/context.ts";
import { assistant, call, chain, message, result, text, user } from "../samples.ts";

const target: ContextTarget = {
  api: "openai-completions",
  provider: "p",
  id: "m",
  input: ["text", "image"],
  contextWindow: 128_000,
};

function build(entries: readonly NewEntry[], changes: Partial<ContextTarget> = {}): ModelMessage[] {
  return toModelMessages(chain(entries), { ...target, ...changes });
}

/** A line a message: whose it is and what is in it. */
function outline(messages: readonly ModelMessage[]): string[] {
  return messages.map((each) => `${each.role}: ${contentOutline(each.content)}`);
}

function contentOutline(content: string | readonly (AssistantContent | UserContent)[]): string {
  return typeof content === "string" ? content : content.map(blockOutline).join(" ");
}

function blockOutline(block: AssistantContent | UserContent): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "thinking":
      return `<${block.thinking}>`;
    case "toolCall":
      return `${block.name}#${block.id}`;
    case "image":
      return `image/${block.data}`;
  }
}

const failed = { stopReason: "error", errorMessage: "broken" } as const;
const noResult = "No result: the session ended before this call did. It may have run in part, or not at all.";

function compaction(firstKeptEntryId: string, summary = "sum"): NewEntry {
  return { type: "compaction", summary, firstKeptEntryId, tokensBefore: 100 };
}

function framed(summary: string): string {
  return `user: The earlier part of this conversation was replaced by this summary, to save room. It is a record of what happened, not a new request:\n\n<summary>\n${summary}\n</summary>`;
}

const cases: [string, NewEntry[], string[]][] = [
  [
    "a plain conversation stays as it is",
    [
      message(user("a")),
      message(assistant([text("let me"), call("1"), call("2")])),
      message(result("1")),
      message(result("2")),
      message(assistant([text("done")])),
    ],
    [
      "user: a",
      "assistant: let me ls#1 ls#2",
      "toolResult: result of 1",
      "toolResult: result of 2",
      "assistant: done",
    ],
  ],
  [
    "attempts that were tried again are left out",
    [
      message(user("a")),
      message(assistant([text("Here is")], failed)),
      message(assistant([text("Here is the"), call("1")], failed)),
      { type: "custom", customType: "x" },
      message(assistant([text("Here is the plan")])),
    ],
    ["user: a", "assistant: Here is the plan"],
  ],
  [
    "an attempt before a compaction that was tried again after it is left out",
    [
      message(user("a")),
      message(assistant([text("too long")], failed)),
      compaction("e0"),
      message(assistant([text("fits")])),
    ],
    [framed("sum"), "user: a", "assistant: fits"],
  ],
  [
    "a failed attempt that nothing followed keeps its text only",
    [
      message(user("a")),
      message(
        assistant([{ type: "thinking", thinking: "hm", thinkingSignature: "s" }, text("half"), call("1")], {
          stopReason: "aborted",
        }),
      ),
      message(result("1", "not run")),
      message(user("go on")),
    ],
    ["user: a", "assistant: half", "user: go on"],
  ],
  [
    "a failed attempt without text is left out",
    [message(user("a")), message(assistant([call("1")], failed)), message(user("b"))],
    ["user: a", "user: b"],
  ],
  [
    "a failed attempt before another prompt's answer was not tried again",
    [
      message(user("a")),
      message(assistant([text("half")], failed)),
      message(user("b")),
      message(assistant([text("whole")])),
    ],
    ["user: a", "assistant: half", "user: b", "assistant: whole"],
  ],
  [
    "a call that was never answered gets an error result, whatever comes after it",
    [
      message(user("a")),
      message(assistant([call("1"), call("2")])),
      message(result("2")),
      message(user("b")),
    ],
    ["user: a", "assistant: ls#1 ls#2", `toolResult: ${noResult}`, "toolResult: result of 2", "user: b"],
  ],
  [
    "results stand in call order right behind their message, whatever lies between",
    [
      message(user("a")),
      message(assistant([call("1"), call("2")])),
      message(user("steer")),
      message(result("2")),
      { type: "custom_message", customType: "x", content: "note", display: false },
      message(result("1")),
    ],
    [
      "user: a",
      "assistant: ls#1 ls#2",
      "toolResult: result of 1",
      "toolResult: result of 2",
      "user: steer",
      "user: note",
    ],
  ],
  [
    "a result without a call, before its call, or for the second time is left out",
    [
      message(user("a")),
      message(result("1", "early")),
      message(result("9")),
      message(assistant([call("1")])),
      message(result("1", "first")),
      message(result("1", "second")),
    ],
    ["user: a", "assistant: ls#1", "toolResult: first"],
  ],
  [
    "calls with the same id are told apart, with their results",
    [
      message(user("a")),
      message(assistant([call("x"), call("x")])),
      message(result("x", "one")),
      message(result("x", "two")),
      message(assistant([call("x")])),
      message(result("x", "three")),
      message(assistant([call("")])),
      message(result("", "four")),
    ],
    [
      "user: a",
      "assistant: ls#x ls#x_1",
      "toolResult: one",
      "toolResult: two",
      "assistant: ls#x_2",
      "toolResult: three",
      "assistant: ls#call_3",
      "toolResult: four",
    ],
  ],
  [
    "a message that was cut by its length keeps its calls with the results that were recorded",
    [
      message(user("a")),
      message(assistant([text("so"), call("1")], { stopReason: "length" })),
      message(result("1", "not run: cut")),
    ],
    ["user: a", "assistant: so ls#1", "toolResult: not run: cut"],
  ],
  [
    "a compaction between a call and its result parts nothing",
    [
      message(user("a")),
      message(assistant([call("x")])),
      compaction("e0", "first"),
      message(result("x")),
      message(assistant([text("done")])),
      compaction("e1", "second"),
      message(user("b")),
    ],
    [framed("second"), "assistant: ls#x", "toolResult: result of x", "assistant: done", "user: b"],
  ],
  [
    "a compaction that kept a result without its call loses the result",
    [
      message(user("a")),
      message(assistant([call("x")])),
      message(result("x")),
      message(user("b")),
      compaction("e2"),
    ],
    [framed("sum"), "user: b"],
  ],
  [
    "a compaction that kept nothing that is known stands for all before it",
    [message(user("a")), compaction("nowhere"), message(user("b"))],
    [framed("sum"), "user: b"],
  ],
  [
    "empty blocks and messages are left out, a result never is",
    [
      message(user("  \n")),
      message(user("a")),
      message(assistant([])),
      message(assistant([text(" "), { type: "thinking", thinking: "only thought" }])),
      message(assistant([text(""), call("1")])),
      message({ ...result("1"), content: [] }),
      message({ role: "user", content: [{ type: "text", text: "" }], timestamp: 1 }),
    ],
    ["user: a", "assistant: ls#1", "toolResult: (no output)"],
  ],
  [
    "a conversation that an answer begins gets a user's message before it",
    [message(assistant([text("hello")]))],
    ["user: (The beginning of this conversation is not shown.)", "assistant: hello"],
  ],
  [
    "what the user ran, and what the program says, are the user's",
    [
      message({
        role: "bashExecution",
        command: "make",
        output: "oops",
        exitCode: 2,
        cancelled: false,
        truncated: true,
        fullOutputPath: "/tmp/out",
        timestamp: 1,
      }),
      message({
        role: "bashExecution",
        command: "secret",
        output: "",
        cancelled: false,
        truncated: false,
        excludeFromContext: true,
        timestamp: 1,
      }),
      message({ role: "custom", customType: "x", content: "note", display: true, timestamp: 1 }),
      { type: "branch_summary", fromId: "e9", summary: "left" },
    ],
    [
      "user: The user ran the command:\nmake\nIts output:\noops\nIt exited with status 2. This is part of its output; all of it: /tmp/out",
      "user: note",
      expect.stringMatching(/^user: This conversation was taken back [\s\S]*<summary>\nleft\n<\/summary>$/),
    ],
  ],
  [
    "half characters and NUL become U+FFFD, also in arguments",
    [
      message(user("a\ud83d")),
      message(
        assistant([
          text("b\0"),
          { type: "toolCall", id: "1", name: "ls", arguments: { "k\udc00": ["v\ud83d", { deep: "😀" }] } },
        ]),
      ),
    ],
    ["user: a\ufffd", "assistant: b\ufffd ls#1", `toolResult: ${noResult}`],
  ],
  [
    "names that no API takes are made ones that all take",
    [message(user("a")), message(assistant([call("1", "functions.ls:0"), call("2", "")]))],
    [
      "user: a",
      "assistant: functions_ls_0#1 unknown#2",
      `toolResult: ${noResult}`,
      `toolResult: ${noResult}`,
    ],
  ],
];

describe("the messages of a request", () => {
  test.each(cases)("%s", (_, entries, expected) => {
    expect(outline(build(entries))).toEqual(expected);
  });

  test("hold arguments without half characters", () => {
    const arguments_ = { "k\udc00": ["v\ud83d", { deep: "😀" }] };
    const [, said] = build([
      message(user("a")),
      message(assistant([{ type: "toolCall", id: "1", name: "ls", arguments: arguments_ }])),
    ]);
    expect(said?.content[0]).toMatchObject({ arguments: { "k\ufffd": ["v\ufffd", { deep: "😀" }] } });
  });

  test("tell nothing of what was reported before a compaction", () => {
    const usage = { ...zeroUsage(), input: 9000, totalTokens: 9000 };
    const before = assistant([text("before")], { usage });
    const after = assistant([text("after")], { usage });
    const built = build([message(user("a")), message(before), compaction("e0"), message(after)]);
    expect(built.slice(2)).toEqual([{ ...before, usage: zeroUsage() }, after]);
  });
});

describe("opaque data", () => {
  const content: AssistantContent[] = [
    { type: "thinking", thinking: "plain" },
    { type: "thinking", thinking: "signed", thinkingSignature: "sig" },
    { type: "thinking", thinking: "", thinkingSignature: "sealed", redacted: true },
    { type: "text", text: "words", textSignature: "t" },
    { type: "toolCall", id: "1", name: "ls", arguments: {}, thoughtSignature: "g" },
  ];
  const [plain, signed, redacted, words, calling] = content;
  const stripped = [text("words"), call("1")];
  const rows: [string, Partial<ContextTarget>, unknown[]][] = [
    ["goes back to the model that it came from", {}, [plain, signed, redacted, words, calling]],
    ["stays away from another model", { id: "other" }, stripped],
    ["stays away from another provider", { provider: "other" }, stripped],
    ["stays away from another API", { api: "anthropic-messages" }, stripped],
  ];
  test.each(rows)("%s", (_, changes, expected) => {
    const built = build([message(user("a")), message(assistant(content))], changes);
    expect(built[1]?.content).toEqual(expected);
  });

  test.each(["anthropic-messages", "openai-responses", "openai-codex-responses"] as const)(
    "that carries no signature is left out for %s",
    (api) => {
      const built = build([message(user("a")), message(assistant(content, { api }))], { api });
      expect(built[1]?.content).toEqual([signed, redacted, words, calling]);
    },
  );

  test("is left out where nothing follows it", () => {
    const built = build([message(user("a")), message(assistant([words, signed].flatMap((b) => b ?? [])))]);
    expect(built[1]?.content).toEqual([words]);
  });
});

describe("images", () => {
  const image: UserContent = { type: "image", data: "abc", mimeType: "image/png" };
  const entries = [
    message({ role: "user", content: [{ type: "text", text: "see" }, image], timestamp: 1 }),
    message(assistant([call("1")])),
    message({ ...result("1"), content: [image] }),
  ];

  test("go to a model that takes them", () => {
    expect(outline(build(entries))).toEqual([
      "user: see image/abc",
      "assistant: ls#1",
      "toolResult: image/abc",
    ]);
  });

  test("are named to one that does not", () => {
    const note = "(an image, image/png, is left out: this model does not take images)";
    expect(outline(build(entries, { input: ["text"] }))).toEqual([
      `user: see ${note}`,
      "assistant: ls#1",
      `toolResult: ${note}`,
    ]);
  });
});

const words = fc.constantFrom("", " ", "a", "😀", "\ud83d", "x\0y", "words");
const ids = fc.constantFrom("", "1", "2", "1_1", "x");
const opaque = fc.constantFrom(undefined, "", "sig");
const block: fc.Arbitrary<AssistantContent> = fc.oneof(
  words.map((said) => text(said)),
  fc.record({ said: words, signature: opaque, redacted: fc.boolean() }).map(
    ({ said, signature, redacted }): AssistantContent => ({
      type: "thinking",
      thinking: said,
      ...(signature === undefined ? {} : { thinkingSignature: signature }),
      ...(redacted ? { redacted } : {}),
    }),
  ),
  ids.map((id) => call(id)),
);
const userContent: fc.Arbitrary<UserContent> = fc.oneof(
  words.map((said): UserContent => ({ type: "text", text: said })),
  fc.constantFrom("", "abc").map((data): UserContent => ({ type: "image", data, mimeType: "image/png" })),
);
const anyMessage: fc.Arbitrary<AgentMessage> = fc.oneof(
  words.map(user),
  fc
    .array(userContent, { maxLength: 2 })
    .map((content): AgentMessage => ({ role: "user", content, timestamp: 1 })),
  fc
    .record({
      content: fc.array(block, { maxLength: 4 }),
      stopReason: fc.constantFrom(
        "stop" as const,
        "length" as const,
        "toolUse" as const,
        "error" as const,
        "aborted" as const,
      ),
      model: fc.constantFrom("m", "other"),
      api: fc.constantFrom("openai-completions" as const, "anthropic-messages" as const),
    })
    .map(({ content, ...fields }) => assistant(content, fields)),
  fc.record({ id: ids, content: fc.array(userContent, { maxLength: 2 }) }).map(({ id, content }) => ({
    ...result(id),
    content,
  })),
);
const anyEntry: fc.Arbitrary<NewEntry> = fc.oneof(
  { weight: 12, arbitrary: anyMessage.map(message) },
  { weight: 1, arbitrary: fc.nat(12).map((at) => compaction(`e${at}`)) },
  { weight: 1, arbitrary: fc.constant<NewEntry>({ type: "branch_summary", fromId: "e0", summary: "left" }) },
  { weight: 1, arbitrary: fc.constant<NewEntry>({ type: "label", targetId: "e0", label: "l" }) },
);
const anyTarget: fc.Arbitrary<Partial<ContextTarget>> = fc.record({
  api: fc.constantFrom("openai-completions" as const, "anthropic-messages" as const),
  input: fc.constantFrom<ContextTarget["input"]>(["text"], ["text", "image"]),
});

/** What is wrong with a request, in words. */
function faults(messages: readonly ModelMessage[]): string[] {
  const found: string[] = [];
  const seen = new Set<string>();
  let expected: string[] = [];
  for (const each of messages) {
    if (each.role === "toolResult") {
      if (expected.shift() !== each.toolCallId) found.push(`result ${each.toolCallId} out of place`);
    } else if (expected.length > 0) found.push(`${expected.join()} not answered`);
    if (each.role === "assistant") {
      expected = each.content.flatMap((part) => (part.type === "toolCall" ? [part.id] : []));
      for (const id of expected) {
        if (id === "" || seen.has(id)) found.push(`id ${JSON.stringify(id)} is not unique`);
        seen.add(id);
      }
      if (each.content.every((part) => part.type === "thinking")) found.push("an answer without content");
      if (expected.length > 0 && ["error", "aborted"].includes(each.stopReason)) found.push("a failed call");
    }
    const blocks = typeof each.content === "string" ? [text(each.content)] : each.content;
    if (blocks.length === 0) found.push("an empty message");
    if (blocks.some((part) => part.type === "text" && part.text.trim() === "")) found.push("an empty text");
    if (/\\ud|\\u0000/.test(JSON.stringify(each))) found.push("half a character");
  }
  if (expected.length > 0) found.push("last calls not answered");
  if (messages.length > 0 && messages[0]?.role !== "user") found.push("an answer comes first");
  return found;
}

test("for any entries the request is valid", () => {
  fc.assert(
    fc.property(fc.array(anyEntry, { maxLength: 14 }), anyTarget, (entries, changes) => {
      expect(faults(build(entries, changes))).toEqual([]);
    }),
    { numRuns: 2000 },
  );
});

test("for any entries no user's words are lost that no compaction stands for", () => {
  fc.assert(
    fc.property(fc.array(anyMessage.map(message), { maxLength: 14 }), (entries) => {
      const said = entries.flatMap((each) =>
        each.type === "message" && each.message.role === "user" && each.message.content === "words"
          ? [1]
          : [],
      );
      const built = build(entries).filter((each) => each.role === "user" && each.content === "words");
      expect(built).toHaveLength(said.length);
    }),
  );
});

test("for any entries that are added at the end, a conversation's calls keep their ids", () => {
  fc.assert(
    fc.property(fc.array(anyMessage.map(message), { maxLength: 10 }), words, (entries, more) => {
      const before = outline(build([...entries, message(user("x"))]));
      const after = outline(build([...entries, message(user("x")), message(user(more))]));
      expect(after.slice(0, before.length)).toEqual(before);
    }),
  );
});
