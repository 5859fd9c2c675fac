import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createCharacterJoiner } from "../../../src/tools/shell/parted-characters.ts";

function joined(chunks: readonly Uint8Array[]): string {
  const joiner = createCharacterJoiner();
  return Buffer.concat([...chunks.map((chunk) => joiner.push(chunk)), joiner.flush()]).toString();
}

const smile = Buffer.from("🙂");

describe("a character that a line came between", () => {
  test.each([1, 2, 3])("after %i bytes is whole behind the line", (count) => {
    const [start, end] = [smile.subarray(0, count), smile.subarray(count)];
    const line = Buffer.from("err é\n");
    expect(joined([start, line, end])).toBe("err é\n🙂");
    expect(joined([Buffer.concat([start, line, end])])).toBe("err é\n🙂");
    expect(joined([Buffer.from("a"), Buffer.concat([start, line]), end, Buffer.from("b")])).toBe(
      "aerr é\n🙂b",
    );
  });

  test("stays where it was cut when the rest does not follow the line at once", () => {
    const [start, end] = [smile.subarray(0, 2), smile.subarray(2)];
    const lines = Buffer.from("err\nmore\n");
    expect(joined([start, lines, end])).toBe("\ufffderr\nmore\n\ufffd\ufffd");
    expect(joined([start, Buffer.from("err"), end])).toBe("\ufffderr\ufffd\ufffd");
    expect(joined([start, Buffer.from(`${"x".repeat(5000)}\n`), end])).toMatch(/^\ufffdx+\n\ufffd\ufffd$/);
  });
});

test("text in another encoding stays what it is and where it is", () => {
  const bytes = Buffer.from("température 20°C\nmaximum 30°C\nÀ bientôt\n", "latin1");
  const byBytes = [...bytes].map((byte) => Uint8Array.of(byte));
  expect(joined([bytes])).toBe(bytes.toString());
  expect(joined(byBytes)).toBe(bytes.toString());
});

test("little is held back", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ minLength: 1, maxLength: 3000 }), { maxLength: 20 }), (chunks) => {
      const joiner = createCharacterJoiner();
      let held = 0;
      for (const chunk of chunks) {
        held += chunk.length - joiner.push(chunk).length;
        expect(held).toBeLessThan(4100);
      }
    }),
  );
});

const pieces = fc.array(
  fc.oneof(
    fc.string({ unit: "binary" }).map((text) => Buffer.from(text)),
    fc.uint8Array({ maxLength: 9 }),
  ),
);

test("text comes out as it is, however it is cut", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.array(fc.nat(60)), (text, cuts) => {
      const bytes = Buffer.from(text);
      const borders = [
        0,
        ...cuts.map((cut) => Math.min(cut, bytes.length)).sort((a, b) => a - b),
        bytes.length,
      ];
      const chunks = borders.slice(1).map((border, index) => bytes.subarray(borders[index], border));
      expect(joined(chunks)).toBe(bytes.toString());
    }),
  );
});

test("no byte is lost or added, whatever comes", () => {
  const sorted = (bytes: Uint8Array) => [...bytes].sort((a, b) => a - b);
  fc.assert(
    fc.property(pieces, (chunks) => {
      const joiner = createCharacterJoiner();
      const out = [...chunks.map((chunk) => Buffer.from(joiner.push(chunk))), joiner.flush()];
      expect(sorted(Buffer.concat(out))).toEqual(sorted(Buffer.concat(chunks)));
    }),
  );
});

test("it does not matter where chunks end", () => {
  fc.assert(
    fc.property(pieces, (chunks) => {
      expect(joined(chunks)).toBe(joined([Buffer.concat(chunks)]));
    }),
  );
});
