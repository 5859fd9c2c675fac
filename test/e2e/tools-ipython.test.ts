import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import type { RequestJson } from "../support/provider-server.ts";
import { callsOf, createToolBench, resultsIn, textOf } from "../support/tool-bench.ts";
import { createBench } from "../support/with-provider.ts";
import { processesWith, uniqueSleep, untilRunning } from "../tools/processes.ts";

type Cell = [code: string, text: string | RegExp, timeout?: number];

const restarted =
  "\n\n[A new Python process was started: variables, imports and definitions of earlier calls are gone.]";
const isGone = "Its state is gone; the next call starts a new one. Nothing is run again by itself.";

/** Runs cells in one session, a message each. With `hidden`, IPython cannot be imported. */
async function runCells(cells: readonly Cell[], hidden: boolean): Promise<string[]> {
  const bench = await createToolBench(
    cells.map(([code, , timeout]) =>
      callsOf("ipython", timeout === undefined ? { code } : { code, timeout }),
    ),
  );
  const env: Record<string, string> = {};
  if (hidden) {
    env.PYTHONPATH = join(bench.workspace.home, "hiding");
    mkdirSync(env.PYTHONPATH);
    writeFileSync(join(env.PYTHONPATH, "IPython.py"), "raise ImportError\n");
  }
  const { results, status } = await bench.runTools([], { env, timeoutMs: 60_000 });
  expect(status).toBe(0);
  return results.map(textOf);
}

function expected(cells: readonly Cell[]): unknown[] {
  return cells.map(([, text]) => (typeof text === "string" ? text : expect.stringMatching(text)));
}

const modes: [string, boolean][] = [["plain Python", true]];
if (canImport("IPython")) modes.push(["IPython", false]);

