import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { type Line, parseStream, runCli } from "../support/run-cli.ts";
import { runScript } from "../support/run-script.ts";
import { type Bench, createBench } from "../support/with-provider.ts";
import { processesWith, uniqueSleep } from "../tools/processes.ts";

const long = chatReply({ text: Array.from({ length: 3000 }, (_, at) => `word ${at} `) });
const calling = (command: string) => chatReply({ calls: [{ name: "bash", args: { command } }] });

describe("a reader that goes away ends the run with status 141, quietly, with the session saved", () => {
  test.each([
    ["head -n 1", "--mode json"],
    ["head -c 10", "--mode json"],
    ["head -c 100000", "--mode json"],
    ["head -n 1", "--mode json --json-deltas"],
    ["head -n 200", "--mode json --json-deltas"],
    ["true", ""],
  ])("%s, with %j", async (reader, args) => {
    const bench = await createBench([long]);
    const { stdout, stderr } = await runScript(
      bench,
      `bc ${args} hi | (${reader}) >/dev/null; echo "\${PIPESTATUS[0]}"`,
    );
    expect({ stdout, stderr }).toEqual({ stdout: "141\n", stderr: "" });
    const [prompt, answer] = savedMessages(bench);
    expect(prompt).toMatchObject({ role: "user", content: "hi" });
    if (args !== "") expect(answer).toMatchObject({ role: "assistant", stopReason: "aborted" });
  });

  test("while a silent tool runs: its processes are gone, its result is saved, and no request follows", async () => {
    const seconds = uniqueSleep();
    const bench = await createBench([
      calling(`trap '' TERM; (setsid sleep ${seconds} &); sleep ${seconds}`),
      chatReply({ text: "done" }),
    ]);
    const reader = "while read -r line; do case $line in *tool_execution_start*) exit;; esac; done";
    const { stdout, stderr } = await runScript(
      bench,
      `bc --mode json hi | (${reader}); echo "\${PIPESTATUS[0]}"`,
    );
    expect({ stdout, stderr }).toEqual({ stdout: "141\n", stderr: "" });
    expect(processesWith(seconds)).toEqual([]);
    expect(savedMessages(bench)).toMatchObject([
      { role: "user" },
      { role: "assistant", stopReason: "toolUse" },
      { role: "toolResult", isError: true, content: [{ text: expect.stringContaining("abort") }] },
      { role: "assistant", stopReason: "aborted" },
    ]);
    expect(bench.server.requests).toHaveLength(1);
  });

  const untilPrompt = "while read -r line; do case $line in *message_end*) exit;; esac; done";
  test.each([
    ["the provider is silent", "--mode json", untilPrompt, [{ waitMs: 60_000 }]],
    ["the provider is silent, in text mode", "", "sleep 0.7", [{ waitMs: 60_000 }]],
    [
      "the next attempt is waited for",
      "--mode json --json-deltas",
      "while read -r line; do case $line in *auto_retry_start*) exit;; esac; done",
      [{ status: 500 }],
    ],
    ["a gate runs", "--mode json --autonomous-gate 'sleep 60'", untilPrompt, [chatReply({ text: "done" })]],
  ])("while %s, and nothing is written", async (_, args, reader, script) => {
    const bench = await createBench(script);
    const { stdout, stderr } = await runScript(
      bench,
      `bc ${args} hi | (${reader}); echo "\${PIPESTATUS[0]}"`,
    );
    expect({ stdout, stderr }).toEqual({ stdout: "141\n", stderr: "" });
    expect(bench.server.requests).toHaveLength(1);
  });

  test("while nothing is written to what a parent on Node made", async () => {
    const bench = await createBench([{ waitMs: 60_000 }]);
    const status = new Promise((resolve) => {
      const run = runCli(["--model", "fake/m", "hi"], {
        workspace: bench.workspace,
        onStart(child) {
          child.on("exit", resolve);
          setTimeout(() => child.stdout?.destroy(), 200);
        },
      });
      // The test's own reader says that it was destroyed.
      run.catch(() => undefined);
    });
    expect(await status).toBe(141);
  });
});

