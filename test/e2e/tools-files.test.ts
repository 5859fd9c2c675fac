import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ScriptedCall } from "../support/chat-wire.ts";
import { parseStream } from "../support/run-cli.ts";
import { runScript } from "../support/run-script.ts";
import {
  callsOf,
  createToolBench,
  halfCharacters,
  resultsIn,
  type ToolBench,
  textOf,
} from "../support/tool-bench.ts";

const edit = (path: string, oldText: string, newText: string): ScriptedCall => ({
  name: "edit",
  args: { path, edits: [{ oldText, newText }] },
});

/** Runs lines of shell in the working folder, with the home folder of the run. */
function prepare({ workspace: { cwd, home } }: ToolBench, lines: string): string {
  return execFileSync("bash", ["-c", lines], {
    cwd,
    env: { PATH: process.env.PATH, HOME: home, LANG: "C.UTF-8" },
    encoding: "utf8",
  });
}

function hex({ workspace }: ToolBench, path: string): string {
  return readFileSync(join(workspace.cwd, path)).toString("latin1");
}

describe("the calls of one message", () => {
  test("are answered in their order, and those that only read run at the same time", async () => {
    const reads = Array.from({ length: 30 }, (_, index) => ({ name: "ls", args: { limit: index + 1 } }));
    const slow = { name: "find", args: { pattern: "*" } };
    const bench = await createToolBench([[slow, ...reads]]);
    bench.workspace.file("f", "");
    const { results, lines, stderr, status } = await bench.runTools();
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const kinds = lines.map(({ type }) => type).filter((type) => /^tool_execution_(start|end)$/.test(type));
    expect(kinds.lastIndexOf("tool_execution_start")).toBeLessThan(kinds.indexOf("tool_execution_end"));
    const calls = lines.find(({ message }) => message?.stopReason === "toolUse")?.message.content;
    expect(results.map(({ toolCallId }) => toolCallId)).toEqual(calls.map(({ id }: { id: string }) => id));
    const roles = bench.server.json(1).messages.map(({ role }: { role: string }) => role);
    expect(roles.filter((role: string) => role === "tool")).toHaveLength(31);
  });

  test("change one file one after the other, by whatever path", async () => {
    const bench = await createToolBench([
      [
        edit("f", "50\n", "FIFTY\n"),
        edit("link", "75\n", "SEVENTY\n"),
        edit("./sub/../f", "99\n", "NINETY\n"),
        edit("hard", "10\n", "TEN\n"),
      ],
    ]);
    prepare(bench, "seq 10 99 > f; ln -s f link; ln f hard; mkdir sub");
    const { results } = await bench.runTools();
    expect(results.map(({ isError }) => isError)).toEqual([false, false, false, false]);
    const expected = Array.from({ length: 90 }, (_, index) => `${index + 10}`);
    for (const [line, text] of [
      [50, "FIFTY"],
      [75, "SEVENTY"],
      [99, "NINETY"],
      [10, "TEN"],
    ] as const)
      expected[line - 10] = text;
    expect(hex(bench, "f")).toBe(`${expected.join("\n")}\n`);
    expect(hex(bench, "hard")).toBe(hex(bench, "f"));
  });

  test("write and edit one file in their order", async () => {
    const write = (path: string, content: string) => ({ name: "write", args: { path, content } });
    const bench = await createToolBench([
      [write("a/f", "one\n"), edit("a/f", "one", "two"), write("b", "x"), edit("./a/f", "two", "three")],
    ]);
    expect((await bench.runTools()).results.map(({ isError }) => isError)).toEqual([
      false,
      false,
      false,
      false,
    ]);
    expect(hex(bench, "a/f")).toBe("three\n");
  });
});

