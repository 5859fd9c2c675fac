import { execFileSync } from "node:child_process";
import { chmod, link, lstat, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { applyPatch } from "diff";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/contract/json.ts";
import type { ToolResult } from "../../src/contract/tool.ts";
import { editTool } from "../../src/tools/edit.ts";
import { temporaryFolder } from "./shell/temporary-folder.ts";
import { toolContext } from "./tool-context.ts";

function edit(cwd: string, args: JsonObject): Promise<ToolResult> {
  return editTool.execute(args, toolContext({ cwd }));
}

function textOf(result: ToolResult): string {
  return result.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

/** Edits a file of that content, and gives the result and the bytes after it. */
async function editContent(content: string | Buffer, oldText: string, newText: string) {
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, "f"), content);
  const result = await edit(cwd, { path: "f", edits: [{ oldText, newText }] });
  return { result, after: await readFile(join(cwd, "f")) };
}

describe("edit", () => {
  it("tells what it changed, with a unified diff and the first changed line", async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, "f"), "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n");
    const edits = [
      { oldText: "9\n10\n", newText: "9\nten\n" },
      { oldText: "2\n", newText: "" },
    ];
    expect(await edit(cwd, { path: "f", edits })).toEqual({
      content: [{ type: "text", text: "Edited f in 2 places (at line 2, 9-10)." }],
      details: {
        diff: "--- f\n+++ f\n@@ -1,5 +1,4 @@\n 1\n-2\n 3\n 4\n 5\n@@ -7,4 +6,4 @@\n 7\n 8\n 9\n-10\n+ten\n",
        firstChangedLine: 2,
      },
      isError: false,
    });
    expect(await readFile(join(cwd, "f"), "utf8")).toBe("1\n3\n4\n5\n6\n7\n8\n9\nten\n");
  });

  it.each<[string, JsonObject]>([
    ["at top level", { oldText: "a", newText: "b" }],
    ["as JSON text", { edits: '[{"oldText":"a","newText":"b"}]' }],
    ["at top level beside empty edits", { edits: [], oldText: "a", newText: "b" }],
    ["at top level beside null", { edits: null, oldText: "a", newText: "b" }],
    ["in a list beside empty texts", { edits: [{ oldText: "a", newText: "b" }], oldText: "", newText: "" }],
  ])("takes a single edit %s", async (_, args) => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, "f"), "a");
    expect(textOf(await edit(cwd, { path: "f", ...args }))).toBe("Edited f in 1 place (at line 1).");
    expect(await readFile(join(cwd, "f"), "utf8")).toBe("b");
  });

  it("says when the match was a tolerant one", async () => {
    const { result, after } = await editContent("name = “A”  \n", 'name = "A"', 'name = "B"');
    expect(textOf(result)).toBe(
      "Edited f in 1 place (at line 1). The text was found by a tolerant match (quotes, dashes, white space or line ends differ).",
    );
    expect(after.toString()).toBe('name = "B"  \n');
  });

  const utf16 = (text: string) => Buffer.from(`\uFEFF${text}`, "utf16le");
  it.each<[string, Buffer, string, string, Buffer]>([
    [
      "Latin-1",
      Buffer.from("const x = 1;\n// caf\xe9\n", "latin1"),
      "x = 1",
      "x = 2",
      Buffer.from("const x = 2;\n// caf\xe9\n", "latin1"),
    ],
    [
      "Latin-1 inside the edit",
      Buffer.from("caf\xe9 1", "latin1"),
      "café 1",
      "thé 2",
      Buffer.from("th\xe9 2", "latin1"),
    ],
    [
      "Windows-1252",
      Buffer.from("\x80 1 \x81", "latin1"),
      "€ 1",
      "€€ 2",
      Buffer.from("\x80\x80 2 \x81", "latin1"),
    ],
    ["GBK", Buffer.from("b1e0c2eb0a783d310a", "hex"), "x=1", "x=2", Buffer.from("b1e0c2eb0a783d320a", "hex")],
    [
      "UTF-8 with stray bytes",
      Buffer.concat([Buffer.from("é1é\n"), Buffer.from([0xff, 0xc3])]),
      "é1é",
      "é2é",
      Buffer.concat([Buffer.from("é2é\n"), Buffer.from([0xff, 0xc3])]),
    ],
    ["UTF-8 with a mark", Buffer.from("\uFEFFa\n"), "a", "b", Buffer.from("\uFEFFb\n")],
    ["UTF-16LE", utf16("x = 1 é😀\n"), "x = 1 é", "x = 2 ü", utf16("x = 2 ü😀\n")],
    ["UTF-16BE", utf16("x = 1\n").swap16(), "1", "2", utf16("x = 2\n").swap16()],
    ["CRLF", Buffer.from("a\r\nb\r\nc\r\n"), "a\nb", "1\n2\n3", Buffer.from("1\r\n2\r\n3\r\nc\r\n")],
  ])("keeps every other byte of %s", async (_, before, oldText, newText, expected) => {
    const { result, after } = await editContent(before, oldText, newText);
    expect(result.isError).toBe(false);
    expect(after.toString("hex")).toBe(expected.toString("hex"));
  });

  it("keeps every byte outside of the edit, whatever the bytes", async () => {
    const cwd = await temporaryFolder();
    const bytes = fc
      .uint8Array({ maxLength: 40 })
      .map((array) => Buffer.from(array.filter((byte) => byte !== 0)));
    await fc.assert(
      fc.asyncProperty(bytes, bytes, async (head, tail) => {
        const around = (text: string) => Buffer.concat([head, Buffer.from(`\n${text}\n`), tail]);
        await writeFile(join(cwd, "f"), around("<mark>"));
        const result = await edit(cwd, { path: "f", oldText: "<mark>", newText: "<new>" });
        const after = await readFile(join(cwd, "f"));
        // Two bytes at the start may look like a UTF-16 mark: then the text is not found, and nothing changes.
        const expected = around(result.isError ? "<mark>" : "<new>");
        expect(after.toString("hex")).toBe(expected.toString("hex"));
      }),
      { numRuns: 200 },
    );
  });

  it("gives a diff that makes the new file from the old one", async () => {
    const cwd = await temporaryFolder();
    const line = fc.constantFrom("a", "b", "", "“c”", "d  ");
    await fc.assert(
      fc.asyncProperty(fc.array(line), fc.array(line), fc.array(line), async (before, inserted, after) => {
        const old = [...before, "<mark>", ...after].join("\n");
        await writeFile(join(cwd, "f"), old);
        const result = await edit(cwd, { path: "f", oldText: "<mark>", newText: inserted.join("\n") });
        const details = result.details as { diff: string };
        expect(applyPatch(old, details.diff)).toBe(await readFile(join(cwd, "f"), "utf8"));
      }),
      { numRuns: 100 },
    );
  });

  it.each<[string, string, JsonObject, string]>([
    [
      "what is not there",
      "alpha\n",
      { oldText: "beta!", newText: "" },
      "f was not changed: oldText was not found in the file.",
    ],
    [
      "what is almost there",
      "one\nfunction add(a, b)\n",
      { oldText: "function add(a,c)", newText: "" },
      'f was not changed: oldText was not found in the file. It comes closest at line 2: "function add(a, b)".',
    ],
    [
      "what is there twice",
      "a\na\n",
      { oldText: "a", newText: "b" },
      "f was not changed: oldText was found 2 times (lines 1, 2): add neighbouring lines until it occurs once.",
    ],
    [
      "only the first of two edits",
      "a b",
      {
        edits: [
          { oldText: "a", newText: "A" },
          { oldText: "c", newText: "C" },
        ],
      },
      "f was not changed: edits[1].oldText was not found in the file.",
    ],
    ["nothing", "a", { edits: [] }, "Cannot edit f: edits is empty: give at least one {oldText, newText}."],
    ["half an edit", "a", { oldText: "a" }, "Cannot edit f: newText is missing."],
    [
      "to what is there already",
      "a\r\n",
      { oldText: "a\r\n", newText: "a\n" },
      "f was not changed: the replacements are what is there already.",
    ],
    [
      "a binary file",
      "a\0",
      { oldText: "a", newText: "b" },
      "Cannot edit f: it is a binary file (it holds NUL bytes). Use bash.",
    ],
  ])("does not edit %s", async (_, content, args, text) => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, "f"), content);
    const result = await edit(cwd, { path: "f", ...args });
    expect([result.isError, textOf(result)]).toEqual([true, text]);
    expect(await readFile(join(cwd, "f"), "utf8")).toBe(content);
  });

  it("refuses a character that the file's encoding does not have", async () => {
    const before = Buffer.from("caf\xe9", "latin1");
    const { result, after } = await editContent(before, "caf", "你");
    expect(textOf(result)).toBe('f was not changed: it is windows-1252 text, which has no character "你".');
    expect(after).toEqual(before);
  });

  it.each([
    ["a missing file", "touch file.txt", "fiel.txt", "fiel.txt does not exist. Did you mean $CWD/file.txt?"],
    ["a directory", "mkdir d", "d", "d is a directory, not a file. Use ls to list it."],
    ["a FIFO", "mkfifo p", "p", "p is a FIFO, not a file."],
    ["a name in other words", "touch name", "@name", "@name does not exist. Did you mean $CWD/name?"],
  ])("names %s", async (_, command, path, text) => {
    const cwd = await temporaryFolder();
    execFileSync("sh", ["-c", command], { cwd });
    const result = await edit(cwd, { path, oldText: "a", newText: "b" });
    expect([result.isError, textOf(result)]).toEqual([true, text.replace("$CWD", cwd)]);
  });

  it("keeps mode, symbolic and hard links", async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, "s.sh"), "a");
    await chmod(join(cwd, "s.sh"), 0o755);
    await symlink("s.sh", join(cwd, "l"));
    await edit(cwd, { path: "l", oldText: "a", newText: "b" });
    expect((await lstat(join(cwd, "l"))).isSymbolicLink()).toBe(true);
    expect((await stat(join(cwd, "s.sh"))).mode & 0o777).toBe(0o755);
    await link(join(cwd, "s.sh"), join(cwd, "h"));
    await edit(cwd, { path: "h", oldText: "b", newText: "c" });
    expect(await readFile(join(cwd, "s.sh"), "utf8")).toBe("c");
  });

  it("loses none of many edits at once, whatever name of the file they use", async () => {
    const cwd = await temporaryFolder();
    const lines = Array.from({ length: 100 }, (_, index) => `<${index}>`);
    await writeFile(join(cwd, "f"), lines.join("\n"));
    await symlink("f", join(cwd, "l"));
    await link(join(cwd, "f"), join(cwd, "h"));
    const names = ["f", "l", "h"];
    await Promise.all(
      lines.map((line, index) =>
        edit(cwd, { path: names[index % 3] ?? "", oldText: line, newText: `${index}` }),
      ),
    );
    expect(await readFile(join(cwd, "f"), "utf8")).toBe(lines.map((_, index) => index).join("\n"));
  });
});
