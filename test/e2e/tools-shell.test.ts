import type { ChildProcess } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ToolResultMessage } from "../../src/contract/messages.ts";
import { type Line, parseStream } from "../support/run-cli.ts";
import { runScript } from "../support/run-script.ts";
import {
  callsOf,
  createToolBench,
  halfCharacters,
  resultsIn,
  type ToolBench,
  textOf,
} from "../support/tool-bench.ts";
import { createBench } from "../support/with-provider.ts";
import { processesWith, uniqueSleep } from "../tools/processes.ts";

const bash = (...commands: string[]) => callsOf("bash", ...commands.map((command) => ({ command })));
const limited = (command: string, timeout: number) => callsOf("bash", { command, timeout });

/** A result's details, loosely typed. */
function factsOf(result: ToolResultMessage | undefined): Line {
  return Object(result?.details);
}

function killAtEnd(text: string): void {
  onTestFinished(() => {
    for (const pid of processesWith(text)) process.kill(pid, "SIGKILL");
  });
}

describe("a command's end", () => {
  const cases: [command: string, text: string | RegExp, details: object][] = [
    ["echo hi", "hi\n", { exitCode: 0 }],
    ["true", "(no output)", { exitCode: 0 }],
    ["echo hi; exit 3", "ERROR: hi\n\nCommand exited with code 3", { exitCode: 3 }],
    ["exit 255", "ERROR: Command exited with code 255", { exitCode: 255 }],
    ["no-such-command", /^ERROR: .*not found\n\nCommand exited with code 127$/s, { exitCode: 127 }],
    ["if", /^ERROR: .*syntax error.*\n\nCommand exited with code 2$/s, { exitCode: 2 }],
    ["echo hi; kill -KILL $$", "ERROR: hi\n\nCommand was killed by SIGKILL", { signal: "SIGKILL" }],
    ["kill -TERM $$", "ERROR: Command was killed by SIGTERM", { signal: "SIGTERM" }],
    ["cat; echo end", "end\n", { exitCode: 0 }],
    ["read -p 'sure? ' x || echo no one", "no one\n", { exitCode: 0 }],
    ["pwd -P | grep -c /work$", "1\n", { exitCode: 0 }],
    ["cd /; x=1", "(no output)", { exitCode: 0 }],
    ['echo "$x"; pwd -P | grep -c /work$', "\n1\n", { exitCode: 0 }],
    [`echo ${"x".repeat(200_000)} | wc -c`, "200001\n", { exitCode: 0 }],
  ];
  test("is in its result, with its status in the text when it is no success", async () => {
    const bench = await createToolBench(cases.map(([command]) => bash(command)));
    const { results, status, stderr } = await bench.runTools();
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(results.map((result) => [textOf(result), result.details])).toEqual(
      cases.map(([, text, details]) => [
        typeof text === "string" ? text : expect.stringMatching(text),
        { durationMs: expect.any(Number), ...details },
      ]),
    );
  });
});

describe("a time limit", () => {
  test("is in seconds, and nothing of the command survives it, in spite of traps and sessions", async () => {
    const seconds = uniqueSleep();
    const command = `echo before; (trap '' TERM; exec sleep ${seconds}) & setsid sleep ${seconds} & sleep ${seconds}`;
    const bench = await createToolBench([limited(command, 1)]);
    const { results } = await bench.runTools();
    expect(processesWith(seconds)).toEqual([]);
    expect(results.map(textOf)).toEqual(["ERROR: before\n\nCommand timed out after 1 s and was killed"]);
    const { durationMs } = factsOf(results[0]);
    expect(durationMs).toBeGreaterThan(1000);
    expect(durationMs).toBeLessThan(4500);
  });

  test("ends a stopped process too", async () => {
    const bench = await createToolBench([limited("kill -STOP $$", 0.5)]);
    expect((await bench.runTools()).results.map(textOf)).toEqual([
      "ERROR: Command timed out after 0.5 s and was killed",
    ]);
  });
});