describe("edit", () => {
  const cases: [string, make: string, ScriptedCall, after: string][] = [
    [
      "leaves all bytes beside a text that it found by a tolerant match",
      "printf 'keep “q” — x   \\nname = “A”\\nend   \\n'",
      edit("f", 'name = "A"', 'name = "B"'),
      Buffer.from('keep “q” — x   \nname = "B"\nend   \n').toString("latin1"),
    ],
    [
      "keeps the bytes of Latin-1",
      "printf 'const x = 1;\\n// caf\\xe9\\n'",
      edit("f", "x = 1", "x = 2"),
      "const x = 2;\n// caf\xe9\n",
    ],
    [
      "keeps the bytes of GBK",
      "printf 'x = 1 \\xc4\\xe3\\xba\\xc3\\n'",
      edit("f", "x = 1", "x = 2"),
      "x = 2 \xc4\xe3\xba\xc3\n",
    ],
    [
      "keeps a stray byte in UTF-8",
      "printf 'é x = 1 \\xff\\n'",
      edit("f", "x = 1", "x = 2"),
      "\xc3\xa9 x = 2 \xff\n",
    ],
    [
      "writes UTF-16 as UTF-16",
      "printf '\\xff\\xfex\\0=\\0001\\0\\n\\0'",
      edit("f", "x=1", "x=é"),
      "\xff\xfex\0=\0\xe9\0\n\0",
    ],
    [
      "keeps CRLF",
      "printf 'a\\r\\nb\\r\\nc\\r\\n'",
      edit("f", "a\nb\n", "a\nB\nB2\n"),
      "a\r\nB\r\nB2\r\nc\r\n",
    ],
    ["keeps a byte order mark", "printf '\\xef\\xbb\\xbfa\\n'", edit("f", "a", "b"), "\xef\xbb\xbfb\n"],
    ["adds no end of line", "printf 'a\\nb'", edit("f", "b", "c"), "a\nc"],
    [
      "takes one edit without a list",
      "printf 'a\\n'",
      { name: "edit", args: { path: "f", oldText: "a", newText: "b" } },
      "b\n",
    ],
    [
      "takes the list as JSON text",
      "printf 'a\\n'",
      { name: "edit", args: { path: "f", edits: '[{"oldText":"a","newText":"b"}]' } },
      "b\n",
    ],
    [
      "makes several edits against the text as it was",
      "printf 'a b c\\n'",
      {
        name: "edit",
        args: {
          path: "f",
          edits: [
            { oldText: "c", newText: "a" },
            { oldText: "a", newText: "c" },
          ],
        },
      },
      "c b a\n",
    ],
  ];
  test.each(cases)("%s", async (_, make, call, after) => {
    const bench = await createToolBench([[call]]);
    prepare(bench, `${make} > f; chmod 755 f`);
    const { results } = await bench.runTools();
    expect(results.map(textOf)).toEqual([expect.stringMatching(/^Edited f in /)]);
    expect(results[0]?.details).toMatchObject({
      diff: expect.stringMatching(/^--- f\n\+\+\+ f\n@@ /),
      firstChangedLine: expect.any(Number),
    });
    expect(hex(bench, "f")).toBe(after);
    expect(prepare(bench, "stat -c %a f")).toBe("755\n");
  });

  const refused: [string, make: string, args: object, text: RegExp][] = [
    ["a NUL in the file", "printf 'a\\0b'", { oldText: "a", newText: "c" }, /binary file/],
    [
      "a text that occurs twice",
      "printf 'a\\na\\n'",
      { oldText: "a", newText: "b" },
      /found 2 times \(lines 1, 2\)/,
    ],
    [
      "a text that is not there",
      "printf 'alpha beta\\n'",
      { oldText: "alpha betta", newText: "b" },
      /comes closest at line 1/,
    ],
    ["an empty text", "printf 'a\\n'", { oldText: "", newText: "b" }, /oldText is empty/],
    ["no change", "printf 'a\\n'", { oldText: "a", newText: "a" }, /the same/],
    [
      "a character that the encoding lacks",
      "printf 'a\\xe9\\n'",
      { oldText: "a", newText: "日" },
      /has no character "日"/,
    ],
    [
      "one bad edit of two, and makes none",
      "printf 'a\\nb\\n'",
      {
        edits: [
          { oldText: "a", newText: "x" },
          { oldText: "zzz", newText: "y" },
        ],
      },
      /edits\[1\]\.oldText was not found/,
    ],
    [
      "edits that overlap",
      "printf 'abc\\n'",
      {
        edits: [
          { oldText: "ab", newText: "x" },
          { oldText: "bc", newText: "y" },
        ],
      },
      /overlap/,
    ],
  ];
  test.each(refused)("refuses %s", async (_, make, args, text) => {
    const bench = await createToolBench([callsOf("edit", { path: "f", ...args })]);
    prepare(bench, `${make} > f`);
    const before = hex(bench, "f");
    const { results, status } = await bench.runTools();
    expect(results.map(textOf)).toEqual([expect.stringMatching(text)]);
    expect([results[0]?.isError, hex(bench, "f"), status]).toEqual([true, before, 0]);
  });
});

