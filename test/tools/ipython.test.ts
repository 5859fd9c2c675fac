import { execFileSync } from "node:child_process";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { JsonObject } from "../../src/contract/json.ts";
import type { ToolContext } from "../../src/contract/tool.ts";
import { createIpythonTool } from "../../src/tools/ipython.ts";
import { findPython } from "../../src/tools/python/find-python.ts";
import { childEnv } from "../../src/tools/shell/child-env.ts";
import { killAllGroups } from "../../src/tools/shell/kill-all.ts";
import { processesWith, uniqueSleep, untilRunning } from "./processes.ts";
import { temporaryFolder } from "./shell/temporary-folder.ts";
import { toolContext } from "./tool-context.ts";

type Python = (code: string, args?: JsonObject, context?: Partial<ToolContext>) => Promise<string>;

const found = findPython(process.env);
const path = found.found ? found.path : "";
const hasIpython = found.found && canImport("IPython");

/** Makes a session that ends with the test. Its calls give the text, after `ERROR: ` when it is an error. */
async function session(withIpython: boolean, env: Record<string, string> = {}): Promise<Python> {
  const folder = await temporaryFolder();
  // A module of this name that cannot be imported hides the real one.
  const hiding = join(folder, "hiding");
  await mkdir(hiding);
  await writeFile(join(hiding, "IPython.py"), "raise ImportError\n");
  const tool = createIpythonTool({
    python: path,
    env: {
      ...childEnv(process.env, { credentialNames: [], passEnv: [] }),
      ...(withIpython ? {} : { PYTHONPATH: hiding }),
      ...env,
    },
    secrets: ["sk-very-secret"],
    spillFolder: join(folder, "spill"),
    maxSpillBytes: 1e9,
  });
  onTestFinished(async () => {
    await tool.close?.();
    killAllGroups();
  });
  return async (code, args = {}, context = {}) => {
    const { content, isError } = await tool.execute(
      { code, ...args },
      toolContext({ cwd: folder, ...context }),
    );
    const text = content.map((block) => (block.type === "text" ? block.text : "")).join("");
    return isError ? `ERROR: ${text}` : text;
  };
}

const restarted =
  "[A new Python process was started: variables, imports and definitions of earlier calls are gone.]";
const modes: [string, boolean][] = [["plain Python", false]];
if (hasIpython) modes.push(["IPython", true]);

