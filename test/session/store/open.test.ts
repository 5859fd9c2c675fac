import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { StartupError } from "../../../src/contract/errors.ts";
import { forkSession } from "../../../src/session/store/fork.ts";
import { openSession } from "../../../src/session/store/open.ts";
import { createSession, type SessionStore } from "../../../src/session/store/store.ts";
import { assistant, call, message, result, text, useFolders, user } from "../samples.ts";

const makeFolder = useFolders();
const id = "11111111-2222-4333-8444-555555555555";
const header = {
  type: "session",
  version: 3,
  id,
  timestamp: "2024-01-01T00:00:00.000Z",
  cwd: "/work",
};

function entry(entryId: string, parentId: string | null, words: string): object {
  return {
    type: "message",
    id: entryId,
    parentId,
    timestamp: "2024-01-01T00:00:00.000Z",
    message: user(words),
  };
}

function write(lines: readonly (object | string)[], folder = makeFolder()): string {
  const path = join(folder, `${id}.jsonl`);
  const texts = lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line)));
  writeFileSync(path, `${texts.join("\n")}\n`);
  return path;
}

type Opened = { store: SessionStore; warnings: string[] };

function open(path: string, options: { repair?: boolean; persist?: boolean } = {}): Opened {
  const warnings: string[] = [];
  const warn = (line: string) => warnings.push(line);
  return { store: openSession({ path, pid: process.pid, persist: true, warn, ...options }), warnings };
}

/** What the user said on the branch. */
function said(store: SessionStore): unknown[] {
  return store
    .branch()
    .flatMap((each) =>
      each.type === "message" && each.message.role === "user" ? [each.message.content] : [],
    );
}

function messages(store: SessionStore): unknown[] {
  return store.branch().flatMap((each) => (each.type === "message" ? [each.message] : []));
}

function refusal(path: string, options: { repair?: boolean } = {}): string {
  try {
    open(path, options).store.close();
  } catch (error) {
    if (error instanceof StartupError) return error.message;
    throw error;
  }
  return "";
}

