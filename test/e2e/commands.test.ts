import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import type { Line } from "../support/run-cli.ts";
import { type Bench, createBench } from "../support/with-provider.ts";

const answer = chatReply({ text: "done" });
const summary = chatReply({ text: "the summary" });
const oneLine = /^base-context: [^\n]+\n$/;

/** The entries of the only session of a bench. */
function entries({ workspace }: Bench): Line[] {
  const folder = join(workspace.home, "sessions");
  const [name = ""] = readdirSync(folder).filter((file) => file.endsWith(".jsonl"));
  return readFileSync(join(folder, name), "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

function typesOf(lines: readonly Line[]): string[] {
  return lines.map(({ type, actions }) =>
    type === "session_action_update"
      ? `${actions.active?.kind ?? "idle"} ${actions.active?.label ?? ""}`.trim()
      : type,
  );
}

test("a command is told as session_command while it is at work, then as idle, and asks no model", async () => {
  const bench = await createBench([answer]);
  const { status, stderr, lines } = await bench.run(["--mode", "json", "/name fix the login"]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(typesOf(lines)).toEqual(["session", "session_command /name", "idle"]);
  expect(bench.server.requests).toHaveLength(0);
  expect(entries(bench).at(-1)).toMatchObject({ type: "session_info", name: "fix the login" });
});

test("prompts and commands run in the order in which they are given", async () => {
  const bench = await createBench([answer, summary, chatReply({ text: "more" })]);
  const { status, lines } = await bench.run(["--mode", "json", "hi", "/compact keep the names", "go on"]);
  expect(status).toBe(0);
  expect(typesOf(lines).filter((type) => /agent|compaction|command/.test(type))).toEqual([
    "agent_start",
    "agent_end",
    "session_command /compact",
    "compaction_start",
    "compaction_end",
    "agent_start",
    "agent_end",
  ]);
  expect(bench.server.json(1).messages.at(-1).content).toContain("keep the names");
  expect(JSON.stringify(bench.server.json(2).messages)).toContain("the summary");
});

test("text mode prints what a command says, else the last prompt's answer", async () => {
  const { run } = await createBench([answer, summary]);
  expect(await run(["hi", "/compact"])).toMatchObject({ status: 0, stdout: "done\n", stderr: "" });
  const { stdout } = await run(["hi", "/session"]);
  expect(stdout).toMatch(/^id: [0-9a-f-]{36}\n/);
  expect(stdout).toContain("messages in context: 2\n");
});

test("in JSON mode what a command says is a message that the model does not get", async () => {
  const bench = await createBench([answer]);
  const { lines } = await bench.run(["--mode", "json", "/session", "hi"]);
  expect(lines.find(({ type }) => type === "message_end")?.message).toMatchObject({
    role: "custom",
    customType: "session_command",
    content: expect.stringMatching(/^id: /),
    display: true,
    details: { command: "session" },
  });
  expect(bench.server.json(0).messages).toMatchObject([{ role: "system" }, { role: "user", content: "hi" }]);
  expect(entries(bench)).toContainEqual(
    expect.objectContaining({ type: "custom", customType: "session_command" }),
  );
});

describe("a command that fails is status 1 with one line, and what follows is not run", () => {
  test.each<[string, string, RegExp]>([
    ["an unknown one", "/compct", /no command \/compct: did you mean \/compact\?/],
    [
      "one that resembles none",
      "/frobnicate now",
      /no command \/frobnicate: .* The commands are \/compact, /,
    ],
    ["/compact with nothing to compact", "/compact", /nothing to compact/],
    ["/name without a name", "/name", /\/name needs a name/],
    ["/label without a text", "/label", /\/label needs a text/],
    ["/label without a message", "/label x", /no message to label/],
    ["/thinking with an unknown level", "/thinking hard", /\/thinking takes one of/],
    ["/thinking without a level", "/thinking", /\/thinking takes one of/],
    ["/model that there is not", "/model no/such", /\/model failed: .*no\/such/],
    ["/model without a model", "/model", /\/model needs a model/],
    ["/export to an unknown format", "/export x.doc", /\/export failed: /],
  ])("%s", async (_, command, words) => {
    const bench = await createBench([answer]);
    for (const mode of ["text", "json"]) {
      const result = await bench.run(["--mode", mode, command]);
      expect(result.status).toBe(1);
      expect(result.stderr).toMatch(oneLine);
      expect(result.stderr).toMatch(words);
    }
    const { status, stderr } = await bench.run([command, "hi"]);
    expect(status).toBe(1);
    expect(stderr).toContain("1 further prompt was not run");
    expect(bench.server.requests).toHaveLength(0);
  });
});

test.each([
  ["behind --", ["--", "/compct this"], "/compct this"],
  ["a path", ["/etc/hosts looks odd"], "/etc/hosts looks odd"],
  ["behind stdin", ["/compct"], "from stdin\n\n/compct"],
])("a message that starts with a slash is a prompt: %s", async (name, args, prompt) => {
  const { run, server } = await createBench([answer]);
  const stdin = name === "behind stdin" ? { stdin: "from stdin\n" } : {};
  expect(await run(args, stdin)).toMatchObject({ status: 0, stdout: "done\n" });
  expect(server.json(0).messages.at(-1)).toEqual({ role: "user", content: prompt });
});

test("no template of a project or of the user's replaces a command of the session", async () => {
  const bench = await createBench([answer]);
  const { cwd, home } = bench.workspace;
  const names = ["compact", "name", "label", "session", "model", "thinking", "export"];
  for (const prompts of [join(cwd, ".base-context/prompts"), join(home, "prompts")]) {
    mkdirSync(prompts, { recursive: true });
    for (const name of names) writeFileSync(join(prompts, `${name}.md`), "Not the command.");
  }
  for (const name of names) await bench.run([`/${name}`]);
  expect(bench.server.requests).toHaveLength(0);
});

test("/model asks another model from there on, and a resumed session goes on with it", async () => {
  const models = [{ id: "m", reasoning: true }, { id: "n", reasoning: true }, { id: "plain" }];
  const bench = await createBench([answer], { provider: { models } });
  const { status, lines } = await bench.run([
    "--mode",
    "json",
    "--thinking",
    "high",
    "one",
    "/model n",
    "two",
  ]);
  expect(status).toBe(0);
  expect([0, 1].map((index) => bench.server.json(index).model)).toEqual(["m", "n"]);
  expect(bench.server.json(1).reasoning_effort).toBe("high");
  expect(lines.at(-1)?.messages.at(-1).model).toBe("n");
  await bench.runBare(["-c", "/thinking low", "three"]);
  expect(bench.server.json(2)).toMatchObject({ model: "n", reasoning_effort: "low" });
  const plain = await bench.runBare(["-c", "/model plain", "/thinking high", "four"]);
  expect(plain).toMatchObject({ status: 0, stdout: "done\n" });
  expect(plain.stderr).toMatch(/plain does not reason/);
});

test("/export writes the session as it stands and prints the file's path", async () => {
  const { run, workspace } = await createBench([answer]);
  const { status, stdout } = await run(["hi", "/export out.md"]);
  expect(status).toBe(0);
  expect(stdout).toBe(`${join(workspace.cwd, "out.md")}\n`);
  expect(readFileSync(join(workspace.cwd, "out.md"), "utf8")).toContain("done");
});

test("/export takes ~ for the home folder", async () => {
  const { run, workspace } = await createBench([answer]);
  const env = { HOME: workspace.cwd };
  const { status, stdout } = await run(["hi", "/export ~/out.md"], { env });
  expect({ status, stdout }).toEqual({ status: 0, stdout: `${join(workspace.cwd, "out.md")}\n` });
});

test("levels may be written in capitals, as in --thinking", async () => {
  const models = [
    { id: "m", reasoning: true },
    { id: "n", reasoning: true },
  ];
  const bench = await createBench([answer], { provider: { models } });
  const { status } = await bench.run(["/thinking Low", "one", "/model n:HIGH", "two"]);
  expect(status).toBe(0);
  expect([0, 1].map((index) => bench.server.json(index).reasoning_effort)).toEqual(["low", "high"]);
});

test("commands work in a session that is not kept", async () => {
  const { run } = await createBench([answer, summary, answer]);
  expect(await run(["--no-session", "hi", "/name x", "/compact", "more"])).toMatchObject({
    status: 0,
    stdout: "done\n",
    stderr: "",
  });
});
