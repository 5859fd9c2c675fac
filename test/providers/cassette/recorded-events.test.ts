import { expect, test } from "vitest";
import { redactEvents } from "../../../src/providers/cassette/recorded-events.ts";
import { createPieceRedactor } from "../../../src/providers/redact.ts";

const redactPieces = createPieceRedactor(["secret-key"]);

test("a credential in the parts of one text is stripped, all else stays byte for byte", () => {
  const stream = [
    ": hello",
    "event: delta",
    'data: {"index":0, "delta":{"text":"a secr"}}',
    "",
    'data:{ "index":1, "delta":{"text":"et-key"}}\r',
    'data: {"index":0,"delta":{"text":"et-"}}',
    'data: {"index":0,"delta":{"text":"key b"}}\r',
    "data: [DONE]",
    'data: {"cut',
  ];
  expect(redactEvents(stream.join("\n"), redactPieces).split("\n")).toEqual([
    ...stream.slice(0, 2),
    'data: {"index":0,"delta":{"text":"a [redacted]"}}',
    ...stream.slice(3, 5),
    'data: {"index":0,"delta":{"text":""}}',
    'data: {"index":0,"delta":{"text":" b"}}\r',
    ...stream.slice(7),
  ]);
});

test("texts at other places are others", () => {
  const stream = 'data: {"a":"secret","b":"-key"}\ndata: {"a":"x","b":["-key"]}\n';
  expect(redactEvents(stream, redactPieces)).toBe(stream);
});
