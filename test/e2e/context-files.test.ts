import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { type Bench, createBench } from "../support/with-provider.ts";

const answer = chatReply({ text: "done" });
const system = (bench: Bench, index = 0): string => bench.server.json(index).messages[0].content;
const prompt = (bench: Bench, index = 0): string => bench.server.json(index).messages.at(-1).content;

/** Expects texts in another, in their order. */
function expectOrder(whole: string, texts: readonly string[]): void {
  const places = texts.map((text) => whole.indexOf(text));
  expect(places).not.toContain(-1);
  expect(places).toEqual([...places].sort((a, b) => a - b));
}

test("the first request with all tools is under 7 KB", async () => {
  const bench = await createBench([answer]);
  await bench.run(["hi"]);
  const names = bench.server.json(0).tools.map((tool: { function: { name: string } }) => tool.function.name);
  expect(names).toEqual(["read", "bash", "edit", "write", "grep", "find", "ls", "ipython"]);
  expect(Buffer.byteLength(bench.server.requests[0]?.body ?? "")).toBeLessThan(7 * 1024);
});

test("context files reach the model, from home over the repository's root to the working directory", async () => {
  const bench = await createBench([answer]);
  bench.workspace.homeFile("AGENTS.md", "rule of home");
  bench.workspace.file(".git/HEAD", "");
  bench.workspace.file("AGENTS.md", "rule of root");
  bench.workspace.file("a/CLAUDE.md", "rule of a");
  const path = bench.workspace.file("a/b/AGENTS.md", "rule of b");
  expect(await bench.run(["--cwd", "a/b", "hi"])).toMatchObject({ status: 0, stderr: "" });
  expectOrder(system(bench), ["rule of home", "rule of root", "rule of a", path, "rule of b"]);
  await bench.run(["--cwd", "a/b", "--no-context-files", "hi"]);
  expect(system(bench, 1)).not.toContain("rule of");
});

test("broken context files cost one line each, and the run goes on", async () => {
  const bench = await createBench([answer]);
  const { cwd, home } = bench.workspace;
  bench.workspace.file(".git/HEAD", "");
  execFileSync("mkfifo", [join(home, "AGENTS.md")]);
  const binary = bench.workspace.file("AGENTS.md", "\0\x01");
  mkdirSync(join(cwd, "a", "AGENTS.md"), { recursive: true });
  mkdirSync(join(cwd, "a", "b"));
  symlinkSync("AGENTS.md", join(cwd, "a", "b", "AGENTS.md"));
  const { status, stdout, stderr } = await bench.run(["--cwd", "a/b", "hi"]);
  expect({ status, stdout }).toEqual({ status: 0, stdout: "done\n" });
  expect(stderr.trimEnd().split("\n")).toEqual([
    `base-context: ${join(home, "AGENTS.md")} is left out: it is not a regular file`,
    `base-context: ${binary} is left out: it is binary`,
    `base-context: ${join(cwd, "a", "AGENTS.md")} is left out: it is a directory`,
    `base-context: ${join(cwd, "a", "b", "AGENTS.md")} is left out: its symbolic links go in a circle`,
  ]);
});

test("system prompt files are replaced and joined by the options", async () => {
  const bench = await createBench([answer]);
  bench.workspace.homeFile("SYSTEM.md", "system of home");
  bench.workspace.homeFile("APPEND_SYSTEM.md", "more of home");
  await bench.run(["hi"]);
  expectOrder(system(bench), ["system of home", "more of home"]);
  expect(system(bench)).not.toContain("You are base-context");
  bench.workspace.file(".base-context/SYSTEM.md", "system of project");
  await bench.run(["--append-system-prompt", "more of option", "hi"]);
  expectOrder(system(bench, 1), ["system of project", "more of home", "more of option"]);
  await bench.run(["--system-prompt", "system of option", "hi"]);
  expectOrder(system(bench, 2), ["system of option", "more of home"]);
  expect(system(bench, 2)).not.toContain("system of project");
  await bench.run(["--no-context-files", "hi"]);
  expect(system(bench, 3)).toContain("system of home");
});

test("the system prompt stays the same over turns, prompts and a resumed session", async () => {
  const bench = await createBench([
    chatReply({ calls: [{ id: "a", name: "ls", args: {} }] }),
    chatReply({ text: "one" }),
    answer,
  ]);
  bench.workspace.file("AGENTS.md", "a rule");
  await bench.run(["first", "second"]);
  await bench.run(["-c", "third"]);
  const prompts = bench.server.requests.map((_, index) => system(bench, index));
  expect(prompts).toHaveLength(4);
  expect(new Set(prompts).size).toBe(1);
  expect(prompts[0]).toContain("a rule");
});

test("a template makes the prompt, which is what the stream and the session show", async () => {
  const bench = await createBench([answer]);
  bench.workspace.file(".base-context/prompts/review.md", "---\ndescription: x\n---\nReview $1, then $2.\n");
  const { lines, status } = await bench.run(["--mode", "json", '/review src "the docs"']);
  expect(status).toBe(0);
  expect(prompt(bench)).toBe("Review src, then the docs.");
  const user = lines.find(({ type, message }) => type === "message_end" && message.role === "user");
  expect(user?.message.content).toBe("Review src, then the docs.");
});

test("a template's prompt follows what stdin and files say", async () => {
  const bench = await createBench([answer]);
  bench.workspace.homeFile("prompts/review.md", "Review this with $@.");
  await bench.run(["/review great care"], { stdin: "a diff\n" });
  expect(prompt(bench)).toBe("a diff\n\nReview this with great care.");
});

test("what comes after -- or on stdin is no template", async () => {
  const bench = await createBench([answer]);
  bench.workspace.homeFile("prompts/review.md", "Review it.");
  await bench.run(["--", "/review"]);
  await bench.run([], { stdin: "/review" });
  expect(bench.server.requests.map((_, index) => prompt(bench, index))).toEqual(["/review", "/review"]);
});

test("a skill is listed to the model and put into the prompt on demand", async () => {
  const bench = await createBench([answer]);
  const content = "---\nname: pdf\ndescription: Reads PDF files.\n---\nUse pdftotext.\n";
  const path = bench.workspace.file(".base-context/skills/pdf/SKILL.md", content);
  await bench.run(["hi"]);
  expect(system(bench)).toContain(`- pdf: Reads PDF files. (${path})`);
  expect(system(bench)).not.toContain("pdftotext");
  await bench.run(["/skill:pdf read a.pdf"]);
  expectOrder(prompt(bench, 1), [path, "Use pdftotext.", "read a.pdf"]);
  await bench.run(["--no-tools", "hi"]);
  expect(system(bench, 2)).not.toContain("pdf");
});

test("a skill without a description costs one line", async () => {
  const bench = await createBench([answer]);
  bench.workspace.homeFile("skills/x/SKILL.md", "---\nname: x\n---\n");
  const { status, stderr } = await bench.run(["hi"]);
  expect(status).toBe(0);
  expect(stderr).toBe(
    `base-context: ${join(bench.workspace.home, "skills/x/SKILL.md")} is left out: its front matter has no description\n`,
  );
});
