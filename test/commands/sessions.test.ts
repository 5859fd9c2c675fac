import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { exportSession } from "../../src/commands/export.ts";
import { removeSession } from "../../src/commands/rm.ts";
import { showSession } from "../../src/commands/show.ts";
import { StartupError } from "../../src/contract/errors.ts";
import { createSession, type SessionStore } from "../../src/session/store.ts";
import { openSession } from "../../src/session/store-open.ts";
import { assistant, call, message, result, text, useFolders, user } from "../session/samples.ts";

const makeFolder = useFolders();
const now = () => Date.UTC(2024, 0, 1);

function make(folder: string): SessionStore {
  const store = createSession({ folder, cwd: "/work", pid: process.pid, persist: true, now });
  store.append({ type: "session_info", name: "mine" });
  store.append(message(user("list\nthe \u001b[31mfiles")));
  store.append(message(assistant([text("Yes"), call("1")])));
  store.append(message(result("1", "x".repeat(500))));
  return store;
}

function show(folder: string, id: string, json: boolean): string {
  let shown = "";
  const write = (piece: string) => {
    shown += piece;
  };
  expect(showSession({ folder, id, json, warn: () => undefined }, write)).toBe(0);
  return shown;
}

test("show prints the header and a line an entry, also while the session is in use", () => {
  const folder = makeFolder();
  const store = make(folder);
  const time = "2024-01-01T00:00:00.000Z";
  const [info, asked, answered, told] = store.branch().map(({ id }) => id);
  expect(show(folder, "mine", false)).toBe(
    [
      `id             ${store.header.id}`,
      `timestamp      ${time}`,
      "cwd            /work",
      `path           ${store.path}`,
      "model          p/m",
      "name           mine",
      "",
      `${info}  ${time}  name: mine`,
      `${asked}  ${time}  user: list the [31mfiles`,
      `${answered}  ${time}  assistant: Yes ls {}`,
      `${told}  ${time}  toolResult: ls: ${"x".repeat(84)}…`,
      "",
    ].join("\n"),
  );
  store.close();
});

test("show --json prints one object with all entries", () => {
  const folder = makeFolder();
  const store = make(folder);
  expect(JSON.parse(show(folder, store.header.id.slice(0, 8), true))).toEqual({
    id: store.header.id,
    timestamp: "2024-01-01T00:00:00.000Z",
    cwd: "/work",
    path: store.path,
    name: "mine",
    model: { provider: "p", modelId: "m" },
    entries: store.branch(),
  });
  store.close();
});

test("show passes over an entry that is being written", () => {
  const folder = makeFolder();
  const store = make(folder);
  const before = show(folder, "mine", true);
  store.close();
  const whole = readFileSync(store.path ?? "", "utf8");
  writeFileSync(store.path ?? "", `${whole}{"type":"mess`);
  expect(show(folder, "mine", true)).toBe(before);
});

test("rm removes a session that is not in use, with what belongs to it", () => {
  const folder = makeFolder();
  const store = make(folder);
  const remove = () => removeSession({ folder, id: "mine", pid: process.pid });
  expect(remove).toThrow(/in use by process/);
  expect(existsSync(store.path ?? "")).toBe(true);
  store.close();
  writeFileSync(`${store.path}.torn`, "");
  expect(remove()).toBe(0);
  expect(readdirSync(folder)).toEqual([]);
  expect(remove).toThrow(StartupError);
});

function exported(folder: string, format: string): string {
  let written = "";
  const write = (piece: string) => {
    written += piece;
  };
  expect(exportSession({ folder, id: "mine", format, warn: () => undefined }, write)).toBe(0);
  return written;
}

test("export as jsonl gives a session file that opens again", () => {
  const folder = makeFolder();
  const store = make(folder);
  const path = join(makeFolder(), "copy.jsonl");
  writeFileSync(path, exported(folder, "jsonl"));
  const copy = openSession({ path, pid: process.pid, persist: true, warn: () => undefined });
  expect(copy.header).toEqual(store.header);
  expect(copy.branch()).toEqual(store.branch());
  copy.close();
  store.close();
});

test("export as jsonl of a version 1 file says what stood before what", () => {
  const folder = makeFolder();
  const id = "aaaa1111-2222-4333-8444-555555555555";
  const line = (words: string) => JSON.stringify({ type: "message", timestamp: "", message: user(words) });
  const header = JSON.stringify({ type: "session", id, timestamp: "", cwd: "/work" });
  const named = JSON.stringify({ type: "session_info", name: "mine" });
  writeFileSync(join(folder, `${id}.jsonl`), `${[header, named, line("a"), line("b")].join("\n")}\n`);
  const [, first, second, third] = exported(folder, "jsonl")
    .split("\n")
    .map((each) => (each === "" ? undefined : JSON.parse(each)));
  expect([first.parentId, second.parentId, third.parentId]).toEqual([null, first.id, second.id]);
});

test("export as md is Markdown in which nothing that was said closes a fence", () => {
  const folder = makeFolder();
  const store = createSession({ folder, cwd: "/work", pid: process.pid, persist: true, now });
  store.append({ type: "session_info", name: "mine" });
  store.append(message(user("hi")));
  store.append(message(assistant([{ type: "thinking", thinking: "hm" }, text("Yes"), call("1")])));
  store.append(message(result("1", "```\n<b>")));
  store.close();
  expect(exported(folder, "md")).toBe(`# Session ${store.header.id}

Begun 2024-01-01T00:00:00.000Z in \`/work\`

## User

hi

## Assistant

<details><summary>thinking</summary>

\`\`\`
hm
\`\`\`

</details>

Yes

\`ls\`

\`\`\`json
{}
\`\`\`

<details><summary>ls: result</summary>

\`\`\`\`
\`\`\`
<b>
\`\`\`\`

</details>
`);
});

test("an export format that is not there is refused with those that are", () => {
  const options = { folder: makeFolder(), id: "mine", format: "pdf", warn: () => undefined };
  expect(() => exportSession(options, () => undefined)).toThrow(
    /no export format "pdf": use one of jsonl, md/,
  );
});
