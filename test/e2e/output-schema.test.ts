import { describe, expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { inBothModes, ownMessages, says, writes } from "../support/unattended.ts";
import { createBench } from "../support/with-provider.ts";

const schema = {
  type: "object",
  properties: { name: { type: "string" }, count: { type: "integer", minimum: 0 } },
  required: ["name", "count"],
  additionalProperties: false,
};
const good = '{"name": "a", "count": 2}';

/** The schema is in the home folder: the bench makes it before the run. */
async function schemaRun(replies: Parameters<typeof createBench>[0], args: readonly string[] = []) {
  const bench = await createBench(replies);
  const file = bench.workspace.homeFile("schema.json", schema);
  const result = await bench.run(["--output-schema", file, ...args, "do it"]);
  return { ...result, bench };
}

test.each([
  ["bare JSON", good],
  ["JSON in a fence", `\`\`\`json\n${good}\n\`\`\``],
  ["JSON with blanks around", `\n${good}\n\n`],
])("%s that is valid is an answer, and stdout is that JSON alone", async (_, answer) => {
  const { status, stdout, bench } = await schemaRun([says(answer)]);
  expect([status, stdout, bench.server.requests.length]).toEqual([0, `${good}\n`, 1]);
});

test("the model is told of the schema, and so is an API that knows of schemas", async () => {
  const { bench } = await schemaRun([says(good)], ["--no-tools"]);
  const { messages } = bench.server.json(0);
  expect(messages[0].content).toContain('"required": [\n    "name"');
});

test.each([
  ["no JSON", "it is a", "the answer is not JSON"],
  ["words around JSON", `Here: ${good}`, "the answer is not JSON"],
  ["a missing key", '{"name": "a"}', "the value must have required property 'count'"],
  ["a wrong type", '{"name": "a", "count": "2"}', "/count must be integer"],
  [
    "a key too many",
    '{"name": "a", "count": 1, "x": 1}',
    "the value must NOT have additional properties (x)",
  ],
])("an answer with %s is sent back with what is wrong", async (_, answer, problem) => {
  const { status, stdout, bench } = await schemaRun([says(answer), says(good)]);
  expect([status, stdout, bench.server.requests.length]).toEqual([0, `${good}\n`, 2]);
  expect(bench.server.json(1).messages.at(-1).content).toContain(problem);
});

test("a keyword that only the validator knows does not let everything through", async () => {
  const bench = await createBench([says("5"), says("{}")]);
  const file = bench.workspace.homeFile("schema.json", { $async: true, type: "object" });
  expect(await bench.run(["--output-schema", file, "do it"])).toMatchObject({ status: 0, stdout: "{}\n" });
});

test("an answer that is never valid is sent back twice, and then status 3", async () => {
  const bench = await createBench([says("no")]);
  const file = bench.workspace.homeFile("schema.json", schema);
  const text = await bench.run(["--output-schema", file, "do it"]);
  expect([text.status, text.stdout, bench.server.requests.length]).toEqual([3, "", 3]);
  expect(text.stderr).toContain("the answer is not JSON");
  const json = await bench.run(["--mode", "json", "--output-schema", file, "do it"]);
  expect(json.status).toBe(3);
  expect(ownMessages(json.lines)).toEqual([
    { customType: "autonomous", reason: "output_schema" },
    { customType: "autonomous", reason: "output_schema" },
  ]);
});

test("the answer to the last prompt is the one that counts", async () => {
  const { status, stdout } = await schemaRun([says("free"), says(good)], ["first"]);
  expect([status, stdout]).toEqual([0, `${good}\n`]);
});

test.each([
  ["a limit", 4, ["--autonomous-gate", "true", "--autonomous-max-turns", "1", "first"]],
  ["a gate", 3, ["--autonomous-gate", "false", "--autonomous-gate-retries", "1", "first"]],
  ["a command", 1, ["first", "/nothing"]],
])(
  "an earlier answer is not told in its place when %s ends the run before: status %i",
  async (_, expected, args) => {
    const { status, stdout } = await schemaRun([says("free")], args);
    expect([status, stdout]).toEqual([expected, ""]);
  },
);

test("gates come before the form of the answer", async () => {
  const { status, bench } = await schemaRun(
    [says("first"), writes("ok"), says("second"), says(good)],
    ["--autonomous-gate", "test -f ok"],
  );
  expect([status, bench.server.requests.length]).toEqual([0, 4]);
});

test.each([
  ["passed gates", 3, ["--autonomous-gate", "true"], { text: "" }],
  ["a goal that is reached", 3, ["--goal", "all is well"], { calls: [{ name: "goal_complete", args: {} }] }],
  ["nothing else", 4, [], { text: "" }],
])("a limit before the answer is no success, with %s: status %i", async (_, expected, args, reply) => {
  const calls = [{ name: "ls", args: {} }];
  const { status, stdout } = await schemaRun(
    [chatReply({ calls, ...reply })],
    ["--autonomous-max-turns", "1", ...args],
  );
  expect([status, stdout]).toEqual([expected, ""]);
});

test("an error is an error", async () => {
  const { status, stdout } = await schemaRun([{ status: 400, type: "application/json", body: "{}" }]);
  expect([status, stdout]).toEqual([1, ""]);
});

describe("a schema that cannot be used refuses the start", () => {
  test.each([
    ["no JSON", "{", "is no JSON"],
    ["no object", "[]", "it has to be an object"],
    ["an unknown type", '{"type": "objekt"}', "is no valid JSON Schema"],
    ["a reference to nowhere", '{"$ref": "#/$defs/x"}', "is no valid JSON Schema"],
    ["a bad pattern", '{"pattern": "("}', "is no valid JSON Schema"],
  ])("%s", async (_, content, words) => {
    const { run, workspace, server } = await createBench([says(good)]);
    const file = workspace.homeFile("schema.json", content);
    const { status, stderr, stdout } = await run(["--mode", "json", "--output-schema", file, "do it"]);
    expect([status, stdout, server.requests.length]).toEqual([2, "", 0]);
    expect(stderr).toContain(words);
    expect(stderr.trimEnd().split("\n").length).toBe(1);
  });

  test("a file that is not there", async () => {
    const { run } = await createBench([says(good)]);
    const { status, stderr } = await run(["--output-schema", "nowhere.json", "do it"]);
    expect(status).toBe(2);
    expect(stderr).toContain("--output-schema nowhere.json cannot be read");
  });
});

test.each([
  [
    "2020-12",
    { $schema: "https://json-schema.org/draft/2020-12/schema", prefixItems: [{ type: "string" }] },
    '["a"]',
  ],
  ["2019-09", { $schema: "https://json-schema.org/draft/2019-09/schema", type: "array" }, "[]"],
  ["draft 7", { $schema: "http://json-schema.org/draft-07/schema#", items: [{ type: "string" }] }, '["a"]'],
  ["an unknown format", { type: "string", format: "color" }, '"red"'],
])("a schema of %s is understood", async (_, content, answer) => {
  const { run, workspace } = await createBench([says(answer)]);
  const file = workspace.homeFile("schema.json", content);
  const { status, stdout, stderr } = await run(["--output-schema", file, "do it"]);
  expect([status, stdout, stderr]).toEqual([0, `${answer}\n`, ""]);
});

test("the summary tells of a miss", async () => {
  const { text } = await inBothModes([says("no")], ["--output-schema", "/dev/null"]);
  expect(text.summary).toMatchObject({ status: 2, reason: "start refused", sessionId: null });
});
