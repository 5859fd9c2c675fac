import { execFileSync } from "node:child_process";
import { chmod, link, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ToolResult } from "../../src/contract/tool.ts";
import { writeTool } from "../../src/tools/write.ts";
import { callInChild, type ToolCallInChild } from "./child-tools.ts";
import { temporaryFolder } from "./shell/temporary-folder.ts";
import { toolContext } from "./tool-context.ts";

function write(cwd: string, path: string, content: string): Promise<ToolResult> {
  return writeTool.execute({ path, content }, toolContext({ cwd }));
}

function textOf(result: ToolResult): string {
  return result.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

describe("write", () => {
  it("creates a file and its folders, following the umask", async () => {
    const cwd = await temporaryFolder();
    const umask = process.umask(0o027);
    onTestFinished(() => void process.umask(umask));
    expect(await write(cwd, "a/b/c.txt", "one\ntwo 😀\n")).toEqual({
      content: [{ type: "text", text: "Created a/b/c.txt (13 bytes, 2 lines)." }],
      details: { created: true, bytes: 13, lines: 2 },
      isError: false,
    });
    expect(await readFile(join(cwd, "a/b/c.txt"), "utf8")).toBe("one\ntwo 😀\n");
    expect((await stat(join(cwd, "a/b/c.txt"))).mode & 0o777).toBe(0o640);
    expect((await stat(join(cwd, "a/b"))).mode & 0o777).toBe(0o750);
  });

  it("overwrites a file, keeping its mode and leaving nothing beside it", async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, "s.sh"), "old and longer");
    await chmod(join(cwd, "s.sh"), 0o4755);
    expect(textOf(await write(cwd, "s.sh", "x"))).toBe("Overwrote s.sh (1 byte, 1 line).");
    expect((await stat(join(cwd, "s.sh"))).mode & 0o7777).toBe(0o4755);
    expect(await readFile(join(cwd, "s.sh"), "utf8")).toBe("x");
    expect(await readdir(cwd)).toEqual(["s.sh"]);
  });

  it.each([
    ["nothing", ""],
    ["a NUL", "a\0b"],
    ["CRLF and a byte order mark", "\uFEFFa\r\n"],
  ])("writes %s as it is", async (_, content) => {
    const cwd = await temporaryFolder();
    await write(cwd, "f", content);
    expect(await readFile(join(cwd, "f"))).toEqual(Buffer.from(content));
  });

  it("replaces lone surrogates", async () => {
    const cwd = await temporaryFolder();
    await write(cwd, "f", "a\uD83Db");
    expect(await readFile(join(cwd, "f"), "utf8")).toBe("a\uFFFDb");
  });

  it.each([
    ["a link", "ln -s target link; echo old > target"],
    ["a link to a link", "ln -s middle link; ln -s target middle; echo old > target"],
    ["a link to a file that is not there yet", "ln -s target link"],
    ["a link into another folder", "mkdir d; ln -s d/../target link; echo old > target"],
  ])("follows %s", async (_, command) => {
    const cwd = await temporaryFolder();
    execFileSync("sh", ["-c", command], { cwd });
    expect((await write(cwd, "link", "new")).isError).toBe(false);
    expect((await lstat(join(cwd, "link"))).isSymbolicLink()).toBe(true);
    expect(await readFile(join(cwd, "target"), "utf8")).toBe("new");
    expect((await lstat(join(cwd, "target"))).isFile()).toBe(true);
  });

  it("keeps hard links together", async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, "a"), "old and longer");
    await link(join(cwd, "a"), join(cwd, "b"));
    await write(cwd, "a", "new");
    expect(await readFile(join(cwd, "b"), "utf8")).toBe("new");
    expect((await stat(join(cwd, "a"))).nlink).toBe(2);
  });

  it.skipIf(process.getuid?.() !== 0)("keeps the owner", async () => {
    const cwd = await temporaryFolder();
    execFileSync("sh", ["-c", "echo x > f; chown 1234:2345 f"], { cwd });
    await write(cwd, "f", "new");
    expect(await stat(join(cwd, "f"))).toMatchObject({ uid: 1234, gid: 2345 });
  });

  it("means home by ~, and only there", async () => {
    const cwd = await temporaryFolder();
    const home = await temporaryFolder();
    vi.stubEnv("HOME", home);
    onTestFinished(() => void vi.unstubAllEnvs());
    await write(cwd, "~/x", "1");
    await write(cwd, "@x", "2");
    await write(cwd, "a\u00A0b", "3");
    expect(await readdir(home)).toEqual(["x"]);
    expect((await readdir(cwd)).sort()).toEqual(["@x", "a\u00A0b"]);
  });

  it.each([
    ["a directory", "mkdir d", "d", "Cannot write d: it is a directory, not a file."],
    ["a FIFO", "mkfifo p", "p", "Cannot write p: it is a FIFO, not a file."],
    ["a device", "true", "/dev/null", "Cannot write /dev/null: it is a device, not a file."],
    ["a path through a file", "touch f", "f/x", "Cannot write f/x: a part of the path is not a directory."],
    ["a link in a circle", "ln -s l l", "l", "Cannot write l: its symbolic links lead in a circle."],
    ["a folder's name", "true", "new/", "Cannot write new/: it names a folder. Name the file in it."],
    ["a NUL in the path", "true", "a\0b", "Cannot write a\\u0000b: the path holds a NUL character."],
    [
      "a name that is too long",
      "true",
      "x".repeat(300),
      `Cannot write ${"x".repeat(300)}: the name is too long.`,
    ],
  ])("refuses %s", async (_, command, path, text) => {
    const cwd = await temporaryFolder();
    execFileSync("sh", ["-c", command], { cwd });
    const result = await write(cwd, path, "x");
    expect([result.isError, textOf(result)]).toEqual([true, text]);
  });

  it.each([
    ["a file of its own", "true"],
    ["a file with hard links", "ln f g"],
  ])("leaves %s as it was when the disk does not take the new content", async (_, command) => {
    const cwd = await temporaryFolder();
    const old = "line\n".repeat(100);
    await writeFile(join(cwd, "f"), old);
    execFileSync("sh", ["-c", command], { cwd });
    const calls: ToolCallInChild[] = [["write", { path: "f", content: "x".repeat(1 << 20) }]];
    expect(await callInChild(calls, { cwd, shellSetup: "ulimit -f 8" })).toEqual([
      {
        content: [{ type: "text", text: "Cannot write f: the file would be larger than allowed." }],
        isError: true,
      },
    ]);
    expect(await readFile(join(cwd, "f"), "utf8")).toBe(old);
    expect((await readdir(cwd)).filter((name) => name.endsWith(".tmp"))).toEqual([]);
  });

  it("writes nothing once the call is aborted", async () => {
    const cwd = await temporaryFolder();
    const abort = new AbortController();
    const result = writeTool.execute({ path: "f", content: "x" }, toolContext({ cwd, signal: abort.signal }));
    abort.abort();
    expect(textOf(await result)).toBe("write was aborted.");
    expect(await readdir(cwd)).toEqual([]);
  });

  it("writes to one file in the order of the calls, under whatever name", async () => {
    const cwd = await temporaryFolder();
    await mkdir(join(cwd, "d"));
    await symlink("d/f", join(cwd, "l"));
    const paths = ["d/f", "l", "d/../l", join(cwd, "d/f")];
    const contents = Array.from({ length: 20 }, (_, index) => `${index}`);
    await Promise.all(contents.map((content, index) => write(cwd, paths[index % 4] ?? "", content)));
    expect(await readFile(join(cwd, "d/f"), "utf8")).toBe("19");
  });
});