test("a process in the background does not hold the call, and is told of", async () => {
  const seconds = uniqueSleep();
  killAtEnd(seconds);
  const bench = await createToolBench(
    ["", "setsid "].map((prefix) => bash(`${prefix}sleep ${seconds} & echo up`)),
  );
  const { results } = await bench.runTools();
  const note = /^up\n\n\[Still running in the background: 1 process, pid \d+\./;
  for (const result of results) {
    expect(textOf(result)).toMatch(note);
    expect(factsOf(result).durationMs).toBeLessThan(3000);
  }
  expect(processesWith(seconds)).toHaveLength(2);
});

describe("an output that is more than the model sees", () => {
  function spillOf(result: ToolResultMessage | undefined): { path: string; text: string } {
    const { fullOutputPath: path } = factsOf(result);
    return { path, text: readFileSync(path, "utf8") };
  }

  test("is shown from its end, and whole in a file that the result names", async () => {
    const bench = await createToolBench([bash("seq 1 200000"), bash("seq 1 2000"), bash("seq 1 2001")]);
    const { results } = await bench.runTools();
    const [long, fits, over] = results;
    const { path, text } = spillOf(long);
    const lines = Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`);
    expect(text).toBe(lines.join(""));
    expect(long && textOf(long)).toBe(
      `${lines.slice(-2000).join("")}\n[Output cut: shown are the last 2000 of 200000 lines, 1288895 bytes in all. Whole output: ${path}]`,
    );
    expect(fits && textOf(fits)).toBe(lines.slice(0, 2000).join(""));
    expect(over && textOf(over)).toMatch(/^2\n.*shown are the last 2000 of 2001 lines/s);
    expect([path, join(path, "..")].map((each) => statSync(each).mode & 0o777)).toEqual([0o600, 0o700]);
    expect(path.startsWith(bench.workspace.home)).toBe(true);
  });

  test("is the same where no file can be made, and says so", async () => {
    const bench = await createToolBench([bash("seq 1 3000")]);
    writeFileSync(join(bench.workspace.home, "spill"), "in the way");
    const { results, status } = await bench.runTools([], { env: { TMPDIR: "/nonexistent" } });
    expect(status).toBe(0);
    expect(results.map(textOf)).toEqual([
      expect.stringMatching(/^1001\n.*3000\n\n\[Output cut: .* The whole output could not be kept: .*\]$/s),
    ]);
  });

  test("ends the command at the limit of the settings", async () => {
    const bench = await createToolBench([bash("yes")]);
    bench.workspace.homeFile("settings.json", { shell: { maxSpillBytes: 1_000_000 } });
    const { results } = await bench.runTools();
    expect(results.map(textOf)).toEqual([
      expect.stringMatching(
        /^ERROR: .*\n\nCommand was killed: its output exceeded the limit of 1000000 bytes$/s,
      ),
    ]);
    expect(spillOf(results[0]).text).toBe("y\n".repeat(500_000));
  });
});

describe.skipIf(process.platform !== "linux")("a flood takes at most 60 MB more than an idle run", () => {
  const floods: [string, command: object][] = [
    ["yes", { command: "yes", timeout: 3 }],
    ["a line of a gigabyte", { command: "head -c 1000000000 /dev/zero | tr '\\0' x" }],
    ["200,000 lines", { command: "seq 1 200000" }],
    ["a flood where no temporary file can be made", { command: "head -c 100000000 /dev/zero | tr '\\0' x" }],
  ];
  test.each(floods)(
    "%s",
    async (name, args) => {
      const idle = await peakBytes(await createToolBench([]), {});
      const env = name.includes("temporary") ? { TMPDIR: "/nonexistent" } : {};
      const bench = await createToolBench([callsOf("bash", args)]);
      expect((await peakBytes(bench, env)) - idle).toBeLessThan(60 * 1024 * 1024);
    },
    120_000,
  );
});

/** The most memory that a run ever had. */
async function peakBytes(bench: ToolBench, env: Record<string, string>): Promise<number> {
  let peak = 0;
  let timer: NodeJS.Timeout | undefined;
  const look = ({ pid }: ChildProcess): void => {
    try {
      const status = readFileSync(`/proc/${pid}/status`, "utf8");
      peak = Math.max(peak, 1024 * Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0));
    } catch {
      // It has ended.
    }
  };
  const { status } = await bench.runTools([], {
    env,
    timeoutMs: 100_000,
    onStart: (child) => {
      timer = setInterval(() => look(child), 10);
    },
  });
  clearInterval(timer);
  expect(status).toBe(0);
  return peak;
}

test("bytes of both outputs become text, whatever comes between them, and the next request is whole", async () => {
  const emoji = `import os,time;b="🙂".encode();os.write(1,b[:1]);time.sleep(.05);os.write(2,b"err\\n");time.sleep(.05);os.write(1,b[1:])`;
  const bench = await createToolBench([
    bash(`python3 -c '${emoji}'`),
    bash("printf 'a\\0b\\xff\\xfe \\xf0\\x9f\\x98'; head -c 4096 /dev/urandom"),
    bash("printf '\\x1b[31mred\\x1b[0m \\x1b]0;title\\x07plain'"),
    bash(`printf a; printf '😀%.0s' $(seq 1 20000)`),
  ]);
  const { results, stdout } = await bench.runTools();
  const texts = results.map(textOf);
  expect(texts[0]).toBe("err\n🙂");
  expect(texts[1]).toMatch(/^a\ufffdb\ufffd\ufffd /);
  expect(texts[2]).toBe("red plain");
  expect(texts[3]).toMatch(/^(😀)+\n\n\[Output cut: /u);
  for (const { body } of bench.server.requests) {
    expect(halfCharacters(body)).toEqual([]);
    expect(body).not.toMatch(/\\u00(0[0-8bcef]|1|7f)/i);
  }
  expect(halfCharacters(stdout)).toEqual([]);
});

test("updates hold the output so far, at most one in 100 ms", async () => {
  const bench = await createToolBench([bash("for i in $(seq 1 20); do echo $i; sleep 0.05; done")]);
  const { lines, results } = await bench.runTools();
  const updates = lines.filter(({ type }) => type === "tool_execution_update");
  const texts = updates.map(({ partialResult }) => partialResult.content[0]?.text ?? "");
  const whole = results.map(textOf).join("");
  for (const text of texts) expect(whole.startsWith(text)).toBe(true);
  expect(new Set(texts).size).toBeGreaterThan(3);
  const { durationMs } = factsOf(results[0]);
  expect(updates.length).toBeLessThanOrEqual(durationMs / 100 + 1);
});

describe("the environment of children", () => {
  const env = {
    OPENAI_API_KEY: "sk-openai-12345678",
    ANTHROPIC_API_KEY: "sk-anthropic-12345678",
    GROQ_API_KEY: "gsk-12345678",
    RENAMED: "test-key-12345678",
    MINE: "visible",
  };
  const shell = "env | grep -c API_KEY; env | grep -E '^(MINE|RENAMED)='";
  const python = "import os; print(sum('API_KEY' in k for k in os.environ), 'RENAMED' in os.environ)";
  const calls = [bash(shell), callsOf("ipython", { code: python })];

  test("has no credential of a provider", async () => {
    const bench = await createToolBench(calls);
    const { results } = await bench.runTools([], { env });
    expect(results.map(textOf)).toEqual(["0\nMINE=visible\n", "0 False"]);
  });

  test("has the one that is named", async () => {
    const bench = await createToolBench(calls);
    const { results } = await bench.runTools(["--pass-env", "GROQ_API_KEY"], { env });
    expect(results.map(textOf)).toEqual(["1\nMINE=visible\n", "1 False"]);
  });
});

/** Runs the program within a terminal; gives the results. */
async function onTerminal(bench: ToolBench): Promise<string[]> {
  await runScript(bench, `script -qec "$BC --mode json hi > out" /dev/null </dev/null`);
  const lines: readonly Line[] = parseStream(readFileSync(join(bench.workspace.cwd, "out"), "utf8"));
  return resultsIn(lines).map(textOf);
}

describe("what would wait for a person on the terminal fails at once:", () => {
  const git = "git -c user.name=a -c user.email=a@b";
  const cases: [string, command: string, text: RegExp][] = [
    ["a message for a commit", `${git} commit --allow-empty`, /^ERROR: .*editor 'false'/s],
    ["the list of a rebase", `${git} rebase -i --root`, /^ERROR: .*editor 'false'/s],
    ["an editor by name", "vi x", /^ERROR: .*exited with code (1|127)$/s],
    ["a pager", "seq 1 100 | less | tail -1; git log --oneline | cat", /^100\n\S+ first\n$/],
    ["a password", "python3 -c 'import getpass; getpass.getpass()'", /^ERROR: .*EOFError/s],
    ["the terminal itself", "read x </dev/tty", /^ERROR: .*\/dev\/tty/s],
    ["a terminal's presence", "tty; test -t 0 || test -t 1 || test -t 2", /^ERROR: not a tty\n/],
    ["a login over http", "git ls-remote $URL/x", /^ERROR: .*terminal prompts disabled/s],
  ];
  test.each(cases)("%s", async (_, command, text) => {
    const guarded = await createBench([{ status: 401, headers: { "www-authenticate": "Basic" } }]);
    const prepare = `git init -q && git config core.editor vi && ${git} commit -q --allow-empty -m first`;
    const bench = await createToolBench([
      bash(`${prepare} && ${command.replace("$URL", guarded.server.url)}`),
    ]);
    const startedAt = performance.now();
    expect(await onTerminal(bench)).toEqual([expect.stringMatching(text)]);
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });
});
