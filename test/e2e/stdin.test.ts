import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { cliPath } from "../support/run-cli.ts";
import { runScript } from "../support/run-script.ts";
import { handlesSignals } from "../support/signals.ts";
import { type Bench, createBench } from "../support/with-provider.ts";

const answer = chatReply({ text: "done" });
const prompt = (bench: Bench) => bench.server.json(0).messages[1].content;

test("a pipe with text and a message: both are the prompt", async () => {
  const bench = await createBench([answer]);
  expect(await bench.run(["hi"], { stdin: "ctx" })).toMatchObject({
    status: 0,
    stdout: "done\n",
    stderr: "",
  });
  expect(prompt(bench)).toBe("ctx\n\nhi");
});

test("a pipe with text and no message: the text is the prompt", async () => {
  const bench = await createBench([answer]);
  expect(await bench.run([], { stdin: "just this\n" })).toMatchObject({ status: 0, stdout: "done\n" });
  expect(prompt(bench)).toBe("just this");
});

test("piped text that begins with a slash is no session command", async () => {
  const bench = await createBench([answer]);
  expect(await bench.run([], { stdin: "/usr/bin/x: not found" })).toMatchObject({ status: 0 });
  expect(prompt(bench)).toBe("/usr/bin/x: not found");
});

test("an empty pipe and a message: the message is the prompt", async () => {
  const bench = await createBench([answer]);
  expect(await bench.run(["hi"], { stdin: "" })).toMatchObject({ status: 0, stderr: "" });
  expect(prompt(bench)).toBe("hi");
});

test.each([
  ["an empty pipe", ""],
  ["a blank pipe", " \n\n"],
])("%s and no message: status 2", async (_, stdin) => {
  const bench = await createBench([answer]);
  const result = await bench.run(["--mode", "json"], { stdin });
  expect(result).toMatchObject({ status: 2, stdout: "" });
  expect(result.stderr).toMatch(/^base-context: there is no message[^\n]*\n$/);
});

test("a silent open pipe and a message: the run goes on without it and says so", async () => {
  const bench = await createBench([answer]);
  const result = await bench.run(["--stdin-timeout", "200", "hi"], { stdin: "open" });
  expect(result).toMatchObject({ status: 0, stdout: "done\n" });
  expect(result.stderr).toMatch(/^base-context: stdin is open but said nothing for 200 ms[^\n]*\n$/);
  expect(prompt(bench)).toBe("hi");
});

test("a pipe that speaks in time is read to its end, however long that takes", async () => {
  const bench = await createBench([answer]);
  const result = await bench.run(["--stdin-timeout", "2000", "hi"], {
    stdin: "open",
    onStart: (child) => {
      child.stdin?.write("first ");
      setTimeout(() => child.stdin?.end("second"), 2500);
    },
  });
  expect(result).toMatchObject({ status: 0, stderr: "" });
  expect(prompt(bench)).toBe("first second\n\nhi");
});

test("--stdin waits beyond the time limit", async () => {
  const bench = await createBench([answer]);
  const result = await bench.run(["--stdin", "--stdin-timeout", "50", "hi"], {
    stdin: "open",
    onStart: (child) => {
      setTimeout(() => child.stdin?.end("late"), 600);
    },
  });
  expect(result).toMatchObject({ status: 0, stderr: "" });
  expect(prompt(bench)).toBe("late\n\nhi");
});

test("--no-stdin never looks", async () => {
  const bench = await createBench([answer]);
  const result = await bench.run(["--no-stdin", "hi"], { stdin: "ignored" });
  expect(result).toMatchObject({ status: 0, stderr: "" });
  expect(prompt(bench)).toBe("hi");
});

test("a signal ends the wait for stdin", async () => {
  const bench = await createBench([answer]);
  const result = await bench.run(["--stdin", "hi"], {
    stdin: "open",
    onStart: (child) => {
      void handlesSignals(child).then(() => child.kill("SIGTERM"));
    },
  });
  expect(result).toMatchObject({ status: 143, stdout: "" });
});

test("a dash token with white space is a message, and what follows -- is taken literally", async () => {
  for (const [args, text] of [
    [["- fix the test"], "- fix the test"],
    [["---\ntitle: x\n---\ndo it"], "---\ntitle: x\n---\ndo it"],
    [["--", "--help"], "--help"],
    [["--", "@home"], "@home"],
    [["--", "/compact"], "/compact"],
    [["--", "list"], "list"],
  ] as const) {
    const bench = await createBench([answer]);
    expect(await bench.run([...args])).toMatchObject({ status: 0, stdout: "done\n" });
    expect(prompt(bench)).toBe(text);
  }
});