describe.skipIf(!found.found).each(modes)("%s", (_mode, withIpython) => {
  test("keeps its state from call to call", async () => {
    const python = await session(withIpython);
    const answers = [
      await python("x = 20"),
      await python("def double(n):\n    return 2 * n\nprint('defined')"),
      await python("double(x) + 2"),
      await python("_"),
      await python("None"),
      await python(""),
    ];
    expect(answers).toEqual(["(no output)", "defined", "42", "42", "(no output)", "(no output)"]);
  });

  test("returns what is printed, by whom ever, and the value below it", async () => {
    const python = await session(withIpython);
    const code =
      "import os, subprocess, sys\nos.system('echo one')\nsubprocess.run('echo two > /dev/stdout', shell=True)";
    expect(await python(`${code}\nprint('three', end='')\n4`)).toBe("one\ntwo\nthree\n4");
    expect(await python("sys.stdout.write('abc')")).toBe("abc\n3");
    // Two pipes have no common order.
    const both = await python("os.system('echo err > /dev/stderr')");
    expect(both.split("\n").sort()).toEqual(["0", "err"]);
  });

  test("returns tracebacks with the lines of the code", async () => {
    const python = await session(withIpython);
    const text = await python("def f():\n    return 1 / 0\nf()");
    expect(text).toMatch(/^ERROR: [\s\S]*return 1 \/ 0[\s\S]*ZeroDivisionError: division by zero$/);
    expect(await python("x y")).toMatch(/^ERROR: [\s\S]*x y[\s\S]*SyntaxError: invalid syntax$/);
    expect(await python("import sys; sys.exit(3)")).toMatch(/^ERROR: [\s\S]*SystemExit: 3/);
    expect(await python("1 + 1")).toBe("2");
  });

  test.each(["1/0", "def f(:", "raise ValueError('no')"])(
    "says the same of the same fault: %s",
    async (code) => {
      const python = await session(withIpython);
      const first = await python(code);
      expect(first).toMatch(/^ERROR: /);
      expect(await python(code)).toBe(first);
    },
  );

  test.each([
    "import os; os.close(1); os.close(2)",
    "import os; os.dup2(os.open('log', os.O_CREAT | os.O_WRONLY), 1)",
    "import sys; sys.stdout.close(); sys.stderr.close()",
    "import io, sys; sys.stdout = sys.stderr = io.StringIO()",
    "import os; os.close(1); print('lost')",
    "import sys; sys.stdout = None; 1/0",
  ])("is heard again after %s", async (code) => {
    const python = await session(withIpython);
    await python("x = 41");
    await python(code);
    const text = await python("import sys; print('out'); _ = print('err', file=sys.stderr); x + 1");
    expect(text.split("\n").sort()).toEqual(["42", "err", "out"]);
  });

  test("shows values and faults to the model, wherever the code prints to", async () => {
    const python = await session(withIpython);
    expect(await python("import io, sys; sys.stdout = io.StringIO(); 1 + 1")).toBe("2");
    expect(await python("sys.stdout = io.StringIO(); 1 / 0")).toMatch(/^ERROR: .*ZeroDivisionError/s);
  });

  test("has no one to answer", async () => {
    const python = await session(withIpython);
    expect(await python("input('name? ')")).toMatch(
      /^ERROR: [\s\S]*EOFError: input\(\) cannot be answered: no one is there$/,
    );
    expect(await python("open('/dev/tty')")).toMatch(/^ERROR: [\s\S]*OSError/);
  });

  test("makes text of everything", async () => {
    const python = await session(withIpython);
    expect(await python("print('\\ud83d'); print('🙂 é')")).toBe("?\n🙂 é");
    expect(await python("import os; n = os.write(1, b'a\\0\\xff\\n')")).toBe("a\uFFFD\uFFFD");
    expect(await python("'sk-very-secret'")).toBe("'[redacted]'");
  });

  test("is interrupted at the end of its time and keeps its state", async () => {
    const python = await session(withIpython);
    await python("x = 1");
    const text = await python("import time\nprint('before')\ntime.sleep(1e6)", { timeout: 0.5 });
    expect(text).toMatch(
      /^ERROR: before\n[\s\S]*KeyboardInterrupt[\s\S]*The code timed out after 0.5 s and was interrupted/,
    );
    expect(await python("x")).toBe("1");
  });

  test("is interrupted together with the processes that it waits for", async () => {
    const python = await session(withIpython);
    const seconds = uniqueSleep();
    expect(await python(`import os; x = os.system('sleep ${seconds}')`, { timeout: 0.5 })).toMatch(
      /^ERROR: .*timed out/s,
    );
    expect(processesWith(seconds)).toEqual([]);
    expect(await python("x != 0")).toBe("True");
  });

  test("is killed when it cannot be interrupted, and started again", async () => {
    const python = await session(withIpython);
    const block =
      "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})\nx = 1\ntime.sleep(1e6)";
    const text = await python(block, { timeout: 0.5 });
    expect(text).toBe(
      "ERROR: The code timed out after 0.5 s; the Python process was killed. Its state is gone; the next call starts a new one. Nothing is run again by itself.",
    );
    expect(await python("'x' in globals()")).toBe(`False\n\n${restarted}`);
    expect(await python("1 + 1")).toBe("2");
  });

  test("that dies says so and is started again", async () => {
    const python = await session(withIpython);
    expect(await python("import os; print('last words', flush=True); os._exit(7)")).toBe(
      "ERROR: last words\n\nThe Python process died: it exited with code 7. Its state is gone; the next call starts a new one. Nothing is run again by itself.",
    );
    expect(await python("1 + 1")).toBe(`2\n\n${restarted}`);
  });

  test("leaves nothing behind when it is aborted", async () => {
    const python = await session(withIpython);
    const seconds = uniqueSleep();
    const controller = new AbortController();
    const code = `import subprocess; subprocess.run(['setsid', 'sleep', '${seconds}'])`;
    const running = python(code, {}, { signal: controller.signal });
    await untilRunning(seconds);
    controller.abort();
    expect(await running).toMatch(/^ERROR: The code was aborted/);
    expect(processesWith(seconds)).toEqual([]);
  });

  test("does not wait for a process in the background", async () => {
    const python = await session(withIpython);
    const seconds = uniqueSleep();
    const startedAt = performance.now();
    const text = await python(`import subprocess; p = subprocess.Popen(['sleep', '${seconds}'])`);
    const [pid] = processesWith(seconds);
    expect(text).toBe(
      `(no output)\n\n[Still running in the background: 1 process, pid ${pid}. Further output of theirs is not shown.]`,
    );
    expect(await python("1")).toBe("1");
    expect(performance.now() - startedAt).toBeLessThan(10_000);
  });

  test("is not led astray by files of the working folder", async () => {
    const python = await session(withIpython);
    const cwd = await temporaryFolder();
    for (const name of ["json", "signal", "IPython", "mine"])
      await writeFile(join(cwd, `${name}.py`), "x = 1\n");
    expect(await python("import mine; mine.x", {}, { cwd })).toBe("1");
    expect(await python("get_ipython() is not None", {}, { cwd })).toMatch(
      withIpython ? "True" : "NameError",
    );
  });

  test("may fork", async () => {
    const python = await session(withIpython);
    const code = "import os\nif os.fork() == 0: print('child')\nelse: os.wait(); print('parent')";
    expect(await python(code)).toBe("child\nparent");
    expect(await python("1")).toBe("1");
  });

  test("floods within bounds", async () => {
    const python = await session(withIpython);
    const updates: number[] = [];
    const onUpdate = (update: unknown): number => updates.push(JSON.stringify(update).length);
    const text = await python("while True: print('x' * 10000)", { timeout: 1 }, { onUpdate });
    expect(text.length).toBeLessThan(60_000);
    expect(text).toMatch(/Output cut: .* Whole output: .*timed out after 1 s/s);
    expect(updates.length).toBeLessThan(15);
    expect(Math.max(...updates)).toBeLessThan(20_000);
  });

  test("starts four times at once, with a home folder that cannot be written", async () => {
    const starts = Array.from({ length: 4 }, async () => {
      const python = await session(withIpython, { HOME: "/dev/null" });
      return python("1 + 1");
    });
    expect(await Promise.all(starts)).toEqual(["2", "2", "2", "2"]);
  });
});

