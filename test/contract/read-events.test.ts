import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { expect, test } from "vitest";
import { readDeltaEvents, readEvents } from "../../src/index.ts";
import { createDeltaSink } from "../../src/sinks/deltas.ts";
import { createJsonSink } from "../../src/sinks/json.ts";
import { createMemoryWriter } from "../support/memory-writer.ts";
import { emitSampleRun } from "../support/sample-run.ts";

function sample(create: typeof createJsonSink): string {
  const writer = createMemoryWriter();
  emitSampleRun(create({ writer }));
  return writer.text();
}

async function* pieces(...parts: (string | Uint8Array)[]): AsyncGenerator<string | Uint8Array> {
  yield* parts;
}

async function collect<T>(events: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const event of events) all.push(event);
  return all;
}

const plain = sample(createJsonSink);
const deltas = sample(createDeltaSink);

function parsed(text: string): unknown[] {
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

test("every line is read, however the bytes are cut", async () => {
  const bytes = Buffer.from(deltas);
  const expected = parsed(deltas);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat({ max: bytes.length }), { maxLength: 20 }), async (cuts) => {
      const edges = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const parts = edges.slice(1).map((to, at) => bytes.subarray(edges[at], to));
      expect(await collect(readDeltaEvents(pieces(...parts)))).toEqual(expected);
    }),
    { numRuns: 50 },
  );
});

test("text is read as bytes are, and a last line needs no newline", async () => {
  expect(await collect(readEvents(pieces(...plain.trimEnd())))).toEqual(parsed(plain));
  expect(await collect(readEvents(pieces()))).toEqual([]);
});

const header = plain.slice(0, plain.indexOf("\n") + 1);

test.each([
  ["no JSON", `${header}{"type":\n`, 'line 2 is not JSON: {"type":'],
  ["an empty line", `${header}\n`, "line 2 is not JSON: "],
  ["no object", "[1]\n", "line 1 is not a JSON object: [1]"],
  ["an unknown type", '{"type":"x"}\n', 'line 1 is not a line of this kind of stream: {"type":"x"}'],
  ["no type", "{}\n", "line 1 is not a line of this kind of stream: {}"],
  [
    "a type of the prototype",
    '{"type":"toString"}\n',
    'line 1 is not a line of this kind of stream: {"type":"toString"}',
  ],
  ["a field of another kind", '{"type":"agent_end","messages":{}}\n', /^line 1 is not a line of this kind/],
  ["a long line", `{"type":"${"x".repeat(200)}"}\n`, /^line 1 .{100,130}\.\.\.$/],
])("%s is an error that tells the line", async (_, text, message) => {
  await expect(collect(readEvents(pieces(text)))).rejects.toThrow(message);
});

test("a stream of the other kind is not read as this one", async () => {
  await expect(collect(readEvents(pieces(deltas)))).rejects.toThrow(/is not a line of this kind of stream/);
  await expect(collect(readDeltaEvents(pieces(plain)))).rejects.toThrow(
    /is not a line of this kind of stream/,
  );
});

test("the package's entry loads nothing but the contract and the client", () => {
  const src = new URL("../../src/", import.meta.url);
  const loads = (file: URL): string[] =>
    [...readFileSync(file, "utf8").matchAll(/^(?:import|export) (?!type)[^;]*? from "([^"]+)"/gms)].map(
      ([, from]) => from ?? "",
    );
  expect(readdirSync(src)).toContain("index.ts");
  expect(loads(new URL("index.ts", src))).toEqual(["./contract/read-events.ts", "./runs/rpc/client.ts"]);
  expect(loads(new URL("runs/rpc/client.ts", src))).toEqual([
    "../../contract/read-events.ts",
    "../line-queue.ts",
  ]);
  expect(loads(new URL("contract/read-events.ts", src))).toEqual(["./json.ts"]);
  expect(loads(new URL("contract/json.ts", src))).toEqual([]);
});
