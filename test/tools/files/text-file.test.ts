import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeText, encodeText, guessEncoding, showSize } from "../../../src/tools/files/text-file.ts";

describe("decodeText and encodeText", () => {
  it.each(["utf-8", "windows-1252", "utf-16le", "utf-16be"] as const)(
    "give back any bytes as %s",
    (encoding) => {
      // Bytes that often form valid, overlong, cut and surrogate sequences.
      const byte = fc.oneof(
        fc.constantFrom(
          0x41,
          0xc3,
          0xa9,
          0xe2,
          0x82,
          0xac,
          0xed,
          0xa0,
          0x80,
          0xf0,
          0x9f,
          0x98,
          0x80,
          0xff,
          0xfe,
          0xef,
          0xbb,
          0xbf,
        ),
        fc.nat(255),
      );
      fc.assert(
        fc.property(fc.array(byte), (array) => {
          const isWide = encoding.startsWith("utf-16");
          const bytes = Buffer.from(isWide && array.length % 2 === 1 ? [...array, 0x41] : array);
          expect(encodeText(decodeText(bytes, encoding), encoding)).toEqual({ bytes });
        }),
        { numRuns: 1000 },
      );
    },
  );

  it.each([
    ["utf-8", "c3a9", "é"],
    ["utf-8", "efbbbf41", "\uFEFFA"],
    ["utf-8", "41ff42", "A\uDCFFB"],
    ["utf-8", "eda080", "\uDCED\uDCA0\uDC80"],
    ["utf-8", "c080", "\uDCC0\uDC80"],
    ["utf-8", "e282", "\uDCE2\uDC82"],
    ["windows-1252", "e98099", "é€™"],
    ["utf-16le", "3dd800de", "😀"],
    ["utf-16be", "d83dde00", "😀"],
  ] as const)("reads %s %s", (encoding, hex, text) => {
    expect(decodeText(Buffer.from(hex, "hex"), encoding)).toBe(text);
  });

  it("name a character that Windows-1252 does not have", () => {
    expect(encodeText("é😀", "windows-1252")).toEqual({ unknown: "😀" });
  });
});

describe("guessEncoding", () => {
  it.each([
    ["plain ASCII", "6162", "utf-8"],
    ["UTF-8", "c3a9", "utf-8"],
    ["UTF-8 with one stray byte", "c3a9c3a9ff", "utf-8"],
    ["Latin-1", "636166e9", "windows-1252"],
  ])("takes %s for what it is", (_, hex, encoding) => {
    expect(guessEncoding(Buffer.from(hex, "hex"))).toBe(encoding);
  });
});

describe("showSize", () => {
  it.each([
    [0, "0 bytes"],
    [1, "1 byte"],
    [1023, "1023 bytes"],
    [1024, "1.0 KB"],
    [5 * 1024 ** 3, "5.0 GB"],
    [2 ** 60, "1048576.0 TB"],
  ])("says %s as %s", (bytes, words) => {
    expect(showSize(bytes)).toBe(words);
  });
});