describe("what a slow reader gets is whole", () => {
  test.each([["--mode json"], ["--mode json --json-deltas"]])("with %s", async (args) => {
    const bench = await createBench([long]);
    const { stdout, stderr } = await runScript(bench, `bc ${args} hi | (sleep 1; cat)`);
    expect(stderr).toBe("");
    const lines = parseStream(stdout, { deltas: args.includes("deltas") });
    expect(lines.filter(({ type }) => type === "message_update")).toHaveLength(3002);
    expect(lines.at(-1)?.messages.at(-1)).toMatchObject({ stopReason: "stop" });
  });

  test("a text answer larger than a pipe", async () => {
    const text = "0123456789abcdef\n".repeat(60_000);
    const bench = await createBench([chatReply({ text })]);
    const { stdout, stderr } = await runScript(bench, "bc hi | (sleep 1; cat)");
    expect(stderr).toBe("");
    expect(stdout === text).toBe(true);
  });

  test("a stream that is signalled while its reader sleeps", async () => {
    const bench = await createBench([{ ...long, end: "hang" }]);
    const { stdout } = await runScript(
      bench,
      `$BC --mode json hi > >(sleep 2; cat; echo end) & sleep 1.2; kill $!; wait $!; echo $? >&2; sleep 1.5`,
    );
    const lines = parseStream(stdout.replace(/end\n$/, ""));
    expect(lines.at(-1)?.messages.at(-1)).toMatchObject({ stopReason: "aborted" });
  });
});

test("what a tool writes to its own /dev/stdout and /dev/stderr stays out of the stream", async () => {
  const bench = await createBench([
    calling("echo said; echo aloud >&2; echo there >/dev/stdout; echo here >/dev/stderr; echo x >&3"),
    chatReply({ text: "done" }),
  ]);
  const { status, lines, stderr } = await bench.run(["--mode", "json", "hi"]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const result = lines.find(({ type }) => type === "tool_execution_end")?.result.content[0].text;
  for (const word of ["said", "aloud", "there", "here"]) expect(result).toContain(word);
});

describe("bytes that are no text", () => {
  test("of a tool become valid lines and a valid request", async () => {
    const bench = await createBench([
      calling(
        "printf 'a\\0b\\xff\\xfe \\xf0\\x9f\\x98'; head -c 4096 /dev/urandom; printf '\\u2028\\x1b[31m'",
      ),
      chatReply({ text: "done" }),
    ]);
    const { status, stdout, stderr } = await bench.run(["--mode", "json", "hi"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).not.toMatch(/[\u2028\u2029\0]/);
    expect(stdout).not.toMatch(/\\ud[89ab]..(?!\\ud[c-f])/i);
    expect(bench.server.requests[1]?.body).not.toMatch(/\\ud[89a-f]/i);
  });

  test("of the model: half characters, NUL and line separators", async () => {
    const bench = await createBench([chatReply({ text: ["a\ud83d", "\ude00 \ud83d", "x \u2028\u2029\0"] })]);
    const { stdout, lines } = await bench.run(["--mode", "json", "hi"]);
    expect(stdout).not.toMatch(/[\u2028\u2029\0]/);
    expect(lines.at(-1)?.messages.at(-1).content).toEqual([
      { type: "text", text: "a😀 \ufffdx \u2028\u2029\0" },
    ]);
  });
});

/** The messages in the one session file of a bench. */
function savedMessages({ workspace }: Bench): Line[] {
  const folder = join(workspace.home, "sessions");
  const [file = ""] = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
  return readFileSync(join(folder, file), "utf8")
    .trimEnd()
    .split("\n")
    .map((line): Line => JSON.parse(line))
    .flatMap(({ type, message }) => (type === "message" ? [message] : []));
}
