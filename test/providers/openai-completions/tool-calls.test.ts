import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../../../src/contract/json.ts";
import type { ProviderEvent } from "../../../src/contract/provider.ts";
import { createCompletion } from "../../../src/providers/openai-completions/deltas.ts";
import { collect } from "./adapter.fake.ts";

it("takes the calls of an answer that came apart into several choices", () => {
  const calls = [{ index: 0, id: "1", function: { name: "ls", arguments: a } }];
  const choices = [
    { index: 0, message: { content: "Looking." }, finish_reason: "tool_calls" },
    { index: 1, message: { tool_calls: calls }, finish_reason: "tool_calls" },
  ];
  const reply = createCompletion("test");
  const events = [...reply.push({ choices }), ...reply.end(true)];
  expect(events).toContainEqual({ type: "toolcall_start", index: 1, id: "1", name: "ls" });
  expect(events.at(-1)).toMatchObject({ type: "end", stopReason: "toolUse" });
});

it("takes calls whose name and arguments stand beside their id", async () => {
  const pieces = [
    [{ index: 0, id: "1", type: "function", name: "ls", arguments: "" }],
    [{ index: 0, arguments: a }],
    [{ id: "2", type: "function", name: "ls", arguments: { path: "b" } }],
  ];
  const chunks = pieces.map((tool_calls) => ({ choices: [{ delta: { tool_calls } }] }));
  expect(await callsOfChunks(chunks)).toEqual(both);
});

describe("a name that comes in pieces", () => {
  const isTool = (name: string) => ["ls", "bash"].includes(name);
  const piece = (name: string, args = "", id?: string) => ({ index: 0, ...(id && { id }), name, args });

  it.each<[string, Piece[][], string[]]>([
    ["is joined", [[piece("b", "", "1")], [piece("as")], [piece("h")], [piece("", a)]], [`1 bash ${a}`]],
    ["is joined under its id", [[piece("l", "", "1")], [piece("s", "", "1")], [piece("", a)]], [`1 ls ${a}`]],
    ["is joined without ids", [[piece("l")], [piece("s", a)]], [` ls ${a}`]],
    ["may be told again from its beginning", [[piece("l", "", "1")], [piece("ls", a)]], [`1 ls ${a}`]],
    ["is over when it is a tool's", [[piece("ls")], [piece("bash", b)]], [" ls ", ` bash ${b}`]],
    ["is over with the arguments", [[piece("l", a)], [piece("s", b)]], [` l ${a}`, ` s ${b}`]],
    ["is over with the next call", [[piece("l", "", "1")], [piece("ls", b, "2")]], ["1 l ", `2 ls ${b}`]],
  ])("%s", async (_, chunks, expected) => {
    expect(await callsOfChunks(chunks.map(toChunk), isTool)).toEqual(expected);
  });

  it("is told before a text that follows", () => {
    const reply = createCompletion("test", isTool);
    const chunks = [toChunk([piece("l", "", "1")]), { choices: [{ delta: { content: "so" } }] }];
    const starts = chunks
      .flatMap((chunk) => [...reply.push(chunk)])
      .filter(({ type }) => /_start$/.test(type));
    expect(starts.map(({ type }) => type)).toEqual(["toolcall_start", "text_start"]);
  });
});

it.each([
  ["eos_token", "stop"],
  ["tool_call", "stop"],
])("knows the finish reason %s", (finish_reason, stopReason) => {
  const reply = createCompletion("test");
  const events = [
    ...reply.push({ choices: [{ delta: { content: "x" }, finish_reason }] }),
    ...reply.end(true),
  ];
  expect(events.at(-1)).toEqual({ type: "end", stopReason, stopReasonRaw: finish_reason });
});

type Piece = { index?: number | string; id?: string; name?: string; args?: JsonValue };

/** Streams chunks of tool-call pieces and gives the calls that came of them. */
function callsOf(chunks: readonly (readonly Piece[])[]) {
  return callsOfChunks(chunks.map(toChunk));
}

