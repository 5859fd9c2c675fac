import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { NewEntry } from "../../src/contract/entries.ts";
import { assistant, message, result, text, user } from "../session/samples.ts";
import { atifSchema } from "../support/atif-schema.ts";
import { chatReply } from "../support/chat-wire.ts";
import { saveSession } from "../support/saved-session.ts";
import { type Bench, createBench } from "../support/with-provider.ts";

const talk: readonly NewEntry[] = [message(user("ask")), message(assistant([text("answer")]))];
const oneLine = /^base-context: [^\n]+\n$/;

/** A bench in which the program has saved a session with a tool call. */
async function held(): Promise<Bench & { readonly id: string }> {
  const calls = [{ name: "ls", args: {} }];
  const bench = await createBench([chatReply({ text: "Looking", calls }), chatReply({ text: "Done" })]);
  bench.workspace.file("seen.txt", "");
  const { lines, status } = await bench.run(["--mode", "json", "--name", "my work", "Look around"]);
  expect(status).toBe(0);
  return { ...bench, id: String(lines[0]?.id) };
}

test("show finds a session by its id, the beginning of one, and its name", async () => {
  const { runBare, id } = await held();
  const shown = await runBare(["show", id]);
  expect(shown).toMatchObject({ status: 0, stderr: "" });
  expect(shown.stdout).toMatch(
    /^id +\S+\n[\s\S]*\nname +my work\n[\s\S]* user\n {2}Look around\n[\s\S]* {2}Looking\n {2}> ls \{\}\n[\s\S]* ls\n {2}seen.txt\n[\s\S]* {2}Done\n/,
  );
  for (const other of [id.slice(0, 8), "my work"])
    expect((await runBare(["show", other])).stdout).toBe(shown.stdout);
});

test("show --json prints one object", async () => {
  const { runBare, id, workspace } = await held();
  const { status, stdout } = await runBare(["show", id, "--json"]);
  const [, ...entries] = readFileSync(join(workspace.home, "sessions", `${id}.jsonl`), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ id, name: "my work", cwd: workspace.cwd, entries });
});