describe.each(modes)("%s", (_, hidden) => {
  test("keeps its state, shows values and faults, and has no one to ask", async () => {
    const cells: Cell[] = [
      ["x = 41\nimport json", "(no output)"],
      ["print('a'); x + 1", "a\n42"],
      ["def f():\n    return json.dumps([x])\nf()", "'[41]'"],
      ["1 / 0", /^ERROR: .*1 \/ 0.*ZeroDivisionError: division by zero/s],
      ["def f(:", /^ERROR: .*SyntaxError/s],
      ["input('name? ')", /^ERROR: .*EOFError: input\(\) cannot be answered/s],
      ["open('/dev/tty')", /^ERROR: .*OSError/s],
      ["import sys; print('err', file=sys.stderr); sys.stdin.read()", /^(err\n''|''\nerr)$/],
      ["import sys; sys.exit(3)", /^ERROR: .*SystemExit/s],
      ["print('\\ud83d')", "?"],
      ["print('a\\0b')", "a\ufffdb"],
      ["import os; os.system('echo shell'); x", "shell\n41"],
    ];
    expect(await runCells(cells, hidden)).toEqual(expected(cells));
  }, 60_000);

  test("ends a cell at its time limit, and comes back when it died", async () => {
    const cells: Cell[] = [
      ["x = 1", "(no output)"],
      [
        "import time; time.sleep(1e6)",
        /^ERROR: .*KeyboardInterrupt.*The code timed out after 1 s and was interrupted; the state of the process is kept\.$/s,
        1,
      ],
      ["x + 1", "2"],
      ["import os; os._exit(1)", `ERROR: The Python process died: it exited with code 1. ${isGone}`],
      ["1 + 1", `2${restarted}`],
      ["x", /^ERROR: .*NameError/s],
      [
        "import signal, time; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}); time.sleep(1e6)",
        `ERROR: The code timed out after 1 s; the Python process was killed. ${isGone}`,
        1,
      ],
      ["1 + 1", `2${restarted}`],
      ["while True: print('x' * 10000)", /^ERROR: .*The code timed out after 1 s and was interrupted/s, 1],
      ["1 + 1", "2"],
    ];
    expect(await runCells(cells, hidden)).toEqual(expected(cells));
  }, 60_000);

  test("does not wait for what a cell left in the background", async () => {
    const seconds = uniqueSleep();
    onTestFinished(() => {
      for (const pid of processesWith(seconds)) process.kill(pid, "SIGKILL");
    });
    const cells: Cell[] = [
      [
        `import subprocess; child = subprocess.Popen(["sleep", "${seconds}"])`,
        /^\(no output\)\n\n\[Still running in the background: 1 process/,
      ],
      ["child.poll() is None", "True"],
    ];
    expect(await runCells(cells, hidden)).toEqual(expected(cells));
  });
});

test("a session that goes on later has a new process, and its first call says so", async () => {
  const bench = await createBench([
    chatReply({ calls: callsOf("ipython", { code: "x = 1" }) }),
    chatReply({ text: "done" }),
    chatReply({ calls: callsOf("ipython", { code: "1 + 1" }) }),
    chatReply({ calls: callsOf("ipython", { code: "2 + 2" }) }),
    chatReply({ text: "done" }),
  ]);
  const first = await bench.run(["--mode", "json", "hi"]);
  const second = await bench.run(["--mode", "json", "-c", "go on"]);
  const texts = [first, second].map(({ lines }) => resultsIn(lines).map(textOf));
  expect(texts).toEqual([["(no output)"], [`2${restarted}`, "4"]]);
});

test.skipIf(!canImport("IPython"))("IPython runs commands and magics", async () => {
  const cells: Cell[] = [
    ["!echo shell", "shell"],
    ["files = !ls -d /\nfiles", "['/']"],
    ["%timeit -n1 -r1 1", /± .* per loop/],
    ["%%bash\necho cell", "cell"],
    ["import asyncio\nawait asyncio.sleep(0, 5)", "5"],
  ];
  expect(await runCells(cells, false)).toEqual(expected(cells));
});

test("output beyond the limit of the settings ends the cell", async () => {
  const bench = await createToolBench([
    callsOf("ipython", { code: "while True: print('x' * 99)" }),
    callsOf("ipython", { code: "1 + 1" }),
  ]);
  bench.workspace.homeFile("settings.json", { shell: { maxSpillBytes: 1_000_000 } });
  const { results } = await bench.runTools();
  expect(results.map(textOf)).toEqual([
    expect.stringMatching(
      /^ERROR: .*The code was stopped: its output exceeded the limit of 1000000 bytes and/s,
    ),
    "2",
  ]);
});

test("output comes while a cell runs", async () => {
  const code = "import time\nfor i in range(4):\n    print(i)\n    time.sleep(0.15)";
  const bench = await createToolBench([callsOf("ipython", { code })]);
  const { lines } = await bench.runTools();
  const updates = lines.filter(({ type }) => type === "tool_execution_update");
  expect(updates.map(({ partialResult }) => partialResult.content[0]?.text)).toContain("0\n1\n");
});

test("a signal ends the cell, its processes and the interpreter, and leaves no folder", async () => {
  const seconds = uniqueSleep();
  const code = `import subprocess; subprocess.run("setsid sleep ${seconds} & sleep ${seconds}", shell=True)`;
  const bench = await createBench([chatReply({ calls: [{ name: "ipython", args: { code } }] })]);
  const temporary = join(bench.workspace.home, "tmp");
  mkdirSync(temporary);
  const result = await bench.run(["--mode", "json", "hi"], {
    env: { TMPDIR: temporary },
    onStart: (child) => void untilRunning(seconds).then(() => child.kill("SIGTERM")),
  });
  expect(result.status).toBe(143);
  expect(result.lines.find(({ type }) => type === "tool_execution_end")).toMatchObject({ isError: true });
  expect([processesWith(seconds), readdirSync(temporary)]).toEqual([[], []]);
});

describe("which Python", () => {
  const offered = ({ tools }: RequestJson): string[] => tools.map((tool: RequestJson) => tool.function.name);
  const others = ["read", "bash", "edit", "write", "grep", "find", "ls"];

  test("is BASE_CONTEXT_PYTHON, which gets no credential", async () => {
    const bench = await createToolBench([callsOf("ipython", { code: "1" })]);
    const python = bench.workspace.file(
      "python",
      '#!/bin/sh\necho "$@" | head -c 2 > args; echo no; exit 7\n',
    );
    execFileSync("chmod", ["+x", python]);
    const { results } = await bench.runTools([], { env: { BASE_CONTEXT_PYTHON: python } });
    expect(offered(bench.server.json(0))).toEqual([...others, "ipython"]);
    expect(results.map(textOf)).toEqual([`ERROR: ${python} could not be started: it exited with code 7\nno`]);
    expect(existsSync(join(bench.workspace.cwd, "args"))).toBe(true);
  });

  test.each([
    ["that does not exist", { BASE_CONTEXT_PYTHON: "/nonexistent" }, /BASE_CONTEXT_PYTHON is \/nonexistent/],
    ["that is nowhere on the PATH", { PATH: "/nonexistent" }, /no python3 or python on the PATH/],
  ])("%s is not offered, and refused when it is asked for", async (_, env, why) => {
    const bench = await createToolBench([callsOf("ipython", { code: "1" })]);
    const { results, status } = await bench.runTools([], { env });
    expect(status).toBe(0);
    expect(offered(bench.server.json(0))).toEqual(others);
    expect(results.map(textOf)).toEqual([
      `ERROR: There is no tool "ipython". The tools are: ${others.join(", ")}.`,
    ]);
    const refused = await bench.runTools(["--tools", "read,ipython"], { env });
    expect([refused.status, refused.stdout, refused.stderr]).toEqual([2, "", expect.stringMatching(why)]);
    expect(refused.stderr.trimEnd().split("\n")).toHaveLength(1);
    expect(bench.server.requests).toHaveLength(2);
  });
});

describe("--tools and --no-tools", () => {
  test.each([
    [
      ["--tools", "grep,read"],
      ["read", "grep"],
    ],
    [["--tools", " ls , ls "], ["ls"]],
    [["--no-tools"], undefined],
  ])("%j", async (args, names) => {
    const bench = await createToolBench([callsOf("bash", { command: "touch made" })]);
    const { results, status } = await bench.runTools(args);
    const { tools } = bench.server.json(0);
    expect(tools?.map((tool: { function: { name: string } }) => tool.function.name)).toEqual(names);
    expect([status, results.map(textOf)]).toEqual([
      0,
      [`ERROR: There is no tool "bash". The tools are: ${names?.join(", ") ?? "none"}.`],
    ]);
    expect(existsSync(join(bench.workspace.cwd, "made"))).toBe(false);
  });

  test.each([
    [["--tools", "raed"], /unknown tool "raed": did you mean read\?/],
    [["--tools", ""], /--tools/],
    [["--tools", "read", "--no-tools"], /--no-tools/],
  ])("%j is refused", async (args, why) => {
    const bench = await createToolBench([]);
    const { status, stderr, stdout } = await bench.runTools(args);
    expect([status, stdout, stderr]).toEqual([2, "", expect.stringMatching(why)]);
    expect(bench.server.requests).toHaveLength(0);
  });
});

function canImport(module: string): boolean {
  try {
    execFileSync("python3", ["-c", `import ${module}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