describe("write", () => {
  test("keeps modes, links and what a path means", async () => {
    const bench = await createToolBench([
      callsOf(
        "write",
        { path: "s.sh", content: "new\n" },
        { path: "link", content: "linked\n" },
        { path: "dangling", content: "made\n" },
        { path: "hard1", content: "both\n" },
        { path: "a/b/c", content: "deep\n" },
        { path: "~/x", content: "home\n" },
        { path: "@y", content: "at\n" },
        { path: "a b", content: "plain\n" },
      ),
    ]);
    prepare(
      bench,
      "echo > s.sh; chmod 755 s.sh; echo > target; ln -s target link; ln -s gone dangling; echo > hard1; ln hard1 hard2; echo nbsp > $'a\\u00a0b'; mkdir ./~",
    );
    const { results } = await bench.runTools();
    expect(results.map(({ isError }) => isError)).toEqual(results.map(() => false));
    expect(
      prepare(
        bench,
        "stat -c %a s.sh; readlink link dangling; cat s.sh target gone hard2 a/b/c ~/x @y 'a b' $'a\\u00a0b'; ls ./~",
      ),
    ).toBe("755\ntarget\ngone\nnew\nlinked\nmade\nboth\ndeep\nhome\nat\nplain\nnbsp\n");
  });

  test("that fails leaves the old content, and nothing beside it", async () => {
    const content = "x".repeat(1_000_000);
    const bench = await createToolBench([
      [
        ...callsOf("write", { path: "f", content }, { path: "new", content }),
        edit("hard1", "1\n", content),
        edit("f", "50\n", content),
      ],
    ]);
    prepare(bench, "seq 1 100 > f; echo 1 > hard1; ln hard1 hard2");
    // The program keeps its session elsewhere than in a file: that would meet the limit first.
    const { stdout } = await runScript(bench, "ulimit -f 40; bc --no-session --mode json hi </dev/null");
    const texts = resultsIn(parseStream(stdout)).map(textOf);
    expect(texts).toEqual(
      ["f", "new", "hard1", "f"].map(
        (path) => `ERROR: Cannot write ${path}: the file would be larger than allowed.`,
      ),
    );
    expect(prepare(bench, "cmp f <(seq 1 100) && cat hard2; ls -A")).toBe("1\nf\nhard1\nhard2\n");
  });

  test.each([
    ["d", /it is a directory/],
    ["d/", /it names a folder/],
    ["fifo", /it is a FIFO/],
    ["f/x", /not a directory/],
    ["/dev/null", /it is a device/],
    ["loop", /lead in a circle/],
  ])("refuses %s by name", async (path, text) => {
    const bench = await createToolBench([callsOf("write", { path, content: "x" })]);
    prepare(bench, "mkdir d; mkfifo fifo; echo > f; ln -s loop loop");
    const [result] = (await bench.runTools()).results;
    expect([result?.isError, result && textOf(result)]).toEqual([true, expect.stringMatching(text)]);
  });
});

