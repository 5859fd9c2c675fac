import fc from "fast-check";
import { expect, test } from "vitest";
import { type CommandLine, readCommandLines } from "../../../src/runs/rpc/lines.ts";

test("lines are what stands between LFs, however the bytes are cut", async () => {
  const line = fc.string({ unit: "grapheme", maxLength: 40 }).filter((text) => !text.includes("\n"));
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.array(fc.nat(200)), fc.boolean(), async (texts, cuts, isEnded) => {
      const bytes = Buffer.from(texts.join("\n") + (isEnded ? "\n" : ""));
      const expected = texts.filter((text) => text.trim() !== "").map((text) => text.replace(/^\uFEFF/, ""));
      expect(await read(pieces(bytes, cuts), 1000)).toEqual(expected.map((text) => ({ kind: "line", text })));
    }),
  );
});

test.each<[string, string | Uint8Array, CommandLine[]]>([
  ["nothing", "", []],
  ["blank lines", "\n \n\r\n", []],
  [
    "line separators of Unicode and a CR",
    '{"a":"\u2028\u2029\u0085"}\r\n',
    [{ kind: "line", text: '{"a":"\u2028\u2029\u0085"}\r' }],
  ],
  ["a line of just so many bytes", "12345678\n", [{ kind: "line", text: "12345678" }]],
  ["a line of more", "123456789\nok\n", [{ kind: "too_long" }, { kind: "line", text: "ok" }]],
  ["a line of more at the end", "ok\n123456789", [{ kind: "line", text: "ok" }, { kind: "too_long" }]],
  [
    "half a character",
    Buffer.from([0xe2, 0x82, 0x0a, 0x6f, 0x6b]),
    [{ kind: "not_utf8" }, { kind: "line", text: "ok" }],
  ],
])("%s", async (_, input, lines) => {
  const bytes = Buffer.from(input);
  const limit = bytes.includes(0x61) ? 100 : 8;
  expect(await read([bytes], limit)).toEqual(lines);
  expect(await read(pieces(bytes, [1, 1, 1, 2]), limit)).toEqual(lines);
});

async function read(chunks: Iterable<Uint8Array>, maxBytes: number): Promise<CommandLine[]> {
  async function* source() {
    yield* chunks;
  }
  const lines: CommandLine[] = [];
  for await (const line of readCommandLines(source(), maxBytes)) lines.push(line);
  return lines;
}

function pieces(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const result: Uint8Array[] = [];
  let at = 0;
  for (const cut of cuts) {
    result.push(bytes.subarray(at, at + cut));
    at += cut;
  }
  return [...result, bytes.subarray(at)];
}