test.each([
  ["jsonl", /^\{"type":"session",.*\n(\{.*\}\n)+$/],
  ["md", /^# Session [\s\S]*\n## Assistant\n\nDone\n/],
  ["html", /^<!doctype html>\n[\s\S]*<title>my work<\/title>[\s\S]*<\/html>\n$/],
  ["atif", /^\{"schema_version":"ATIF-v1.7",[\s\S]*\}\n$/],
])("export --format %s writes to stdout, or to a file", async (format, content) => {
  const { runBare, id, workspace } = await held();
  const printed = await runBare(["export", id, "--format", format]);
  expect(printed).toMatchObject({ status: 0, stderr: "" });
  expect(printed.stdout).toMatch(content);
  const toFile = await runBare(["export", id, `--format=${format}`, "--output", "out file"]);
  expect(toFile).toMatchObject({ status: 0, stdout: "", stderr: "" });
  expect(readFileSync(join(workspace.cwd, "out file"), "utf8")).toBe(printed.stdout);
  expect(statSync(join(workspace.cwd, "out file")).mode & 0o777).toBe(0o666 & ~process.umask());
});

test("export as atif of a real run holds against the format", async () => {
  const { runBare, id } = await held();
  const { stdout } = await runBare(["export", id, "--format", "atif"]);
  const { steps, final_metrics: totals } = atifSchema.parse(JSON.parse(stdout));
  expect(steps.map(({ source, message, observation }) => [source, message, observation?.results])).toEqual([
    ["user", "Look around", undefined],
    ["agent", "Looking", [{ source_call_id: "call_1", content: "seen.txt" }]],
    ["agent", "Done", undefined],
  ]);
  expect(totals).toMatchObject({ total_prompt_tokens: 20, total_completion_tokens: 10 });
});

test("export without a format is jsonl, or what the file's ending says", async () => {
  const { runBare, id, workspace } = await held();
  expect((await runBare(["export", id])).stdout).toMatch(/^\{"type":"session"/);
  expect((await runBare(["export", id, "--output", "-"])).stdout).toMatch(/^\{"type":"session"/);
  await runBare(["export", id, "--output", "a.html"]);
  expect(readFileSync(join(workspace.cwd, "a.html"), "utf8")).toMatch(/^<!doctype html>/);
});

test("an exported session goes on where it was", async () => {
  const { run, runBare, id, workspace, server } = await held();
  await runBare(["export", id, "--output", "copy.jsonl"]);
  const { status, lines } = await run(["--mode", "json", "--resume", "./copy.jsonl", "more"]);
  expect(status).toBe(0);
  expect(lines[0]).toMatchObject({ id, cwd: workspace.cwd });
  expect(JSON.stringify(server.requests.at(-1)?.body)).toContain("Looking");
});

test("/export writes a page into the working directory unless it is told another file", async () => {
  const { run, workspace, id } = await held();
  const { status, stdout } = await run(["--continue", "/export"]);
  expect({ status, stdout }).toEqual({ status: 0, stdout: `${join(workspace.cwd, `${id}.html`)}\n` });
  expect(readFileSync(join(workspace.cwd, `${id}.html`), "utf8")).toMatch(/^<!doctype html>/);
  const unsaved = await run(["--no-session", "hi", "/export out.md"]);
  expect(unsaved.status).toBe(0);
  expect(readFileSync(join(workspace.cwd, "out.md"), "utf8")).toMatch(/\n## User\n\nhi\n/);
});

test("rm removes a session without asking, and only that one", async () => {
  const { runBare, id, workspace } = await held();
  const other = saveSession(workspace, talk);
  expect(await runBare(["rm", "my work"], { stdin: "open" })).toMatchObject({
    status: 0,
    stdout: "",
    stderr: "",
  });
  expect(readdirSync(join(workspace.home, "sessions"))).toEqual([`${other.id}.jsonl`]);
  const again = await runBare(["rm", id]);
  expect(again).toMatchObject({ status: 2, stdout: "" });
  expect(again.stderr).toMatch(oneLine);
});

test("rm removes what the session's last run left, too", async () => {
  const { run, runBare, workspace } = await createBench([chatReply({ text: "Done" })]);
  const { stdout } = await run(["--resident", "--name", "left", "hi"]);
  expect(await runBare(["wait", "left"])).toMatchObject({ status: 0 });
  expect(readdirSync(join(workspace.home, "runs"))).toEqual([JSON.parse(stdout).id]);
  expect(await runBare(["rm", "left"])).toMatchObject({ status: 0, stderr: "" });
  expect(readdirSync(join(workspace.home, "runs"))).toEqual([]);
  expect((await runBare(["list", "--all", "--json"])).stdout).toBe("[]\n");
});

test("rm refuses a session that a run is at work on, which show and export read all the same", async () => {
  const { run, runBare, workspace } = await createBench([
    chatReply({ calls: [{ name: "bash", args: { command: "sleep 60" } }] }),
  ]);
  let isBusy: (child: ChildProcess) => void = () => undefined;
  const busy = new Promise<ChildProcess>((resolve) => {
    isBusy = resolve;
  });
  const ended = run(["--mode", "json", "--name", "busy", "wait"], {
    onStdout(soFar, child) {
      if (soFar.includes('"type":"tool_execution_start"')) isBusy(child);
    },
  });
  const child = await busy;
  const refused = await runBare(["rm", "busy"]);
  expect(refused).toMatchObject({ status: 2, stdout: "" });
  expect(refused.stderr).toMatch(
    new RegExp(`^base-context: the session .* is in use by process ${child.pid}: [^\n]+\n$`),
  );
  for (const command of ["show", "export"])
    expect((await runBare([command, "busy"])).stdout).toContain("sleep 60");
  child.kill("SIGTERM");
  expect((await ended).status).toBe(143);
  expect(await runBare(["rm", "busy"])).toMatchObject({ status: 0 });
  expect(readdirSync(join(workspace.home, "sessions"))).toEqual([]);
});

test("sessions are looked for where the settings or --session-dir say", async () => {
  const { runBare, workspace } = await createBench([]);
  const elsewhere = join(workspace.home, "elsewhere");
  const { id } = saveSession(workspace, talk, elsewhere);
  expect(await runBare(["show", id])).toMatchObject({ status: 2 });
  for (const command of ["show", "export"])
    expect((await runBare([command, id, "--session-dir", "../home/elsewhere"])).stdout).toContain("answer");
  workspace.homeFile("settings.json", { sessionDir: elsewhere });
  expect((await runBare(["show", id])).stdout).toContain("answer");
  expect(await runBare(["rm", id])).toMatchObject({ status: 0 });
  expect(readdirSync(elsewhere)).toEqual([]);
});

test.each([
  ["an id that nothing has", ["show", "0123abcd"], /no session in .* has the id or name "0123abcd"/],
  ["a name that nothing has", ["export", "no such name"], /no session in .* has the name "no such name"/],
  ["no id", ["rm"], /rm takes 1 argument, not 0: base-context rm <id>/],
  ["two ids", ["rm", "abcd", "dcba"], /rm takes 1 argument, not 2/],
  ["a blank id", ["show", " "], /cannot be blank/],
  [
    "a format that is not there",
    ["export", "abcd", "--format", "pdf"],
    /--format is one of jsonl, md, html, atif/,
  ],
  ["an unknown option", ["show", "abcd", "--jso"], /did you mean --json\?/],
  ["settings that are no JSON", ["show", "abcd"], /settings\.json/],
])("%s is refused", async (what, args, words) => {
  const { runBare, workspace } = await createBench([]);
  if (what.startsWith("settings")) workspace.homeFile("settings.json", "{");
  const { status, stdout, stderr } = await runBare(args);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr).toMatch(oneLine);
  expect(stderr).toMatch(words);
});

test("a beginning or a name that several sessions share is refused with their ids", async () => {
  const { runBare, workspace } = await createBench([]);
  const named: NewEntry = { type: "session_info", name: "twin" };
  const ids = [saveSession(workspace, [named, ...talk]), saveSession(workspace, [named])].map(({ id }) => id);
  const { status, stderr } = await runBare(["show", "twin"]);
  expect(status).toBe(2);
  for (const id of ids) expect(stderr).toContain(id);
  const folder = join(workspace.home, "sessions");
  for (const end of ["1", "2"])
    writeFileSync(
      join(folder, `abcd000${end}.jsonl`),
      `${JSON.stringify({ type: "session", version: 3, id: `abcd000${end}`, timestamp: "", cwd: "/" })}\n`,
    );
  const prefix = await runBare(["rm", "abcd"]);
  expect(prefix).toMatchObject({ status: 2 });
  expect(prefix.stderr).toMatch(
    /"abcd" means more than one session: abcd000., abcd000.; give more of the id/,
  );
});

test("a reader that goes away ends an export with 141, and a slow one gets all of it", async () => {
  const { runBare, workspace } = await createBench([]);
  const long = Array.from({ length: 400 }, (_, index) => message(result(`${index}`, "x".repeat(10_000))));
  const { id } = saveSession(workspace, [...talk, ...long]);
  let status: Promise<unknown> | undefined;
  const gone = runBare(["export", id], {
    onStart: (child) => {
      status = once(child, "exit");
    },
    onStdout: (_, child) => child.stdout?.destroy(),
  });
  // The test's own reader says that it was destroyed.
  await expect(gone).rejects.toThrow();
  expect(await status).toEqual([141, null]);
  const { stdout } = await runBare(["export", id]);
  expect(stdout.trimEnd().split("\n")).toHaveLength(403);
});