describe("read", () => {
  const cases: [string, make: string, args: object, text: string | RegExp][] = [
    [
      "counts lines from 1",
      "seq 1 5 > f",
      { path: "f", offset: 1, limit: 1 },
      /^1\n\n\[Lines 1-1 of 5 in f\. Go on with offset=2\.\]$/,
    ],
    ["starts at the offset", "seq 1 5 > f", { path: "f", offset: "4" }, "4\n5\n"],
    [
      "says when the offset is past the end",
      "seq 1 5 > f",
      { path: "f", offset: 6 },
      "ERROR: offset 6 is past the end: f has 5 lines.",
    ],
    ["names an empty file", ": > f", { path: "f" }, "[f is empty.]"],
    ["names a folder", "mkdir f", { path: "f" }, "ERROR: f is a directory, not a file. Use ls to list it."],
    ["names a FIFO", "mkfifo f", { path: "f" }, "ERROR: f is a FIFO, not a file."],
    ["names a device", ":", { path: "/dev/zero" }, "ERROR: /dev/zero is a device, not a file."],
    ["names a binary file", "printf 'a\\0b' > f", { path: "f" }, /^ERROR: f is a binary file/],
    [
      "names a link to nothing",
      "ln -s no f",
      { path: "f" },
      "ERROR: f is a symbolic link to no, where nothing is.",
    ],
    [
      "suggests what comes near",
      ": > README.md",
      { path: "READM.md" },
      /^ERROR: READM\.md does not exist\. Did you mean \S+\/README\.md\?$/,
    ],
    [
      "says that bytes are not UTF-8",
      "printf 'caf\\xe9\\n' > f",
      { path: "f" },
      /^café\n\n\[Not UTF-8: decoded as Windows-1252/,
    ],
    ["takes UTF-16", "printf '\\xff\\xfeh\\0\\xe9\\0' > f", { path: "f" }, /^hé\n\n\[Decoded from UTF-16LE/],
    [
      "shows a notebook as text",
      `printf '{"cells":[{"cell_type":"code","source":["a = 1"]}]}' > f.ipynb`,
      { path: "f.ipynb" },
      /--- cell 1 \(code\) ---\na = 1/,
    ],
    [
      "takes the name as it is, special spaces too",
      "echo nbsp > $'a\\u00a0b'; echo space > 'a b'",
      { path: "a\u00a0b" },
      "nbsp\n",
    ],
    [
      "takes the name as it is, plain spaces too",
      "echo nbsp > $'a\\u00a0b'; echo space > 'a b'",
      { path: "a b" },
      "space\n",
    ],
    [
      "takes a tilde in the folder first",
      "mkdir ./~; echo here > ./~/x; echo home > ~/x",
      { path: "~/x" },
      "here\n",
    ],
    ["takes a tilde for the home folder then", "echo home > ~/x", { path: "~/x" }, "home\n"],
    ["takes an @ in a name first", "echo at > @x; echo plain > x", { path: "@x" }, "at\n"],
    [
      "takes the one name that looks the same, and says so",
      "echo nfd > $'e\\u0301'",
      { path: "é" },
      /^nfd\n\[é does not exist; this is .*e\u0301\.\]$/,
    ],
    [
      "takes none of several that look the same",
      "echo > $'a\\u00a0b'; echo > $'a\\u202fb'",
      { path: "a b" },
      /^ERROR: a b does not exist, and several paths look like it/,
    ],
  ];
  test.each(cases)("%s", async (_, make, args, text) => {
    const bench = await createToolBench([callsOf("read", args)]);
    prepare(bench, make);
    const { results } = await bench.runTools();
    expect(results.map(textOf)).toEqual([typeof text === "string" ? text : expect.stringMatching(text)]);
  });

  test("gives an image as an image", async () => {
    const bench = await createToolBench([callsOf("read", { path: "dot" })], {
      model: { input: ["text", "image"] },
    });
    const png =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    bench.workspace.file("dot", Buffer.from(png, "base64"));
    const { results } = await bench.runTools();
    expect(results.flatMap(({ content }) => content)).toEqual([
      { type: "text", text: "[dot (image/png, 1x1, 70 bytes)]" },
      { type: "image", data: png, mimeType: "image/png" },
    ]);
    expect(bench.server.requests[1]?.body).toContain(png);
  });

  test("cuts between characters, so that the next request is whole", async () => {
    const bench = await createToolBench([callsOf("read", { path: "e.txt" })]);
    bench.workspace.file("e.txt", `a${"😀".repeat(60_000)}`);
    const { results } = await bench.runTools();
    const [text = ""] = results.map(textOf);
    expect(text).toMatch(/^a(😀)+\n\n\[Line 1 of 1 in e\.txt is cut after 50\.0 KB/u);
    expect(Buffer.byteLength(text)).toBeLessThan(51 * 1024);
    expect(halfCharacters(bench.server.requests[1]?.body ?? "")).toEqual([]);
    expect(bench.server.requests[1]?.body.isWellFormed()).toBe(true);
  });
});

describe("arguments that do not fit are an error that quotes them", () => {
  const cases: [string, args: object, text: string][] = [
    ["read", {}, "path (a non-empty string) is missing. Arguments received: {}"],
    [
      "read",
      { path: "f", offset: 0 },
      'offset must be an integer of at least 1. Arguments received: {"path":"f","offset":0}',
    ],
    ["read", { path: "f", offset: "x" }, "offset must be an integer of at least 1, not a string."],
    ["bash", { command: ["ls"] }, "command must be a non-empty string, not an array."],
    ["bash", { command: "ls", timeout: -1 }, "timeout must be a number above 0."],
    ["write", { path: "f", content: { a: 1 } }, "content must be a string, not an object."],
    ["edit", { path: "f", edits: "no JSON" }, "edits must be an array of objects, not a string."],
    ["edit", { path: "f", edits: [{ oldText: "a" }] }, "edits[0].newText (a string) is missing."],
    ["grep", { pattern: "" }, "pattern must be a non-empty string."],
    ["ipython", { code: 1 }, "code must be a string, not 1."],
  ];
  test("and the run goes on", async () => {
    const bench = await createToolBench(cases.map(([name, args]) => callsOf(name, args)));
    const { results, status } = await bench.runTools();
    expect(status).toBe(0);
    expect(results.map(textOf)).toEqual(
      cases.map(([name, args, text]) => {
        const start = `ERROR: The call of ${name} was not run, its arguments do not fit: ${text}`;
        return text.includes("received") ? start : `${start} Arguments received: ${JSON.stringify(args)}`;
      }),
    );
  });
});

test("a path or a name of any length leaves a result that is within its limit", async () => {
  const path = "p".repeat(200_000);
  const calls = ["read", "ls", "find", "grep", "write", "edit", path].map((name) => ({
    name,
    args: { path, pattern: "x", content: "x", oldText: "x", newText: "y" },
  }));
  const { results, status } = await (await createToolBench([calls])).runTools();
  expect(status).toBe(0);
  expect(results.map(({ isError }) => isError)).toEqual(calls.map(() => true));
  expect(Math.max(...results.map((result) => textOf(result).length))).toBeLessThan(6000);
});

test("the file that the run's own output goes to is neither written nor edited", async () => {
  const bench = await createToolBench([
    [
      { name: "write", args: { path: "/dev/stdout", content: "x" } },
      { name: "write", args: { path: "run.json", content: "x" } },
      edit("run.json", '{"type":"session"', "x"),
      { name: "write", args: { path: "run.err", content: "x" } },
    ],
  ]);
  const { stdout } = await runScript(bench, "bc --mode json hi > run.json 2> run.err; echo $?; cat run.json");
  const [status = "", ...stream] = stdout.split(/(?<=\n)/);
  expect(status).toBe("0\n");
  expect(resultsIn(parseStream(stream.join(""))).map(textOf)).toEqual([
    "ERROR: Cannot write /dev/stdout: this run's own output goes there.",
    "ERROR: Cannot write run.json: this run's own output goes there.",
    "ERROR: Cannot write run.json: this run's own output goes there.",
    "ERROR: Cannot write run.err: this run's own output goes there.",
  ]);
});
