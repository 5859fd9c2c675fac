import { execFileSync } from "node:child_process";
import { mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import sharp from "sharp";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ToolResult } from "../../src/contract/tool.ts";
import { createReadTool, type ImageOptions } from "../../src/tools/read.ts";
import { temporaryFolder } from "./shell/temporary-folder.ts";
import { toolContext } from "./tool-context.ts";

type Args = { path: string; offset?: number; limit?: number };
const defaults: ImageOptions = { autoResize: true, block: false };

async function read(cwd: string, args: Args, images = defaults): Promise<ToolResult> {
  return createReadTool(images).execute(args, toolContext({ cwd }));
}

/** Reads a file of that content. */
async function readContent(
  content: string | Buffer,
  args: Omit<Args, "path"> = {},
  name = "f",
): Promise<ToolResult> {
  const cwd = await temporaryFolder();
  await writeFile(join(cwd, name), content);
  return read(cwd, { path: name, ...args });
}

function textOf(result: ToolResult): string {
  return result.content
    .map((block) => (block.type === "text" ? block.text : `<${block.mimeType}>`))
    .join("\n");
}

const numbers = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `${from + index}\n`).join("");

describe("read of text", () => {
  it.each<[string, string | Buffer, Omit<Args, "path">, string]>([
    ["a whole file as it is", "a\n\tb  \n😀", {}, "a\n\tb  \n😀"],
    ["an empty file by name", "", {}, "[f is empty.]"],
    ["an empty file with an offset", "", { offset: 3 }, "[f is empty.]"],
    ["white space by name", " \n\n", {}, " \n\n\n[Nothing but white space.]"],
    [
      "lines in the middle",
      numbers(1, 9),
      { offset: 3, limit: 2 },
      "3\n4\n\n[Lines 3-4 of 9 in f. Go on with offset=5.]",
    ],
    ["the last lines", numbers(1, 9), { offset: 8 }, "8\n9\n"],
    ["a last line that does not end", "a\nb", { offset: 2 }, "b"],
    ["no byte order mark", "\uFEFFa\n", {}, "a\n"],
    [
      "CRLF as LF",
      "a\r\nb\r\n",
      {},
      "a\nb\n\n[Lines end in CRLF, shown as LF; edit keeps what the file has.]",
    ],
    [
      "mixed line ends",
      "a\nb\r\n",
      {},
      "a\nb\n\n[Some lines end in CRLF, shown as LF; edit keeps what the file has.]",
    ],
    [
      "Windows-1252",
      Buffer.from("caf\xe9 \x80\n", "latin1"),
      {},
      "café €\n\n[Not UTF-8: decoded as Windows-1252 (Latin-1).]",
    ],
    [
      "a Latin-1 byte at the very end",
      Buffer.from("caf\xe9", "latin1"),
      {},
      "café\n\n[Not UTF-8: decoded as Windows-1252 (Latin-1).]",
    ],
    [
      "UTF-8 with a stray byte",
      Buffer.concat([Buffer.from("éé\n"), Buffer.from([0xff])]),
      {},
      "éé\n\uFFFD\n\n[Not UTF-8 throughout: the stray bytes are shown as U+FFFD.]",
    ],
    [
      "UTF-16LE",
      Buffer.from("\uFEFFa😀\nb\n", "utf16le"),
      { offset: 1 },
      "a😀\nb\n\n[Decoded from UTF-16LE.]",
    ],
    [
      "UTF-16BE",
      Buffer.from("\uFEFFa\nb\nc", "utf16le").swap16(),
      { offset: 2, limit: 1 },
      "b\n\n[Decoded from UTF-16BE.]\n[Lines 2-2 of 3 in f. Go on with offset=3.]",
    ],
    ["control characters replaced", "a\u001B[1mb\n", {}, "a\uFFFD[1mb\n"],
  ])("shows %s", async (_, content, args, text) => {
    const result = await readContent(content, args);
    expect({ text: textOf(result), isError: result.isError }).toEqual({ text, isError: false });
  });

  it("says which lines it shows", async () => {
    expect((await readContent(numbers(1, 3000), { offset: 11 })).details).toEqual({
      firstLine: 11,
      lastLine: 2010,
      totalLines: 3000,
    });
  });

  it("leads through a long file without a gap or an overlap", async () => {
    const cwd = await temporaryFolder();
    const content = Array.from({ length: 6000 }, (_, line) => `${line} ${"é😀".repeat(line % 40)}\n`).join(
      "",
    );
    await writeFile(join(cwd, "f"), content);
    let collected = "";
    for (let offset: number | undefined = 1; offset !== undefined; ) {
      const text = textOf(await read(cwd, { path: "f", offset }));
      expect(Buffer.byteLength(text)).toBeLessThan(51 * 1024);
      const next = /\n\n\[Lines \d+-\d+ of 6000 in f\. Go on with offset=(\d+)\.\]$/.exec(text);
      collected += next ? `${text.slice(0, next.index)}\n` : text;
      offset = next ? Number(next[1]) : undefined;
    }
    expect(collected).toBe(content);
  });

  it("leads through a long CRLF file in another encoding as well", async () => {
    const cwd = await temporaryFolder();
    const lines = Array.from({ length: 4000 }, (_, line) => `${line} é€ ${"x".repeat(line % 50)}`);
    await writeFile(
      join(cwd, "f"),
      Buffer.from(`${lines.join("\r\n")}\r\n`.replaceAll("€", "\x80"), "latin1"),
    );
    const collected: string[] = [];
    for (let offset: number | undefined = 1; offset !== undefined; ) {
      const text = textOf(await read(cwd, { path: "f", offset }));
      collected.push(...(text.split("\n\n[")[0] ?? "").split("\n"));
      offset = Number(/offset=(\d+)/.exec(text)?.[1]) || undefined;
    }
    expect(collected).toEqual(lines);
  });

  it("cuts a long line between characters", async () => {
    const text = textOf(await readContent(`a${"😀".repeat(60_000)}`));
    expect(text).toBe(
      `a${"😀".repeat(12_799)}\n\n[Line 1 of 1 in f is cut after 50.0 KB: use bash to see the rest of it.]`,
    );
  });

  it("cuts a long line of another encoding", async () => {
    const text = textOf(await readContent(Buffer.alloc(200_000, 0xe9)));
    expect(text).toMatch(/^é{25600}\n\n\[Not UTF-8.*\]\n\[Line 1 of 1 in f is cut after 50.0 KB/);
  });

  it("calls no line cut of which only the end of line does not fit", async () => {
    const line = "x".repeat(51_200);
    expect(textOf(await readContent(`${line}\n`))).toBe(line);
    expect(textOf(await readContent(`${line}\r\nnext\n`))).toBe(
      `${line}\n\n[Lines end in CRLF, shown as LF; edit keeps what the file has.]\n[Lines 1-1 of 2 in f. Go on with offset=2.]`,
    );
  });

  it("goes on after a long line", async () => {
    const text = textOf(await readContent(`${"x".repeat(100_000)}\nnext\n`));
    expect(text).toContain(
      "[Line 1 of 2 in f is cut after 50.0 KB: use bash to see the rest of it. Go on with offset=2.]",
    );
  });

  it("refuses an offset past the end", async () => {
    const result = await readContent("a\nb\n", { offset: 3 });
    expect([result.isError, textOf(result)]).toEqual([true, "offset 3 is past the end: f has 2 lines."]);
  });

  it("reads a gigabyte of one line in bounded memory", async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, "f"), "x".repeat(100_000));
    await truncate(join(cwd, "f"), 1024 ** 3);
    const before = process.memoryUsage().rss;
    const text = textOf(await read(cwd, { path: "f" }));
    expect(text).toContain("[Line 1 of more than 1 in f is cut after 50.0 KB:");
    expect(process.memoryUsage().rss - before).toBeLessThan(60 * 1024 ** 2);
  });

  it("ends as soon as the call is aborted", async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, "f"), "x".repeat(100_000));
    await truncate(join(cwd, "f"), 1024 ** 4);
    const abort = new AbortController();
    const result = createReadTool(defaults).execute(
      { path: "f", offset: 5 },
      toolContext({ cwd, signal: abort.signal }),
    );
    setTimeout(() => abort.abort(), 20);
    expect(textOf(await result)).toBe("read was aborted.");
  });
});