describe.skipIf(!hasIpython)("IPython", () => {
  test("runs commands and magics", async () => {
    const python = await session(true);
    expect(await python("!echo out; echo err > /dev/stderr")).toBe("out\nerr");
    expect(await python("files = !echo a b\nfiles")).toBe("['a b']");
    expect(await python("%timeit -n1 -r1 1 + 1")).toMatch(/per loop/);
    expect(await python("1 + 1;")).toBe("(no output)");
  });

  test("leaves no folder behind", async () => {
    const folder = await temporaryFolder();
    vi.stubEnv("TMPDIR", folder);
    onTestFinished(() => void vi.unstubAllEnvs());
    onTestFinished(async () => expect(await readdir(folder)).toEqual([]));
    const python = await session(true, { TMPDIR: "/tmp" });
    await python("1");
  });
});

test("an interpreter that cannot be started is an error that says why", async () => {
  const folder = await temporaryFolder();
  const tool = createIpythonTool({
    python: "/bin/false",
    env: {},
    secrets: [],
    spillFolder: folder,
    maxSpillBytes: 1e9,
  });
  const { content, isError } = await tool.execute({ code: "1" }, toolContext());
  const text = "/bin/false could not be started: it exited with code 1";
  expect([content, isError]).toEqual([[{ type: "text", text }], true]);
});

function canImport(name: string): boolean {
  try {
    execFileSync(path, ["-c", `import ${name}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