describe("each kind of stdin that a shell can give", () => {
  const silent = /^base-context: stdin is open but said nothing for \d+00 ms[^\n]*\n$/;
  test.each<[string, string, string, RegExp]>([
    ["/dev/null", "bc hi </dev/null", "hi", /^$/],
    ["/dev/null that is awaited", "bc --stdin hi </dev/null", "hi", /^$/],
    ["closed", "bc hi <&-", "hi", /^$/],
    ["a file", "bc hi <notes.txt", "from a file\n\nhi", /^$/],
    ["an empty file", ": >empty; bc hi <empty", "hi", /^$/],
    ["a file and no message", "bc <notes.txt", "from a file", /^$/],
    ["a here-document", "bc hi <<<'from here'", "from here\n\nhi", /^$/],
    ["a directory", "bc hi </tmp", "hi", /^$/],
    ["one that cannot be read", "bc hi 0>unreadable", "hi", /^base-context: stdin cannot be read[^\n]*\n$/],
    ["a pipe that never speaks", "bc hi < <(exec sleep 30)", "hi", silent],
    ["a FIFO that never speaks", "mkfifo f; exec 9<>f; bc --stdin-timeout 300 hi <f", "hi", silent],
    ["a pipe that never speaks, not looked at", "bc --no-stdin hi < <(exec sleep 30)", "hi", /^$/],
    ["a pipe that speaks late", "bc hi < <(sleep 1; echo ctx)", "ctx\n\nhi", /^$/],
    [
      "a pipe that speaks, then takes its time",
      "bc --stdin-timeout 500 hi < <(echo a; sleep 1; echo b)",
      "a\nb\n\nhi",
      /^$/,
    ],
    ["a slow pipe and no message", "bc --stdin-timeout 500 < <(sleep 1; echo late)", "late", /^$/],
    ["a pipe and a lone dash", "bc --stdin-timeout 500 - hi < <(sleep 1; echo late)", "late\n\nhi", /^$/],
    ["a terminal", `script -qec "$BC hi >out 2>err" /dev/null; cat out; cat err >&2`, "hi", /^$/],
  ])("%s", async (_, script, text, stderr) => {
    const bench = await createBench([answer]);
    bench.workspace.file("notes.txt", "from a file\n");
    const result = await runScript(bench, script, { timeoutMs: 15_000 });
    expect(result).toEqual({ status: 0, stdout: "done\n", stderr: expect.stringMatching(stderr) });
    expect(prompt(bench)).toBe(text);
  });

  test.each([
    ["/dev/null", "bc </dev/null"],
    ["closed", "bc <&-"],
    ["a directory", "bc </tmp"],
    ["one that cannot be read", "bc 0>unreadable"],
    ["a terminal", `script -qec "$BC >out 2>err" /dev/null; status=$?; cat err >&2; exit $status`],
  ])("%s without a message is status 2", async (_, script) => {
    const bench = await createBench([answer]);
    const { status, stdout, stderr } = await runScript(bench, script);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(/^base-context: [^\n]*message[^\n]*\n$/);
    expect(bench.server.requests).toEqual([]);
  });
});

describe("a socket, as a parent on Node gives it", () => {
  test("that speaks is read", async () => {
    const bench = await createBench([answer]);
    expect(await overSocket(bench, (socket) => socket.end("ctx"))).toEqual({ status: 0, stderr: "" });
    expect(prompt(bench)).toBe("ctx\n\nhi");
  });

  test("that stays silent is left alone", async () => {
    const bench = await createBench([answer]);
    const { status, stderr } = await overSocket(bench, () => undefined);
    expect(status).toBe(0);
    expect(stderr).toContain("said nothing for 300 ms");
  });
});

/** Runs the program with one end of a socket as its stdin. */
async function overSocket(
  { workspace }: Bench,
  act: (other: Socket) => void,
): Promise<{ status: number; stderr: string }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(workspace.home, "socket"), resolve));
  const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
  const own = connect(join(workspace.home, "socket"));
  const other = await accepted;
  const child = spawn(process.execPath, [cliPath, "--model", "fake/m", "--stdin-timeout", "300", "hi"], {
    cwd: workspace.cwd,
    env: { PATH: process.env.PATH, HOME: workspace.home, BASE_CONTEXT_HOME: workspace.home },
    stdio: [own, "ignore", "pipe"],
    timeout: 15_000,
  });
  own.destroy();
  act(other);
  const [stderr, [status]] = await Promise.all([text(child.stderr), once(child, "exit")]);
  other.destroy();
  server.close();
  return { status, stderr };
}