describe("read of what is no text", () => {
  it.each([
    ["a directory", "mkdir d", "d", "d is a directory, not a file. Use ls to list it."],
    ["a FIFO", "mkfifo p", "p", "p is a FIFO, not a file."],
    ["a device", "true", "/dev/zero", "/dev/zero is a device, not a file."],
    ["a link to a device", "ln -s /dev/tty t", "t", "t is a device, not a file."],
    ["a link in a circle", "ln -s l l", "l", "Cannot read l: its symbolic links lead in a circle."],
    ["a link to nothing", "ln -s no l", "l", "l is a symbolic link to no, where nothing is."],
    ["a path through a file", "touch f", "f/x", "f/x does not exist: $CWD/f is not a folder."],
    [
      "a binary file",
      "printf 'ab\\0c' > b",
      "b",
      "b is a binary file (unknown type, 4 bytes) and cannot be read as text. Use bash with a program that knows the format.",
    ],
    [
      "an archive",
      "echo x | gzip -nc > a.txt",
      "a.txt",
      "a.txt is a binary file (gzip archive, 22 bytes) and cannot be read as text. Use bash with a program that knows the format.",
    ],
  ])("names %s", async (_, command, path, text) => {
    const cwd = await temporaryFolder();
    execFileSync("sh", ["-c", command], { cwd });
    const result = await read(cwd, { path });
    expect([result.isError, textOf(result)]).toEqual([true, text.replace("$CWD", cwd)]);
  });

  it("names a socket", async () => {
    const cwd = await temporaryFolder();
    const server = createServer().listen(join(cwd, "s"));
    onTestFinished(() => void server.close());
    await vi.waitFor(() => expect(server.listening).toBe(true));
    expect(textOf(await read(cwd, { path: "s" }))).toBe("s is a socket, not a file.");
  });
});

