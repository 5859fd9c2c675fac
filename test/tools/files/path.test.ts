import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { describeFileError, showPath } from "../../../src/tools/files/path.ts";
import { callInChild, type ToolCallInChild } from "../child-tools.ts";
import { temporaryFolder } from "../shell/temporary-folder.ts";

describe("showPath", () => {
  it("keeps a name on one line", () => {
    expect(showPath("a\nb\t\u001B[1m é\u2028😀\uD800")).toBe("a\\nb\\t\\u001b[1m é\\u2028😀\uFFFD");
  });
});

describe("describeFileError", () => {
  it.each([
    [Object.assign(new Error("EACCES: ..."), { code: "EACCES" }), "Cannot write f: permission denied."],
    [Object.assign(new Error("ENOSPC: ..."), { code: "ENOSPC" }), "Cannot write f: the disk is full."],
    [Object.assign(new Error("EWHAT: what"), { code: "EWHAT" }), "Cannot write f: EWHAT: what."],
    ["a string", "Cannot write f: a string."],
  ])("says what an error means: %s", (error, words) => {
    expect(describeFileError("write", "f", error)).toBe(words);
  });

  it.skipIf(process.getuid?.() !== 0)("writes in place where only the file may be written", async () => {
    const cwd = await temporaryFolder();
    await chmod(cwd, 0o755);
    await writeFile(join(cwd, "f"), "old and longer");
    await chmod(join(cwd, "f"), 0o666);
    const [result] = await callInChild([["write", { path: "f", content: "new" }]], { cwd, uid: 65534 });
    expect(result?.isError).toBe(false);
    expect(await readFile(join(cwd, "f"), "utf8")).toBe("new");
  });

  it.skipIf(process.getuid?.() !== 0)(
    "is what a user without the permission gets from the tools",
    async () => {
      const cwd = await temporaryFolder();
      await chmod(cwd, 0o755);
      await mkdir(join(cwd, "closed"), { mode: 0o700 });
      await writeFile(join(cwd, "closed/f"), "secret", { mode: 0o600 });
      await writeFile(join(cwd, "g"), "secret", { mode: 0o600 });
      const calls: ToolCallInChild[] = [
        ["read", { path: "g" }],
        ["read", { path: "closed/f" }],
        ["ls", { path: "closed" }],
        ["write", { path: "g", content: "" }],
        ["write", { path: "new", content: "" }],
        ["edit", { path: "g", oldText: "secret", newText: "" }],
        ["grep", { pattern: "secret", path: "g" }],
        ["grep", { pattern: "secret", path: "closed" }],
        ["find", { pattern: "*", path: "closed" }],
      ];
      expect(await callInChild(calls, { cwd, uid: 65534 })).toEqual(
        [
          "Cannot read g: permission denied.",
          "Cannot read closed/f: permission denied.",
          "Cannot list closed: permission denied.",
          "Cannot write g: permission denied.",
          "Cannot write new: permission denied.",
          "Cannot read g: permission denied.",
          "Cannot search g: permission denied.",
          "Cannot search closed: permission denied.",
          "Cannot search closed: permission denied.",
        ].map((text) => ({ content: [{ type: "text", text }], isError: true })),
      );
    },
  );
});
