import { mkdirSync, realpathSync, statSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { StartupError } from "../../../src/contract/errors.ts";
import {
  findSavedSession,
  findSession,
  latestSession,
  listSessions,
} from "../../../src/session/store/session-index.ts";
import { createSession } from "../../../src/session/store/store.ts";
import { message, useFolders, user } from "../samples.ts";

const makeFolder = useFolders();
const ids = {
  first: "aaaa1111-2222-4333-8444-555555555555",
  second: "aaaa2222-2222-4333-8444-555555555555",
  third: "beef0000-2222-4333-8444-555555555555",
};

type Saved = { id: string; cwd?: string; name?: string; lines?: object[]; file?: string };

/** Writes sessions, each a second younger than the one before it. */
function save(sessions: readonly Saved[], folder = makeFolder()): string {
  for (const [index, { id, cwd = "/work", name, lines = [], file = `${id}.jsonl` }] of sessions.entries()) {
    const header = { type: "session", version: 3, id, timestamp: "2024-01-01T00:00:00.000Z", cwd };
    const named =
      name === undefined ? [] : [{ type: "session_info", id: "n", parentId: null, timestamp: "", name }];
    const texts = [header, ...named, ...lines].map((line) => `${JSON.stringify(line)}\n`);
    writeFileSync(join(folder, file), texts.join(""));
    utimesSync(join(folder, file), 1000 + index, 1000 + index);
  }
  return folder;
}

function prompt(content: unknown): object {
  return { type: "message", id: "p", parentId: null, timestamp: "", message: { role: "user", content } };
}

function refusal(find: () => unknown): string {
  try {
    find();
  } catch (error) {
    if (error instanceof StartupError) return error.message;
    throw error;
  }
  return "";
}

describe("the list of sessions", () => {
  test("has the latest used first, with what their ends tell", () => {
    const folder = save([
      { id: ids.first, name: "old", lines: [prompt("hello"), prompt("again")] },
      { id: ids.second, lines: [prompt([{ type: "text", text: "x".repeat(300) }])] },
    ]);
    const common = { cwd: "/work", timestamp: "2024-01-01T00:00:00.000Z" };
    const place = (id: string) => ({ id, path: join(folder, `${id}.jsonl`), ...common });
    const size = (id: string) => statSync(join(folder, `${id}.jsonl`)).size;
    expect(listSessions(folder)).toEqual([
      {
        ...place(ids.second),
        modifiedMs: 1_001_000,
        sizeBytes: size(ids.second),
        firstMessage: "x".repeat(200),
      },
      {
        ...place(ids.first),
        modifiedMs: 1_000_000,
        sizeBytes: size(ids.first),
        name: "old",
        firstMessage: "hello",
      },
    ]);
  });

  test("finds names at both ends of a large file, the last one first, and no words that only look like one", () => {
    const info = (name?: string) => ({ type: "session_info", id: "i", parentId: null, timestamp: "", name });
    const filler = prompt("x".repeat(100_000));
    const decoy = prompt('"session_info" {"type":"session_info","name":"decoy"}');
    const nested = { type: "custom", id: "c", parentId: null, timestamp: "", data: info("nested") };
    const folder = save([
      { id: ids.first, name: "head", lines: [filler, decoy, nested] },
      { id: ids.second, name: "head", lines: [filler, info("tail"), decoy] },
      { id: ids.third, name: "head", lines: [filler, info(undefined)] },
    ]);
    expect(listSessions(folder).map(({ name }) => name)).toEqual([undefined, "tail", "head"]);
  });

  test("leaves out what is no session, and is empty without a folder", () => {
    const folder = save([{ id: ids.first }]);
    writeFileSync(join(folder, "empty.jsonl"), "");
    writeFileSync(join(folder, "other.jsonl"), "hello\n");
    writeFileSync(join(folder, "notes.txt"), "hello\n");
    mkdirSync(join(folder, "folder.jsonl"));
    symlinkSync(join(folder, "gone"), join(folder, "dangling.jsonl"));
    expect(listSessions(folder).map(({ id }) => id)).toEqual([ids.first]);
    expect(listSessions(join(folder, "none"))).toEqual([]);
  });

  test("holds each of 2,000 sessions", () => {
    const folder = makeFolder();
    const lines = [prompt("x".repeat(70_000))];
    save(
      Array.from({ length: 2000 }, (_, n) => ({
        id: `aaaa1111-2222-4333-8444-${String(n).padStart(12, "0")}`,
        lines,
      })),
      folder,
    );
    expect(listSessions(folder)).toHaveLength(2000);
  });
});

describe("the latest session", () => {
  test("is the one that was used last in the directory, by whatever name", () => {
    const cwd = realpathSync(makeFolder());
    const link = join(makeFolder(), "link");
    symlinkSync(cwd, link);
    const folder = save([
      { id: ids.first, cwd: link },
      { id: ids.second, cwd },
      { id: ids.third, cwd: "/else" },
    ]);
    expect(latestSession(folder, cwd)).toBe(join(folder, `${ids.second}.jsonl`));
    expect(latestSession(folder, link)).toBe(join(folder, `${ids.second}.jsonl`));
    expect(latestSession(folder, "/nowhere")).toBeUndefined();
    utimesSync(join(folder, `${ids.first}.jsonl`), 5000, 5000);
    expect(latestSession(folder, cwd)).toBe(join(folder, `${ids.first}.jsonl`));
  });
});

describe("a session is found", () => {
  const folder = () =>
    save([
      { id: ids.first, name: "mine" },
      { id: ids.second },
      { id: ids.third, file: "2024-01-01_other-name.jsonl" },
    ]);

  test("by its id or the unique beginning of one, whatever its file is called", () => {
    const sessions = folder();
    expect(findSession(sessions, ids.first)).toBe(join(sessions, `${ids.first}.jsonl`));
    expect(findSession(sessions, "aaaa2")).toBe(join(sessions, `${ids.second}.jsonl`));
    expect(findSession(sessions, "beef")).toBe(join(sessions, "2024-01-01_other-name.jsonl"));
  });

  test("by a path, where that is meant", () => {
    const sessions = folder();
    const path = join(sessions, `${ids.first}.jsonl`);
    expect(findSession("/nowhere", path)).toBe(realpathSync(path));
    expect(refusal(() => findSession(sessions, "./none.jsonl"))).toBe(
      "there is no session file ./none.jsonl",
    );
    expect(refusal(() => findSavedSession(sessions, path))).toMatch(/is no session id/);
  });

  test("by its name, where that is meant", () => {
    const sessions = folder();
    expect(findSavedSession(sessions, "mine", { byName: true }).id).toBe(ids.first);
    expect(refusal(() => findSavedSession(sessions, "mine"))).toMatch(/is no session id/);
  });

  test("in the file that is named by its id, where there are copies of it", () => {
    const sessions = folder();
    save(
      [
        { id: ids.second, file: "copy.jsonl" },
        { id: ids.second, file: "another.jsonl" },
      ],
      sessions,
    );
    utimesSync(join(sessions, "copy.jsonl"), 9000, 9000);
    expect(findSession(sessions, "aaaa2")).toBe(join(sessions, `${ids.second}.jsonl`));
  });

  const refused: [string, RegExp][] = [
    ["aaaa", /^"aaaa" means more than one session: aaaa2222\S*, aaaa1111\S*; give more of the id$/],
    ["cafe", /^no session in .* has the id "cafe": /],
    ["aaa", /^"aaa" is no session id: give 4 to 36 /],
    ["AAAA", /is no session id/],
    ["nope!", /is no session id/],
    ["", /is no session id/],
    [`${ids.first}0`, /is no session id/],
    ["..", /is no session id/],
  ];
  test.each(refused)("but not by %j", (id, why) => {
    expect(refusal(() => findSession(folder(), id))).toMatch(why);
  });
});

test.each([
  ["a header that was cut off", '{"type":"session","ver', "does not begin with a session header"],
  [
    "a version that is not known",
    JSON.stringify({ type: "session", version: 99, id: ids.first }),
    "version 99",
  ],
  ["nothing", "", "it is empty"],
])("a session file with %s is named, with what is wrong", (_, content, why) => {
  const folder = makeFolder();
  const path = join(folder, `${ids.first}.jsonl`);
  writeFileSync(path, content);
  const words = refusal(() => findSession(folder, ids.first));
  expect(words).toContain(path);
  expect(words).toContain(why);
});

test("a session that was just made is found and named", () => {
  const folder = makeFolder();
  const store = createSession({ folder, cwd: "/work", pid: process.pid, persist: true });
  store.append({ type: "session_info", name: "new" });
  store.append(message(user("hi")));
  expect(findSavedSession(folder, "new", { byName: true })).toMatchObject({
    id: store.header.id,
    firstMessage: "hi",
  });
  store.close();
});