describe("read of a path that is not there", () => {
  it.each([
    ["a misspelt name", ["settings.json", "other"], "setings.json", "settings.json"],
    ["another case", ["README.md"], "readme.md", "README.md"],
    ["another extension", ["main.ts"], "main.js", "main.ts"],
    ["a misspelt folder", ["source/x"], "sourc/x", "source"],
  ])("suggests the name that is near: %s", async (_, files, asked, suggested) => {
    const cwd = await temporaryFolder();
    for (const file of files) {
      await mkdir(join(cwd, file, ".."), { recursive: true });
      await writeFile(join(cwd, file), "");
    }
    const result = await read(cwd, { path: asked });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain(`Did you mean ${join(cwd, suggested)}?`);
  });

  it("suggests nothing where nothing is near", async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, "unrelated"), "");
    expect(textOf(await read(cwd, { path: "x.ts" }))).toBe("x.ts does not exist.");
  });
});

describe("read of a path spelt otherwise", () => {
  it.each([
    ["exactly a no-break space", ["a\u00A0b", "a b"], "a\u00A0b", "a\u00A0b"],
    ["exactly a space", ["a\u00A0b", "a b"], "a b", "a b"],
    ["exactly a leading @", ["@x", "x"], "@x", "@x"],
    ["exactly a tilde", ["~"], "./~", "~"],
    ["exactly a decomposed accent", ["e\u0301", "\u00E9"], "e\u0301", "e\u0301"],
    ["exactly a name that ends in a space", ["x ", "x"], "x ", "x "],
  ])("takes %s", async (_, files, asked, used) => {
    const cwd = await temporaryFolder();
    for (const file of files) await writeFile(join(cwd, file), `I am ${file}`);
    expect(textOf(await read(cwd, { path: asked }))).toBe(`I am ${used}`);
  });

  it.each([
    ["a special space", "Shot 9\u202FAM", "Shot 9 AM"],
    ["a leading @", "x", "@x"],
    ["a curly quote", "it’s", "it's"],
    ["a composed accent", "e\u0301", "\u00E9"],
    ["a special space in a folder's name", "a\u00A0b/x", "a b/x"],
  ])("finds the one file that differs by %s, and says so", async (_, file, asked) => {
    const cwd = await temporaryFolder();
    await mkdir(join(cwd, file, ".."), { recursive: true });
    await writeFile(join(cwd, file), "content");
    expect(textOf(await read(cwd, { path: asked }))).toBe(
      `content\n[${asked} does not exist; this is ${join(cwd, file)}.]`,
    );
  });

  it("does not choose between several", async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, "a\u00A0b"), "1");
    await writeFile(join(cwd, "a\u202Fb"), "2");
    const result = await read(cwd, { path: "a b" });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain("a b does not exist, and several paths look like it:");
  });

  it("looks for ~ at home", async () => {
    const cwd = await temporaryFolder();
    vi.stubEnv("HOME", cwd);
    onTestFinished(() => void vi.unstubAllEnvs());
    await writeFile(join(cwd, "x"), "at home");
    await mkdir(join(cwd, "d"));
    expect(textOf(await read(join(cwd, "d"), { path: "~/x" }))).toBe("at home");
  });

  it("follows links", async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, "x"), "content");
    await symlink("x", join(cwd, "l"));
    expect(textOf(await read(cwd, { path: "l" }))).toBe("content");
  });
});

