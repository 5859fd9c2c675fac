import fc from "fast-check";
import { expect, test } from "vitest";
import { parseCommand } from "../../../src/runs/rpc/command.ts";

const image = { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" };

test.each([
  [{ type: "prompt", message: "hi" }],
  [{ type: "prompt", message: "hi", images: [image], streamingBehavior: "steer", id: "a" }],
  [{ type: "set_model", modelId: "m", provider: "p", id: 0 }],
  [{ type: "compact" }],
  [{ type: "bash", command: "ls", excludeFromContext: true }],
  [{ type: "fork", entryId: "e" }],
])("%j is a command as it stands", (command) => {
  expect(parseCommand(JSON.stringify(command))).toEqual({ ok: true, command });
});

test("fields that the command does not have are left out, and so is what is null", () => {
  const line = JSON.stringify({ type: "compact", customInstructions: null, message: "x", id: 1 });
  expect(parseCommand(line)).toEqual({ ok: true, command: { type: "compact", id: 1 } });
  expect(parseCommand('{"type":"abort","id":null}')).toEqual({ ok: true, command: { type: "abort" } });
});

test.each([
  ["no JSON", "hi", { command: "parse" }, /^the line is not JSON/],
  ["no object", "[]", { command: "parse" }, /no JSON object/],
  ["no type", '{"id":1}', { command: "parse", id: 1 }, /no "type"/],
  ["an unknown type", '{"type":"promt","id":1}', { command: "promt", id: 1 }, /did you mean prompt\?$/],
  ["a type of the prototype", '{"type":"toString"}', { command: "toString" }, /^there is no command/],
  ["an id of another kind", '{"type":"abort","id":{}}', { command: "abort" }, /^"id" is a text or a number$/],
  [
    "an id of too many digits",
    '{"type":"abort","id":12345678901234567890}',
    { command: "abort" },
    /send it as a text$/,
  ],
  ["an id without end", '{"type":"abort","id":1e999}', { command: "abort" }, /send it as a text$/],
  ["a missing field", '{"type":"prompt"}', { command: "prompt" }, /"message": a text that is not blank$/],
  ["a blank text", '{"type":"steer","message":" "}', { command: "steer" }, /"message"/],
  [
    "a wrong switch",
    '{"type":"set_auto_retry","enabled":1}',
    { command: "set_auto_retry" },
    /true or false$/,
  ],
  [
    "a wrong choice",
    '{"type":"prompt","message":"hi","streamingBehavior":"now"}',
    { command: "prompt" },
    /one of steer, followUp$/,
  ],
  [
    "a wrong image",
    JSON.stringify({ type: "prompt", message: "hi", images: [{ ...image, data: "?" }] }),
    { command: "prompt" },
    /"images"/,
  ],
])("%s is refused in words", (_, line, about, words) => {
  expect(parseCommand(line)).toEqual({
    ok: false,
    failure: { type: "response", ...about, success: false, error: expect.stringMatching(words) },
  });
});

test("no line makes it throw", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json()), (line) => {
      expect(typeof parseCommand(line).ok).toBe("boolean");
    }),
  );
});
