import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import { PersistenceError, StartupError } from "../../../src/contract/errors.ts";
import { openSession } from "../../../src/session/store/open.ts";
import { createSession, type SessionStore } from "../../../src/session/store/store.ts";
import { assistant, message, text, useFolders, user } from "../samples.ts";

const makeFolder = useFolders();
const start = Date.UTC(2024, 0, 1);

function create(folder: string, persist = true): SessionStore {
  return createSession({ folder, cwd: "/work", pid: process.pid, persist, now: () => start });
}

function lines(path: string | undefined): unknown[] {
  return readFileSync(path ?? "", "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

function pathOf(store: SessionStore): string {
  if (store.path === undefined) throw new Error("the session has no file");
  return store.path;
}

describe("a new session", () => {
  test("has its header on disk at once, named by its id", () => {
    const folder = makeFolder();
    const store = create(folder);
    expect(store.path).toBe(join(folder, `${store.header.id}.jsonl`));
    expect(lines(store.path)).toEqual([
      {
        type: "session",
        version: 3,
        id: store.header.id,
        timestamp: "2024-01-01T00:00:00.000Z",
        cwd: "/work",
      },
    ]);
    store.close();
  });

  test("has every entry on disk when append returns, with the fields that place it first", () => {
    const store = create(makeFolder());
    const first = store.append(message(user("hi")));
    const second = store.append(message(assistant([text("ho")])));
    expect(lines(store.path).slice(1)).toEqual([first, second]);
    expect(first.parentId).toBeNull();
    expect(second.parentId).toBe(first.id);
    expect(Object.keys(lines(store.path)[2] ?? {})).toEqual([
      "type",
      "id",
      "parentId",
      "timestamp",
      "message",
    ]);
    expect(store.branch()).toEqual([first, second]);
    store.close();
  });

  test.each([0o000, 0o777])("is private under the umask %o", (umask) => {
    const before = process.umask(umask);
    try {
      const folder = join(makeFolder(), "a", "b");
      const store = create(folder);
      expect(statSync(join(folder, "..")).mode & 0o777).toBe(0o700);
      expect(statSync(folder).mode & 0o777).toBe(0o700);
      for (const name of readdirSync(folder)) expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
      store.close();
    } finally {
      process.umask(before);
    }
  });

  test("is in memory only when it is not to be kept", () => {
    const folder = makeFolder();
    const store = create(folder, false);
    store.append(message(user("hi")));
    store.close();
    expect(store.path).toBeUndefined();
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each(["/proc/none/sessions", "/dev/null/sessions"])("is refused in one line under %s", (folder) => {
    expect(() => create(folder)).toThrow(StartupError);
    expect(() => create(folder)).toThrow(/^cannot keep a session in .*--session-dir.*--no-session$/);
  });

  test("leaves nothing behind but the file", () => {
    const folder = makeFolder();
    const store = create(folder);
    store.close();
    store.close();
    expect(readdirSync(folder)).toEqual([`${store.header.id}.jsonl`]);
  });
});

describe("what is set for the rest of the session", () => {
  test("is the last of each kind", () => {
    const store = create(makeFolder());
    store.append({ type: "session_info", name: "first" });
    store.append({ type: "model_change", provider: "q", modelId: "n" });
    store.append({ type: "thinking_level_change", thinkingLevel: "high" });
    store.append(message(assistant([text("ho")])));
    store.append({ type: "session_info", name: "second" });
    const settings = { name: "second", model: { provider: "p", modelId: "m" }, thinkingLevel: "high" };
    expect(store.settings()).toEqual(settings);
    store.close();
    const again = openSession({ path: pathOf(store), pid: process.pid, persist: true, warn: () => {} });
    expect(again.settings()).toEqual(settings);
    again.close();
  });
});

describe("another branch", () => {
  test.each([true, false])("begins at the entry that is moved to (kept: %s)", (persist) => {
    const store = create(makeFolder(), persist);
    const first = store.append(message(user("one")));
    const second = store.append(message(assistant([text("two")])));
    const left = store.append(message(user("three")));
    store.moveTo(second.id);
    expect(store.branch()).toEqual([first, second]);
    const other = store.append(message(user("other")));
    expect(other.parentId).toBe(second.id);
    expect(store.branch()).toEqual([first, second, other]);
    store.moveTo(left.id);
    expect(store.branch()).toEqual([first, second, left]);
    expect(() => store.moveTo("nope")).toThrow(/no entry "nope"/);
    store.close();
  });
});

describe("text that no JSON parser takes", () => {
  test("gets U+FFFD for half a character and stays otherwise", () => {
    const store = create(makeFolder());
    const said = "a\ud83d b\udc00 \\ud83d 😀 \u2028\0";
    store.append(message(user(said)));
    const written = readFileSync(pathOf(store), "utf8");
    expect(written).not.toMatch(/[^\\]\\ud/);
    expect(lines(store.path)[1]).toMatchObject({
      message: { content: "a\ufffd b\ufffd \\ud83d 😀 \u2028\0" },
    });
    store.close();
  });
});

describe("a file that changes under a run", () => {
  test("is written anew, whole, when it was deleted", () => {
    const store = create(makeFolder());
    store.append(message(user("one")));
    const before = readFileSync(pathOf(store), "utf8");
    rmSync(pathOf(store));
    store.append(message(user("two")));
    expect(readFileSync(pathOf(store), "utf8").startsWith(before)).toBe(true);
    expect(lines(store.path)).toHaveLength(3);
    expect(statSync(pathOf(store)).mode & 0o777).toBe(0o600);
    store.close();
  });

  test("is written anew with its folder, also when the run only ends", () => {
    const folder = join(makeFolder(), "sessions");
    const store = create(folder);
    store.append(message(user("one")));
    rmSync(folder, { recursive: true });
    store.close();
    expect(lines(store.path)).toHaveLength(2);
  });

  const changes: [string, (path: string) => void][] = [
    [
      "another file takes its place",
      (path) => {
        renameSync(path, `${path}.old`);
        writeFileSync(path, "mine\n");
      },
    ],
    ["it is emptied", (path) => writeFileSync(path, "")],
    ["somebody appends to it", (path) => appendFileSync(path, "x")],
  ];
  test.each(changes)("stops being written, with one error, when %s", (_, change) => {
    const store = create(makeFolder());
    store.append(message(user("one")));
    change(pathOf(store));
    const before = readFileSync(pathOf(store), "utf8");
    expect(() => store.append(message(user("two")))).toThrow(PersistenceError);
    store.append(message(user("three")));
    store.close();
    expect(readFileSync(pathOf(store), "utf8")).toBe(before);
    expect(store.branch().map((entry) => entry.type === "message" && entry.message)).toEqual([
      user("one"),
      user("two"),
      user("three"),
    ]);
  });
});

describe("a disk that is full", () => {
  test("leaves whole lines, one error, and a run that goes on", async () => {
    const folder = makeFolder();
    await build({
      stdin: {
        contents: `
          import { createSession } from "./src/session/store/store.ts";
          const store = createSession({ folder: ${JSON.stringify(folder)}, cwd: "/", pid: process.pid, persist: true });
          let errors = 0;
          for (let n = 0; n < 40; n++) {
            try { store.append({ type: "message", message: { role: "user", content: "x".repeat(500), timestamp: 1 } }); }
            catch (error) { errors++; console.error(error.name, error.message); }
          }
          store.close();
          console.log(errors, store.branch().length);
        `,
        resolveDir: process.cwd(),
      },
      bundle: true,
      platform: "node",
      format: "esm",
      logLevel: "error",
      outfile: join(folder, "run.mjs"),
    });
    const said = execFileSync(
      "bash",
      ["-c", `ulimit -f 8; exec ${process.execPath} ${folder}/run.mjs 2>&1`],
      {
        encoding: "utf8",
      },
    );
    expect(said).toMatch(/^PersistenceError cannot write the session file .*\n1 40\n$/);
    const [name] = readdirSync(folder).filter((file) => file.endsWith(".jsonl"));
    const written = readFileSync(join(folder, name ?? ""), "utf8");
    expect(written.endsWith("\n")).toBe(true);
    expect(written.length).toBeGreaterThan(7000);
    expect(lines(join(folder, name ?? "")).length).toBeGreaterThan(10);
  });
});

describe("a name", () => {
  test("is said again at the end of a file whose ends do not tell it", () => {
    const store = create(makeFolder());
    for (let n = 0; n < 2; n++) {
      store.append(message(user("x".repeat(100_000))));
      if (n === 0) store.append({ type: "session_info", name: "mine" });
    }
    store.close();
    expect(lines(store.path).at(-1)).toMatchObject({ type: "session_info", name: "mine" });
  });
});

test("making folders stops where one cannot be made", () => {
  const folder = makeFolder();
  writeFileSync(join(folder, "file"), "");
  expect(() => create(join(folder, "file", "x"))).toThrow(StartupError);
  mkdirSync(join(folder, "there"));
  create(join(folder, "there")).close();
  expect(existsSync(join(folder, "there"))).toBe(true);
});
