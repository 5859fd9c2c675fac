import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import type { Script } from "../support/provider-server.ts";
import { runScript } from "../support/run-script.ts";
import { createBench } from "../support/with-provider.ts";

const text = "first line\n\n  ünï → 😀\u2028 last line without a newline";
const answer = chatReply({ text: [text] });
const noRetries = { retry: { enabled: false } };
const writing = ["--output-last-message", "out.txt"];

test.each([[[]], [["--mode", "json"]]])("the answer is written exactly, with %j", async (options) => {
  const { run, workspace } = await createBench([answer]);
  expect((await run([...options, ...writing, "hi"])).status).toBe(0);
  expect(readFileSync(join(workspace.cwd, "out.txt"), "utf8")).toBe(text);
  expect(readdirSync(workspace.cwd)).toEqual(["out.txt"]);
});

test("of several prompts the last answer is written", async () => {
  const { run, workspace } = await createBench([chatReply({ text: "one" }), chatReply({ text: "two" })]);
  expect((await run([...writing, "a", "b"])).status).toBe(0);
  expect(readFileSync(join(workspace.cwd, "out.txt"), "utf8")).toBe("two");
});

test.each<[string, Script, string, number]>([
  ["a stream that breaks", { body: delta("half"), end: "reset" }, "half", 1],
  ["a refusal of the provider", { status: 400, type: "text/plain", body: "no" }, "", 1],
  ["the output limit", chatReply({ text: "half", finish: "length" }), "half", 0],
])("what there is is written after %s", async (_, reply, written, status) => {
  const { run, workspace } = await createBench([reply]);
  workspace.homeFile("settings.json", noRetries);
  workspace.file("out.txt", "of an earlier run");
  expect((await run([...writing, "hi"])).status).toBe(status);
  expect(readFileSync(join(workspace.cwd, "out.txt"), "utf8")).toBe(written);
});

test("what there is is written after a signal, and when the reader went away", async () => {
  const bench = await createBench([{ body: delta("half"), end: "hang" }]);
  const { server, workspace, run } = bench;
  const result = await run([...writing, "--mode", "json", "hi"], {
    onStdout: (soFar, child) => {
      if (soFar.includes("text_delta") && !child.killed) child.kill("SIGTERM");
    },
  });
  expect(result.status).toBe(143);
  expect(readFileSync(join(workspace.cwd, "out.txt"), "utf8")).toBe("half");
  expect(server.requests).toHaveLength(1);
  const gone = await createBench([answer]);
  await runScript(gone, "(sleep 0.3; bc --output-last-message out.txt hi) | true");
  expect(readFileSync(join(gone.workspace.cwd, "out.txt"), "utf8")).toBe(text);
});

test("a file that is there keeps its mode, and a new one follows the umask", async () => {
  const bench = await createBench([answer]);
  chmodSync(bench.workspace.file("out.txt", "old"), 0o640);
  await runScript(
    bench,
    "umask 027; bc --output-last-message out.txt hi; bc --output-last-message new.txt hi",
  );
  const modes = ["out.txt", "new.txt"].map((name) => statSync(join(bench.workspace.cwd, name)).mode & 0o777);
  expect(modes).toEqual([0o640, 0o640]);
});

test.each([["there"], ["not there yet"]])(
  "a symbolic link to a file that is %s is followed",
  async (state) => {
    const { run, workspace } = await createBench([answer]);
    mkdirSync(join(workspace.cwd, "deep"));
    if (state === "there") workspace.file("deep/target.txt", "old");
    symlinkSync("target.txt", join(workspace.cwd, "deep", "link"));
    symlinkSync("deep/link", join(workspace.cwd, "out.txt"));
    expect((await run([...writing, "hi"])).status).toBe(0);
    expect(readFileSync(join(workspace.cwd, "deep/target.txt"), "utf8")).toBe(text);
    for (const link of ["deep/link", "out.txt"])
      expect(lstatSync(join(workspace.cwd, link)).isSymbolicLink()).toBe(true);
  },
);

test("what is no file stays what it is: /dev/null, a FIFO, a descriptor", async () => {
  const bench = await createBench([answer]);
  const { stdout, stderr } = await runScript(
    bench,
    `bc --output-last-message /dev/null hi >/dev/null; test -c /dev/null || echo gone
     mkfifo f; bc --output-last-message f hi >/dev/null & cat f; test -p f || echo gone
     bc --output-last-message >(cat) hi >/dev/null; sleep 0.2`,
  );
  expect({ stdout, stderr }).toEqual({ stdout: text + text, stderr: "" });
});

test.each([
  ["a folder that is missing", "no/out.txt"],
  ["a folder", "."],
  ["a folder with a slash", "./"],
  ["a file as a folder", "models.json/out.txt"],
])("%s refuses the start, before any request", async (_, file) => {
  const { run, server, workspace } = await createBench([answer]);
  workspace.file("models.json", "{}");
  const { status, stdout, stderr } = await run(["--output-last-message", file, "hi"]);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr).toMatch(/^base-context: --output-last-message [^\n]* cannot be written: [^\n]*\n$/);
  expect(server.requests).toEqual([]);
});

test("a folder that is gone by then is status 1, and the answer is on stdout", async () => {
  const bench = await createBench([
    chatReply({ calls: [{ name: "bash", args: { command: "rm -r there" } }] }),
    answer,
  ]);
  mkdirSync(join(bench.workspace.cwd, "there"));
  const { status, stdout, stderr } = await bench.run(["--output-last-message", "there/out.txt", "hi"]);
  expect({ status, stdout }).toEqual({ status: 1, stdout: `${text}\n` });
  expect(stderr).toMatch(/^base-context: the last message could not be written to there\/out.txt: [^\n]*\n$/);
});

test("a refused start leaves the file as it was", async () => {
  const { run, workspace } = await createBench([answer]);
  workspace.file("out.txt", "of an earlier run");
  expect((await run([...writing, "--tools", "nope", "hi"])).status).toBe(2);
  expect(readFileSync(join(workspace.cwd, "out.txt"), "utf8")).toBe("of an earlier run");
});

function delta(content: string): string {
  return `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
}