describe("a session that is opened", () => {
  test("has what was written, and goes on behind it", () => {
    const first = createSession({ folder: makeFolder(), cwd: "/work", pid: process.pid, persist: true });
    first.append(message(user("list")));
    first.append(message(assistant([text("so"), call("c")], { stopReason: "toolUse" })));
    first.append(message(result("c")));
    first.close();
    const { store, warnings } = open(first.path ?? "");
    expect(store.header).toEqual(first.header);
    expect(store.branch()).toEqual(first.branch());
    expect(store.leafId()).toBe(first.leafId());
    const next = store.append(message(user("more")));
    store.close();
    expect(next.parentId).toBe(first.leafId());
    expect(warnings).toEqual([]);
    const again = open(first.path ?? "").store;
    expect(again.branch()).toEqual([...first.branch(), next]);
    again.close();
  });

  test("follows parents, not the order of lines", () => {
    const path = write([
      header,
      entry("a", null, "a"),
      entry("b", "a", "b"),
      entry("c", "b", "c"),
      entry("d", "a", "d"),
    ]);
    const { store } = open(path);
    expect(said(store)).toEqual(["a", "d"]);
    store.moveTo("c");
    expect(said(store)).toEqual(["a", "b", "c"]);
    expect(() => store.moveTo("x")).toThrow(StartupError);
    store.close();
  });

  test("needs only what the latest compaction kept", () => {
    const compaction = {
      type: "compaction",
      id: "k",
      parentId: "c",
      timestamp: "",
      summary: "s",
      firstKeptEntryId: "b",
      tokensBefore: 1,
    };
    const path = write([
      header,
      { type: "thinking_level_change", id: "t", parentId: null, timestamp: "", thinkingLevel: "low" },
      entry("a", "t", "a"),
      entry("b", "a", "b"),
      entry("c", "b", "c"),
      compaction,
      entry("d", "k", "d"),
    ]);
    const { store } = open(path);
    expect(store.branch().map((each) => each.id)).toEqual(["b", "c", "k", "d"]);
    expect(store.settings()).toEqual({ thinkingLevel: "low" });
    store.moveTo("c");
    expect(store.branch().map((each) => each.id)).toEqual(["t", "a", "b", "c"]);
    store.close();
  });

  test("keeps entries of types that only newer programs know, and passes over them", () => {
    const novelty = { type: "hologram", id: "n", parentId: "a", timestamp: "", data: 1 };
    const path = write([header, entry("a", null, "a"), novelty]);
    const { store, warnings } = open(path);
    expect(store.branch().map((each) => each.id)).toEqual(["a"]);
    expect(store.append(message(user("b"))).parentId).toBe("n");
    store.close();
    expect(warnings).toEqual([]);
    expect(readFileSync(path, "utf8")).toContain("hologram");
    const again = open(path).store;
    expect(said(again)).toEqual(["a", "b"]);
    again.close();
  });

  test("takes the entry before it for a parent that is not there", () => {
    const path = write([
      header,
      entry("a", null, "a"),
      entry("b", "lost", "b"),
      entry("c", "b", "c"),
      entry("d", "gone", "d"),
    ]);
    const { store, warnings } = open(path);
    expect(said(store)).toEqual(["a", "b", "c", "d"]);
    expect(warnings).toEqual([expect.stringContaining("2 entries name a parent that is not there")]);
    store.close();
  });

  test("may be written by others: other spaces, key orders and line ends", () => {
    const path = write([
      JSON.stringify(header),
      '{ "id": "a", "parentId": null, "message": {"role":"user","content":"a"}, "type": "message" }',
      "",
      '{"timestamp": "x", "type": "message", "parentId": "a", "id": "b", "message": {"role":"user","content":"b"}}\r',
    ]);
    const { store, warnings } = open(path);
    expect(said(store)).toEqual(["a", "b"]);
    expect(warnings).toEqual([]);
    store.close();
  });

  test("is made private when it was copied with other modes", () => {
    const path = write([header]);
    chmodSync(path, 0o644);
    open(path).store.close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("changes nothing on disk when it is not to be kept", () => {
    const path = write([header, entry("a", null, "a"), '{"type":"mess']);
    const before = readFileSync(path, "utf8");
    const { store } = open(path, { persist: false });
    store.append(message(user("b")));
    expect(said(store)).toEqual(["a", "b"]);
    store.close();
    expect(readFileSync(path, "utf8")).toBe(before);
  });
});

test("an answer that does not say whose it is leaves the model as it was set", () => {
  const answer = { role: "assistant", content: "b" };
  const choice = { type: "model_change", id: "b", parentId: "a", provider: "p", modelId: "m" };
  const unsaid = open(write([header, entry("a", null, "a"), { ...entry("c", "a", ""), message: answer }]));
  expect(unsaid.store.settings().model).toBeUndefined();
  unsaid.store.close();
  const said = open(
    write([header, entry("a", null, "a"), choice, { ...entry("c", "b", ""), message: answer }]),
  );
  expect(said.store.settings().model).toEqual({ provider: "p", modelId: "m" });
  said.store.close();
});

describe("older versions", () => {
  test("version 1 is linear and its compactions count lines", () => {
    const { version: _, ...headerOf1 } = header;
    const line = (words: string) => ({ type: "message", timestamp: "", message: user(words) });
    const compaction = {
      type: "compaction",
      timestamp: "",
      summary: "s",
      firstKeptEntryIndex: 2,
      tokensBefore: 9,
    };
    const path = write([headerOf1, line("a"), line("b"), line("c"), compaction, line("d")]);
    const { store } = open(path);
    expect(store.header).toEqual(header);
    expect(said(store)).toEqual(["b", "c", "d"]);
    const [kept] = store.branch();
    expect(store.branch()[2]).toMatchObject({ type: "compaction", firstKeptEntryId: kept?.id });
    store.append(message(user("e")));
    store.close();
    const again = open(path);
    expect(said(again.store)).toEqual(["b", "c", "d", "e"]);
    expect(again.warnings).toEqual([]);
    again.store.close();
  });

  test("version 2 says hookMessage for custom", () => {
    const hook = { role: "hookMessage", customType: "x", content: "note", display: true, timestamp: 5 };
    const path = write([
      { ...header, version: 2 },
      { ...entry("a", null, ""), message: hook },
    ]);
    const { store } = open(path);
    expect(messages(store)).toEqual([{ ...hook, role: "custom" }]);
    store.close();
  });
});

describe("a torn tail", () => {
  test("is moved away, said, and never appended to", () => {
    const path = write([header, entry("a", null, "a")]);
    const whole = readFileSync(path, "utf8");
    writeFileSync(path, `${whole}{"type":"message","id":"b","par`);
    const { store, warnings } = open(path);
    store.append(message(user("c")));
    store.close();
    expect(warnings).toEqual([expect.stringMatching(/the last 31 bytes of .* were no whole entry/)]);
    expect(readFileSync(`${path}.torn`, "utf8")).toBe('{"type":"message","id":"b","par');
    expect(statSync(`${path}.torn`).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, "utf8").startsWith(`${whole}{"type":"message"`)).toBe(true);
    expect(said(open(path).store)).toEqual(["a", "c"]);
  });

  test("keeps company with the one before it", () => {
    const path = write([header]);
    for (const tail of ["one", "two"]) {
      writeFileSync(path, `${readFileSync(path, "utf8")}${tail}`);
      open(path).store.close();
    }
    expect(readFileSync(`${path}.torn`, "utf8")).toBe("one\ntwo");
  });

  const tails: [string, Buffer][] = [
    ["zeros of a crashed machine", Buffer.alloc(5000)],
    ["a line that is no JSON", Buffer.from("{nonsense}\n")],
    ["several lines", Buffer.from("x\ny\n\0\0")],
    ["blanks", Buffer.from("  ")],
    ["half a character", Buffer.from('{"type":"message","x":"é').subarray(0, -1)],
  ];
  test.each(tails)("may be %s", (_, tail) => {
    const path = write([header, entry("a", null, "a")]);
    const whole = readFileSync(path);
    writeFileSync(path, Buffer.concat([whole, tail]));
    open(path).store.close();
    expect(readFileSync(path)).toEqual(whole);
    expect(readFileSync(`${path}.torn`)).toEqual(tail);
  });

  test("wherever a file is cut, every whole entry is there and the session goes on", () => {
    const folder = makeFolder();
    const path = write([header, entry("a", null, "ä"), entry("b", "a", "😀"), entry("c", "b", "c")], folder);
    const whole = readFileSync(path);
    const headerBytes = JSON.stringify(header).length;
    const ends = [...whole.entries()].flatMap(([at, byte]) => (byte === 10 ? [at] : [])).slice(1);
    fc.assert(
      fc.property(fc.integer({ min: headerBytes, max: whole.length }), (length) => {
        writeFileSync(path, whole);
        truncateSync(path, length);
        const { store } = open(path);
        store.append(message(user("next")));
        store.close();
        const { store: again, warnings } = open(path);
        const wholeEntries = ends.filter((end) => end <= length).length;
        expect(said(again)).toEqual([...["ä", "😀", "c"].slice(0, wholeEntries), "next"]);
        expect(warnings).toEqual([]);
        again.close();
      }),
      { numRuns: 300 },
    );
  });
});

describe("damage in the middle", () => {
  const lines = [header, entry("a", null, "a"), "garbage", entry("b", "a", "b"), "{}", entry("c", "b", "c")];

  test("is refused with the number of its first line, and nothing is changed", () => {
    const path = write(lines);
    const before = readFileSync(path, "utf8");
    expect(refusal(path)).toMatch(/ is damaged: line 3 is no session entry; --repair moves such lines to /);
    expect(readFileSync(path, "utf8")).toBe(before);
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  test("is moved away with --repair", () => {
    const path = write(lines);
    const { store, warnings } = open(path, { repair: true });
    expect(said(store)).toEqual(["a", "b", "c"]);
    store.append(message(user("d")));
    store.close();
    expect(warnings).toEqual([expect.stringContaining("2 damaged lines")]);
    expect(readFileSync(`${path}.torn`, "utf8")).toBe("garbage\n{}\n");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(said(open(path).store)).toEqual(["a", "b", "c", "d"]);
  });

  test("in a large file is found where it is needed", () => {
    const long = "x".repeat(5 << 20);
    const path = write([
      header,
      entry("a", null, long),
      entry("b", "a", "b").toString(),
      entry("c", "b", "c"),
    ]);
    expect(refusal(path)).toMatch(/line 3 /);
    const inside = JSON.stringify(entry("b", "a", "b"))
      .replace('"b"}', "b}")
      .replace(/"content":"b"/, '"content":b');
    const subtle = write([header, entry("a", null, long), inside, entry("c", "b", "c")]);
    expect(refusal(subtle)).toMatch(/line 3 /);
    expect(refusal(subtle, { repair: true })).toBe("");
  });
});

describe("what is no session", () => {
  const contents: [string, string, RegExp][] = [
    ["an empty file", "", /it is empty/],
    ["a cut header", '{"type":"session","ver', /does not begin with a session header/],
    ["another text", "hello\n", /does not begin with a session header/],
    ["another JSON", "[]\n", /does not begin with a session header/],
    ["a newer version", `${JSON.stringify({ ...header, version: 4 })}\n`, /version 4.*needs a newer program/],
    ["an odd version", `${JSON.stringify({ ...header, version: "x" })}\n`, /no version number/],
    ["a header without id", '{"type":"session","version":3,"cwd":"/"}\n', /no id/],
  ];
  test.each(contents)("%s is refused as it is", (_, content, why) => {
    const path = join(makeFolder(), "x.jsonl");
    writeFileSync(path, content);
    expect(refusal(path)).toMatch(why);
    expect(readFileSync(path, "utf8")).toBe(content);
  });

  test("a folder, a device, a named pipe and nothing at all are refused", () => {
    const folder = makeFolder();
    mkdirSync(join(folder, "d.jsonl"));
    execFileSync("mkfifo", [join(folder, "p.jsonl")]);
    for (const path of [join(folder, "d.jsonl"), join(folder, "p.jsonl"), "/dev/zero"]) {
      expect(refusal(path)).toMatch(/not a regular file/);
    }
    expect(refusal(join(folder, "none.jsonl"))).toMatch(/^there is no session file /);
  });
});

describe("two writers", () => {
  test("the second is refused with a pointer to --fork, by whatever name it comes", () => {
    const path = write([header, entry("a", null, "a")]);
    const link = join(makeFolder(), "link.jsonl");
    symlinkSync(path, link);
    const { store } = open(path);
    for (const name of [path, link]) {
      expect(refusal(name)).toMatch(new RegExp(`in use by process ${process.pid}: .*--fork`));
    }
    store.close();
    expect(refusal(link)).toBe("");
  });
});

describe("a fork", () => {
  function fork(source: string, persist = true): SessionStore {
    const folder = makeFolder();
    return forkSession({ source, folder, cwd: "/other", pid: process.pid, persist, warn: () => {} });
  }

  test("has a copy of the branch, byte for byte, and names its origin", () => {
    const path = write([
      header,
      entry("a", null, "a"),
      entry("b", "a", "b"),
      '{ "type":"novel","id":"c","parentId":"a" }',
      entry("d", "c", "d"),
    ]);
    const source = open(path).store;
    const store = fork(path);
    source.close();
    expect(store.header).toMatchObject({ parentSession: id, cwd: "/other" });
    expect(said(store)).toEqual(["a", "d"]);
    store.close();
    const copied = readFileSync(store.path ?? "", "utf8")
      .split("\n")
      .slice(1);
    const [, a, , c, d] = readFileSync(path, "utf8").split("\n");
    expect(copied).toEqual([a, c, d, ""]);
  });

  test("of version 1 says what stood before what", () => {
    const line = (words: string) => ({ type: "message", timestamp: "", message: user(words) });
    const compaction = {
      type: "compaction",
      timestamp: "",
      summary: "s",
      firstKeptEntryIndex: 2,
      tokensBefore: 9,
    };
    const path = write([{ ...header, version: 1 }, line("a"), line("b"), compaction, line("c")]);
    const store = fork(path);
    store.append(message(user("d")));
    store.close();
    const { store: again, warnings } = open(store.path ?? "");
    expect(said(again)).toEqual(["b", "c", "d"]);
    expect(warnings).toEqual([]);
    again.close();
  });

  test("can be kept in memory only", () => {
    const store = fork(write([header, entry("a", null, "a")]), false);
    expect(store.path).toBeUndefined();
    expect(said(store)).toEqual(["a"]);
  });

  test("of what cannot be put anywhere leaves nothing", () => {
    const path = write([header, entry("a", null, "a")]);
    const options = { source: path, folder: "/proc/none", cwd: "/", pid: process.pid, persist: true };
    expect(() => forkSession({ ...options, warn: () => {} })).toThrow(
      /cannot keep a session in \/proc\/none/,
    );
  });
});
