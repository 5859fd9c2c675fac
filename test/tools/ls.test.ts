import { execFileSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/contract/json.ts";
import type { ToolResult } from "../../src/contract/tool.ts";
import { createLsTool } from "../../src/tools/ls.ts";
import { temporaryFolder } from "./shell/temporary-folder.ts";
import { toolContext } from "./tool-context.ts";

async function list(cwd: string, args: JsonObject): Promise<ToolResult> {
  const spillFolder = join(await temporaryFolder(), "spill");
  const tool = createLsTool({ secrets: [], maxSpillBytes: 1e9, spillFolder });
  return tool.execute(args, toolContext({ cwd }));
}

function textOf(result: ToolResult): string {
  return result.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

describe("ls", () => {
  it.each<[string, string, JsonObject, string]>([
    ["files, folders and dotfiles in order", "mkdir d B; touch .x a C", {}, ".x\nB/\nC\na\nd/"],
    [
      "links with their targets",
      "mkdir d; touch f; ln -s d 1; ln -s f 2; ln -s gone 3",
      {},
      "1@ -> d/\n2@ -> f\n3@ -> gone\nd/\nf",
    ],
    ["names with control characters on one line", "touch \"$(printf 'a\\nb\\033c')\"", {}, "a\\nb\\u001bc"],
    ["names that look like options", "mkdir -- -x; touch -- -x/--help", { path: "-x" }, "--help"],
    ["an empty folder", "mkdir d", { path: "d" }, "[d is empty.]"],
    [
      "the first entries",
      "touch a b c",
      { limit: 2 },
      "a\nb\n\n[2 of 3 entries. Use a larger limit, or find with a pattern.]",
    ],
    ["the working folder for an empty path", "touch a", { path: "" }, "a"],
  ])("shows %s", async (_, command, args, text) => {
    const cwd = await temporaryFolder();
    execFileSync("sh", ["-c", command], { cwd });
    const result = await list(cwd, args);
    expect({ text: textOf(result), isError: result.isError }).toEqual({ text, isError: false });
  });

  it.each([
    ["a file", "touch f", "f", "f is a file, not a folder. Use read to see it."],
    ["a FIFO", "mkfifo p", "p", "p is a FIFO, not a folder."],
    ["a missing folder", "mkdir source", "sorce", "sorce does not exist. Did you mean $CWD/source?"],
    ["a link to nothing", "ln -s no l", "l", "l is a symbolic link to no, where nothing is."],
  ])("names %s", async (_, command, path, text) => {
    const cwd = await temporaryFolder();
    execFileSync("sh", ["-c", command], { cwd });
    const result = await list(cwd, { path });
    expect([result.isError, textOf(result)]).toEqual([true, text.replace("$CWD", cwd)]);
  });

  it("stays within its limits in a folder of many long names", async () => {
    const cwd = await temporaryFolder();
    const names = Array.from({ length: 3000 }, (_, index) => `${index}`.padStart(4, "0"));
    await mkdir(join(cwd, "d"));
    await Promise.all(names.map((name) => writeFile(join(cwd, "d", name.padEnd(60, "x")), "")));
    const few = textOf(await list(cwd, { path: "d" }));
    expect(few.split("\n").slice(0, 500)).toEqual(names.slice(0, 500).map((name) => name.padEnd(60, "x")));
    expect(few).toContain("[500 of 3000 entries.");
    const many = textOf(await list(cwd, { path: "d", limit: 100_000 }));
    expect(Buffer.byteLength(many)).toBeLessThan(51 * 1024);
    const whole = /\[Output cut: shown are the first 839 of 3000 lines\. Whole output: (.*)\]$/.exec(
      many,
    )?.[1];
    expect(await readFile(whole ?? "", "utf8")).toBe(
      names.map((name) => `${name.padEnd(60, "x")}\n`).join(""),
    );
  });
});
