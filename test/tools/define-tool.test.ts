import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/contract/json.ts";
import { defineTool, errorResult, textResult } from "../../src/tools/define-tool.ts";
import { toolContext } from "./tool-context.ts";

const probe = defineTool({
  name: "probe",
  description: "Echoes its arguments.\n",
  parameters: {
    type: "object",
    properties: {
      path: { type: "string", minLength: 1 },
      limit: { type: "integer", minimum: 1 },
      ratio: { type: "number", exclusiveMinimum: 0, maximum: 2 },
      deep: { type: "boolean" },
      mode: { type: "string", enum: ["a", "b"] },
      edits: {
        type: "array",
        minItems: 1,
        items: { type: "object", properties: { old: { type: "string" } }, required: ["old"] },
      },
    },
    required: ["path"],
  },
  readOnly: true,
  async run(args) {
    // Proves at compile time that the types come from the schema.
    const typed: { path: string; limit?: number; deep?: boolean; edits?: { old: string }[] } = args;
    return textResult(JSON.stringify(typed));
  },
});

describe("defineTool", () => {
  it("shows the model a trimmed description and the schema as it was written", () => {
    expect(probe.description).toBe("Echoes its arguments.");
    expect(probe.parameters).toMatchObject({ type: "object", required: ["path"] });
  });

  it.each<[string, JsonObject, JsonObject]>([
    ["fitting arguments", { path: "x", limit: 2, deep: false }, { path: "x", limit: 2, deep: false }],
    ["a number in quotes", { path: "x", limit: "12", ratio: " 0.5 " }, { path: "x", limit: 12, ratio: 0.5 }],
    ["a boolean in quotes", { path: "x", deep: "true" }, { path: "x", deep: true }],
    ["an array as JSON text", { path: "x", edits: '[{"old":"1"}]' }, { path: "x", edits: [{ old: "1" }] }],
    ["objects as JSON text", { path: "x", edits: ['{"old":"1"}'] }, { path: "x", edits: [{ old: "1" }] }],
    ["null for what is optional", { path: "x", limit: null, edits: null }, { path: "x" }],
    ["keys nobody asked for", { path: "x", extra: 1, __proto__: 2 }, { path: "x" }],
    ["a string that looks like a number", { path: "12" }, { path: "12" }],
  ])("takes %s", async (_, sent, received) => {
    const result = await probe.execute(sent, toolContext());
    expect(result).toEqual({ content: [{ type: "text", text: expect.any(String) }], isError: false });
    expect(JSON.parse(textOf(result))).toEqual(received);
  });

  it.each<[JsonObject, string]>([
    [{}, "path (a non-empty string) is missing"],
    [{ path: null }, "path must be a non-empty string, not null"],
    [{ path: 5 }, "path must be a non-empty string, not 5"],
    [{ path: "" }, "path must be a non-empty string"],
    [{ path: "x", limit: 0 }, "limit must be an integer of at least 1"],
    [{ path: "x", limit: 1.5 }, "limit must be an integer of at least 1, not 1.5"],
    [{ path: "x", limit: "many" }, "limit must be an integer of at least 1, not a string"],
    [{ path: "x", limit: "0x10" }, "limit must be an integer of at least 1, not a string"],
    [{ path: "x", ratio: 3 }, "ratio must be a number above 0 up to 2"],
    [{ path: "x", deep: 1 }, "deep must be true or false, not 1"],
    [{ path: "x", mode: "c" }, 'mode must be one of "a", "b"'],
    [{ path: "x", edits: "[{" }, "edits must be an array of at least 1 objects, not a string"],
    [{ path: "x", edits: [] }, "edits must be an array of at least 1 objects"],
    [{ path: "x", edits: [{ old: true }] }, "edits[0].old must be a string, not a boolean"],
  ])("refuses %j and quotes it", async (sent, problem) => {
    expect(await probe.execute(sent, toolContext())).toEqual(
      errorResult(
        `The call of probe was not run, its arguments do not fit: ${problem}. Arguments received: ${JSON.stringify(sent)}`,
      ),
    );
  });

  it("names every fault of a call at once", async () => {
    const text = textOf(await probe.execute({ limit: -1, deep: "no" }, toolContext()));
    expect(text).toContain("path (a non-empty string) is missing; limit must be");
    expect(text).toContain("deep must be true or false");
  });

  it("quotes no more than a bounded part of a huge bad call, on one line", async () => {
    const text = textOf(await probe.execute({ path: 1, junk: "😀\n".repeat(100_000) }, toolContext()));
    expect(Buffer.byteLength(text)).toBeLessThan(800);
    expect(text).not.toContain("\n");
    expect(text.endsWith(" ...")).toBe(true);
  });

  it("does not run a call whose signal is already aborted", async () => {
    const result = await probe.execute({ path: "x" }, toolContext({ signal: AbortSignal.abort() }));
    expect(result).toEqual(errorResult("probe was aborted."));
  });

  it("turns an exception into an aborted result only when the call was aborted", async () => {
    const abort = new AbortController();
    const failing = defineTool({
      name: "failing",
      description: "",
      parameters: { type: "object", properties: { abort: { type: "boolean" } }, required: [] },
      readOnly: false,
      async run(args) {
        if (args.abort) abort.abort();
        throw new Error("broken");
      },
    });
    await expect(failing.execute({}, toolContext({ signal: abort.signal }))).rejects.toThrow("broken");
    const result = await failing.execute({ abort: true }, toolContext({ signal: abort.signal }));
    expect(result).toEqual(errorResult("failing was aborted."));
  });

  it("makes the text of results safe", () => {
    expect(textResult("a\0b\uD83D\tc\r\n", { n: 1 })).toEqual({
      content: [{ type: "text", text: "a\uFFFDb\uFFFD\tc\r\n" }],
      details: { n: 1 },
      isError: false,
    });
  });
});

function textOf(result: { content: readonly { type: string; text?: string }[] }): string {
  return result.content[0]?.text ?? "";
}