describe("read of an image", () => {
  const picture = (width: number, height: number) =>
    sharp({ create: { width, height, channels: 3, background: "#c04020" } });

  it.each(["png", "jpeg", "gif", "webp"] as const)("shows a %s whatever its name is", async (format) => {
    const bytes = await picture(30, 20).toFormat(format).toBuffer();
    const result = await readContent(bytes, {}, "picture.txt");
    expect(result).toEqual({
      content: [
        { type: "text", text: `[picture.txt (image/${format}, 30x20, ${bytes.length} bytes)]` },
        { type: "image", data: bytes.toString("base64"), mimeType: `image/${format}` },
      ],
      details: { mimeType: `image/${format}`, width: 30, height: 20 },
      isError: false,
    });
  });

  it("makes a large image smaller", async () => {
    const result = await readContent(await picture(4000, 1000).png().toBuffer());
    expect(result.details).toEqual({ mimeType: "image/png", width: 2000, height: 500 });
    const image = result.content[1];
    const bytes = Buffer.from(image?.type === "image" ? image.data : "", "base64");
    expect(await sharp(bytes).metadata()).toMatchObject({ format: "png", width: 2000, height: 500 });
    expect(textOf(result)).toContain("f (image/png, 4000x1000");
  });

  it("makes an image of many bytes smaller, as JPEG where PNG does not do", async () => {
    const noise = sharp({
      create: {
        width: 1800,
        height: 1800,
        channels: 3,
        background: "#000",
        noise: { type: "gaussian", mean: 128, sigma: 60 },
      },
    });
    const result = await readContent(await noise.png().toBuffer());
    expect(result.details).toMatchObject({ mimeType: "image/jpeg" });
    const image = result.content[1];
    expect(image?.type === "image" ? image.data.length : Infinity).toBeLessThan(4.5 * 1024 ** 2);
  });

  it("leaves a large image alone when resizing is off, up to what providers take", async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, "a"), await picture(4000, 100).png().toBuffer());
    await writeFile(join(cwd, "b"), await picture(9000, 100).png().toBuffer());
    const off = { autoResize: false, block: false };
    expect((await read(cwd, { path: "a" }, off)).details).toMatchObject({ width: 4000 });
    const refused = await read(cwd, { path: "b" }, off);
    expect(refused.isError).toBe(true);
    expect(textOf(refused)).toContain("b is too large for providers (image/png, 9000x100,");
  });

  it("does not show it when images are blocked", async () => {
    const cwd = await temporaryFolder();
    await writeFile(join(cwd, "a"), await picture(9, 9).png().toBuffer());
    const result = await read(cwd, { path: "a" }, { autoResize: true, block: true });
    expect(textOf(result)).toMatch(/^\[a is an image \(image\/png, \d+ bytes\)\. It is not shown: /);
  });

  it("refuses a damaged one", async () => {
    const bytes = await picture(300, 300).png().toBuffer();
    const result = await readContent(bytes.subarray(0, 60));
    expect([result.isError, textOf(result)]).toEqual([true, "f is a damaged image (image/png, 60 bytes)."]);
  });

  it.each(["png", "jpeg", "gif", "webp"] as const)("refuses half of a %s", async (format) => {
    const bytes = await picture(300, 300).toFormat(format).toBuffer();
    const result = await readContent(bytes.subarray(0, bytes.length / 2));
    expect([result.isError, textOf(result)]).toEqual([
      true,
      `f is a damaged image (image/${format}, ${Math.floor(bytes.length / 2)} bytes).`,
    ]);
  });

  it("shows a GIF without its trailer, and one with something behind it", async () => {
    const bytes = await picture(30, 30).gif().toBuffer();
    for (const odd of [bytes.subarray(0, -1), Buffer.concat([bytes, Buffer.from("\0\0more")])]) {
      expect((await readContent(odd)).details).toEqual({ mimeType: "image/gif", width: 30, height: 30 });
    }
  });
});

describe("read of a notebook", () => {
  it("shows cells and outputs as text", async () => {
    const notebook = {
      nbformat: 4,
      cells: [
        { cell_type: "markdown", source: ["# Title\n", "text"] },
        {
          cell_type: "code",
          execution_count: 2,
          source: "1 + 1",
          outputs: [
            { output_type: "stream", name: "stdout", text: ["hi\n"] },
            { output_type: "execute_result", data: { "text/plain": ["2"], "image/png": "AAAA" } },
            { output_type: "error", ename: "E", evalue: "v", traceback: ["\u001B[31mE\u001B[0m: v"] },
          ],
        },
      ],
    };
    expect(textOf(await readContent(JSON.stringify(notebook), {}, "n.ipynb"))).toBe(
      [
        "--- cell 1 (markdown) ---\n# Title\ntext\n",
        "--- cell 2 (code, run as [2]) ---\n1 + 1",
        "--- output of cell 2 ---\nhi",
        "--- output of cell 2 ---\n2\n[image/png, 4 bytes]",
        "--- output of cell 2 ---\nE: v\n",
      ].join("\n"),
    );
  });

  it("shows a file that is no notebook as it is", async () => {
    expect(textOf(await readContent('{"cells": 1}', {}, "n.ipynb"))).toBe('{"cells": 1}');
    expect(textOf(await readContent("{broken", {}, "n.ipynb"))).toBe("{broken");
  });
});
