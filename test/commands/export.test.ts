import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { exportSession } from "../../src/commands/export.ts";
import { type ExportFormatName, exportEndings, formatOfFile } from "../../src/commands/export-formats.ts";
import { StartupError } from "../../src/contract/errors.ts";
import { openSession } from "../../src/session/store/open.ts";
import { assistant, call, message, result, text, useFolders, user } from "../session/samples.ts";
import { createMemoryOutput, createSampleSession, going, writeSampleSession } from "./sample-session.ts";

const makeFolder = useFolders();

type Options = { readonly file?: string; readonly signal?: AbortSignal };

async function exported(folder: string, format: ExportFormatName, options: Options = {}): Promise<string> {
  const output = createMemoryOutput();
  const all = { folder, id: "mine", format, signal: going, warn: () => undefined, ...options };
  expect(await exportSession(all, output)).toBe(0);
  return output.text();
}

test("export as jsonl gives a session file that opens again", async () => {
  const folder = makeFolder();
  const store = writeSampleSession(folder);
  const path = join(makeFolder(), "copy.jsonl");
  expect(await exported(folder, "jsonl", { file: path })).toBe("");
  const copy = openSession({ path, pid: process.pid, persist: true, warn: () => undefined });
  expect(copy.header).toEqual(store.header);
  expect(copy.branch()).toEqual(store.branch());
  copy.close();
  store.close();
});

test("export as jsonl of a version 1 file says what stood before what", async () => {
  const folder = makeFolder();
  const id = "aaaa1111-2222-4333-8444-555555555555";
  const line = (words: string) => JSON.stringify({ type: "message", timestamp: "", message: user(words) });
  const header = JSON.stringify({ type: "session", id, timestamp: "", cwd: "/work" });
  const named = JSON.stringify({ type: "session_info", name: "mine" });
  writeFileSync(join(folder, `${id}.jsonl`), `${[header, named, line("a"), line("b")].join("\n")}\n`);
  const [, first, second, third] = (await exported(folder, "jsonl"))
    .split("\n")
    .map((each) => (each === "" ? undefined : JSON.parse(each)));
  expect([first.parentId, second.parentId, third.parentId]).toEqual([null, first.id, second.id]);
});

test("export as md is Markdown in which nothing that was said closes a fence", async () => {
  const folder = makeFolder();
  const store = createSampleSession(folder);
  store.append(message(user("hi")));
  store.append(message(assistant([{ type: "thinking", thinking: "hm" }, text("Yes"), call("1")])));
  store.append(message(result("1", "```\n<b>")));
  store.close();
  expect(await exported(folder, "md")).toBe(`# Session ${store.header.id}

\`mine\`, begun 2024-01-01T00:00:00.000Z in \`/work\`

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

test.each<[ExportFormatName, string]>([
  ["md", "\n## Gate\n\n`gate failed: npm test (exit status 1)`\n\n```\n<b>\n```\n"],
  ["html", "<p>gate failed: npm test (exit status 1)</p><pre><code>&lt;b&gt;</code></pre>"],
])("export as %s tells what became of a gate", async (format, words) => {
  const folder = makeFolder();
  const store = createSampleSession(folder);
  store.append(message(user("hi")));
  const data = { command: "npm test", outcome: "failed", exit: 1, output: "<b>" };
  store.append({ type: "custom", customType: "gate_result", data });
  store.close();
  expect(await exported(folder, format)).toContain(words);
});

test("a file that is there is replaced, keeps its mode, and is found through its link", async () => {
  const folder = makeFolder();
  writeSampleSession(folder).close();
  const target = makeFolder();
  const file = join(target, "a.md");
  writeFileSync(file, "old");
  chmodSync(file, 0o640);
  symlinkSync(file, join(target, "link.md"));
  await exported(folder, "md", { file: join(target, "link.md") });
  expect(readFileSync(file, "utf8")).toMatch(/^# Session /);
  expect(statSync(file).mode & 0o777).toBe(0o640);
  expect(readdirSync(target).sort()).toEqual(["a.md", "link.md"]);
});

test("an export that is ended early leaves the file as it was", async () => {
  const folder = makeFolder();
  writeSampleSession(folder).close();
  const target = makeFolder();
  writeFileSync(join(target, "a.md"), "old");
  await exported(folder, "md", { file: join(target, "a.md"), signal: AbortSignal.abort() });
  await exported(folder, "md", { file: join(target, "b.md"), signal: AbortSignal.abort() });
  expect(readdirSync(target)).toEqual(["a.md"]);
  expect(readFileSync(join(target, "a.md"), "utf8")).toBe("old");
});

test("what is not a plain file is written as it is", async () => {
  const folder = makeFolder();
  writeSampleSession(folder).close();
  expect(await exported(folder, "md", { file: "/dev/null" })).toBe("");
  expect(statSync("/dev/null").isCharacterDevice()).toBe(true);
});

test("a file that cannot be written to its end is told of", async () => {
  const folder = makeFolder();
  writeSampleSession(folder).close();
  const lines: string[] = [];
  const warn = (line: string) => lines.push(line);
  const options = { folder, id: "mine", format: "md", file: "/dev/full", signal: going, warn } as const;
  expect(await exportSession(options, createMemoryOutput())).toBe(1);
  expect(lines).toEqual([expect.stringMatching(/^cannot write \/dev\/full: ENOSPC/)]);
});

test("an export never overwrites the session that it reads, nor goes where it cannot", async () => {
  const folder = makeFolder();
  const store = writeSampleSession(folder);
  const path = store.path ?? "";
  store.close();
  const before = readFileSync(path, "utf8");
  symlinkSync(path, join(folder, "link"));
  const attempt = (file: string) => exported(folder, "jsonl", { file });
  await expect(attempt(path)).rejects.toThrow(/is the session's own file/);
  await expect(attempt(join(folder, "link"))).rejects.toThrow(/is the session's own file/);
  await expect(attempt(join(folder, "no", "a.md"))).rejects.toThrow(/cannot write .*ENOENT/);
  mkdirSync(join(folder, "d"));
  await expect(attempt(join(folder, "d"))).rejects.toThrow(StartupError);
  expect(readFileSync(path, "utf8")).toBe(before);
});

test.each([...exportEndings, [".txt", undefined], ["", undefined]])("a file%s is %s", (ending, format) => {
  expect(formatOfFile(`/a.b/c d${ending}`)).toBe(format);
  expect(formatOfFile(`/a.b/c d${ending.toUpperCase()}`)).toBe(format);
});