async function callsOfChunks(chunks: readonly JsonObject[], isTool?: (name: string) => boolean) {
  async function* events(): AsyncGenerator<ProviderEvent> {
    const reply = createCompletion("test", isTool);
    for (const chunk of chunks) yield* reply.push(chunk);
    yield* reply.push({ choices: [{ delta: {}, finish_reason: "stop" }] });
    yield* reply.end(true);
  }
  const { toolCalls } = await collect(events());
  return toolCalls.map(({ id, name, arguments: text }) => `${id} ${name} ${text}`);
}

function toChunk(pieces: readonly Piece[]): JsonObject {
  const calls = pieces.map(({ index, id, name, args }) => ({
    ...(index !== undefined && { index }),
    ...(id !== undefined && { id }),
    function: { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: args }) },
  }));
  return { choices: [{ delta: { tool_calls: calls } }] };
}

const a = '{"path":"a"}';
const b = '{"path":"b"}';
const both = [`1 ls ${a}`, `2 ls ${b}`];

const dialects: [string, Piece[][], string[]][] = [
  [
    "all in one piece each",
    [
      [
        { index: 0, id: "1", name: "ls", args: a },
        { index: 1, id: "2", name: "ls", args: b },
      ],
    ],
    both,
  ],
  [
    "indexes that are texts, interleaved",
    [
      [{ index: "0", id: "1", name: "ls", args: "" }],
      [{ index: "1", id: "2", name: "ls", args: "" }],
      [{ index: "0", args: a }],
      [{ index: "1", args: b }],
    ],
    both,
  ],
  [
    "no index, one call a chunk",
    [[{ id: "1", name: "ls", args: a }], [{ id: "2", name: "ls", args: b }]],
    both,
  ],
  [
    "no index, pieces by id",
    [
      [{ id: "1", name: "ls", args: '{"path"' }],
      [{ id: "2", name: "ls", args: '{"path"' }],
      [{ id: "1", args: ':"a"}' }],
      [{ id: "2", args: ':"b"}' }],
    ],
    both,
  ],
  [
    "no index, pieces by position",
    [
      [
        { id: "1", name: "ls" },
        { id: "2", name: "ls" },
      ],
      [{ args: a }, { args: b }],
    ],
    both,
  ],
  [
    "no index, pieces that name nothing",
    [[{ id: "1", name: "ls" }], [{ args: a }], [{ id: "2", name: "ls" }], [{ args: b }]],
    both,
  ],
  [
    "one index for all",
    [
      [{ index: 0, id: "1", name: "ls" }],
      [{ index: 0, args: a }],
      [{ index: 0, id: "2", name: "ls" }],
      [{ index: 0, args: b }],
    ],
    both,
  ],
  [
    "one index for all, pieces by id",
    [
      [{ index: 0, id: "1", name: "ls", args: '{"path"' }],
      [{ index: 0, id: "2", name: "ls", args: '{"path"' }],
      [{ index: 0, id: "1", args: ':"a"}' }],
      [{ index: 0, id: "2", args: ':"b"}' }],
    ],
    both,
  ],
  [
    "one index for all and empty ids",
    [[{ index: 0, id: "", name: "ls", args: a }], [{ index: 0, id: "", name: "ls", args: b }]],
    [` ls ${a}`, ` ls ${b}`],
  ],
  [
    "one index for all, no ids, no arguments",
    [[{ index: 0, name: "ls" }], [{ index: 0, name: "now" }]],
    [" ls ", " now "],
  ],
  [
    "id and name in every piece",
    [
      [{ index: 0, id: "1", name: "ls", args: "" }],
      [{ index: 0, id: "1", name: "ls", args: '{"path":' }],
      [{ index: 0, id: "1", name: "ls", args: '"a"}' }],
      [{ index: 0, id: "1", name: "ls", args: "" }],
    ],
    [`1 ls ${a}`],
  ],
  [
    "a new id in every piece",
    [
      [{ index: 0, id: "1", name: "ls", args: "" }],
      [{ index: 0, id: "8", args: '{"path":' }],
      [{ index: 0, id: "9", args: '"a"}' }],
      [{ index: 1, id: "2", name: "ls" }],
      [{ index: 1, id: "7", args: b }],
    ],
    both,
  ],
  [
    "a new id and the name in every piece",
    [
      [{ index: 0, id: "1", name: "ls", args: "" }],
      [{ index: 0, id: "8", name: "ls", args: '{"path":' }],
      [{ index: 0, id: "9", name: "ls", args: '"a"}' }],
    ],
    [`1 ls ${a}`],
  ],
  [
    "a new id in every piece, one index for all",
    [
      [{ index: 0, id: "1", name: "ls", args: "" }],
      [{ index: 0, id: "8", args: '{"path":' }],
      [{ index: 0, id: "9", args: '"a"}' }],
      [{ index: 0, id: "2", name: "ls" }],
      [{ index: 0, id: "7", args: b }],
    ],
    both,
  ],
  [
    "a call without arguments, then another under the same index",
    [[{ index: 0, id: "1", name: "ls", args: "" }], [{ index: 0, id: "2", name: "ls", args: b }]],
    ["1 ls ", `2 ls ${b}`],
  ],
  [
    "one id for all",
    [[{ id: "0", name: "ls", args: a }], [{ id: "0", name: "ls", args: b }]],
    [`0 ls ${a}`, `0 ls ${b}`],
  ],
  [
    "one id for all and in every piece",
    [
      [{ id: "0", name: "ls", args: a }],
      [{ id: "0", name: "ls", args: b.slice(0, 4) }],
      [{ id: "0", args: b.slice(4) }],
    ],
    [`0 ls ${a}`, `0 ls ${b}`],
  ],
  [
    "one id and one index for all, in pieces",
    [
      [{ index: 0, id: "0", name: "ls", args: a.slice(0, 4) }],
      [{ index: 0, args: a.slice(4) }],
      [{ index: 0, id: "0", name: "ls", args: b.slice(0, 4) }],
      [{ index: 0, args: b.slice(4) }],
    ],
    [`0 ls ${a}`, `0 ls ${b}`],
  ],
  [
    "the whole call once more",
    [[{ index: 0, id: "1", name: "ls", args: a }], [{ index: 0, id: "1", name: "ls", args: a }]],
    [`1 ls ${a}`],
  ],
  [
    "arguments before the name",
    [[{ index: 0, id: "1", args: '{"path"' }], [{ index: 0, name: "ls", args: ':"a"}' }]],
    [`1 ls ${a}`],
  ],
  ["arguments that are an object", [[{ index: 0, id: "1", name: "ls", args: { path: "a" } }]], [`1 ls ${a}`]],
  ["arguments that are a list", [[{ index: 0, id: "1", name: "ls", args: ["a"] }]], ['1 ls ["a"]']],
  ["arguments that are null", [[{ index: 0, id: "1", name: "ls", args: null }]], ["1 ls "]],
  [
    "the same id under two indexes",
    [[{ index: 0, id: "0", name: "ls", args: a }], [{ index: 1, id: "0", name: "ls", args: b }]],
    [`0 ls ${a}`, `0 ls ${b}`],
  ],
];

describe("tool calls", () => {
  it.each(dialects)("are told apart: %s", async (_, chunks, expected) => {
    expect(await callsOf(chunks)).toEqual(expected);
  });

  it("come out whole however their pieces are cut and interleaved", async () => {
    const call = fc.record({
      name: fc.constantFrom("ls", "read", "bash"),
      args: fc.dictionary(fc.string(), fc.json()),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(call, { minLength: 1, maxLength: 4 }),
        fc.array(fc.nat(1000), { minLength: 8, maxLength: 60 }),
        async (calls, choices) => {
          const rest = calls.map(({ args }) => JSON.stringify(args));
          const chunks: Piece[][] = calls.map(({ name }, index) => [
            { index, id: `c${index}`, name, args: "" },
          ]);
          for (const choice of choices) {
            const index = choice % calls.length;
            const text = rest[index] ?? "";
            const size = 1 + (choice % 7);
            chunks.push([{ index, args: text.slice(0, size) }]);
            rest[index] = text.slice(size);
          }
          chunks.push(rest.map((args, index) => ({ index, args })));
          expect(await callsOf(chunks)).toEqual(
            calls.map(({ name, args }, index) => `c${index} ${name} ${JSON.stringify(args)}`),
          );
        },
      ),
    );
  });
});
