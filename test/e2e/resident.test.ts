import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { checkStream } from "../support/grammar.ts";
import {
  callThenAnswer,
  createGate,
  environmentOf,
  eventually,
  killRuns,
  recordOf,
  startResident,
} from "../support/lifecycle.ts";
import type { Script } from "../support/provider-server.ts";
import { cliPath, type Line } from "../support/run-cli.ts";
import { type Bench, createBench } from "../support/with-provider.ts";

const hanging = {
  body: 'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n',
  end: "hang",
} as const;
const benches: Bench[] = [];

afterEach(() => {
  for (const { workspace } of benches.splice(0)) killRuns(workspace);
});

async function createResidentBench(script: readonly Script[]): Promise<Bench> {
  const bench = await createBench(script);
  benches.push(bench);
  return bench;
}

describe("--resident", () => {
  test.each(["text", "json"])(
    "in %s mode prints the session header and returns while the run goes on",
    async (mode) => {
      const bench = await createResidentBench([hanging]);
      const { status, stdout, stderr } = await bench.run(["--mode", mode, "--resident", "hi"], {
        unchecked: true,
      });
      expect([status, stderr]).toEqual([0, ""]);
      expect(stdout.endsWith("\n")).toBe(true);
      const header = JSON.parse(stdout);
      expect(header).toEqual({
        type: "session",
        version: 3,
        id: expect.any(String),
        timestamp: expect.any(String),
        cwd: bench.workspace.cwd,
      });
      const listed = JSON.parse((await bench.runBare(["list", "--json"])).stdout);
      expect(listed).toMatchObject([{ id: header.id, mode, state: "running" }]);
      expect((await bench.runBare(["stop", header.id])).status).toBe(0);
      expect((await bench.runBare(["wait", header.id])).status).toBe(143);
    },
  );

  test("takes its prompts from stdin and files as any run does, and shows none of them to ps", async () => {
    const bench = await createResidentBench([hanging]);
    bench.workspace.file("notes.txt", "the notes");
    const large = "x".repeat(300_000);
    const { stdout } = await bench.run(
      ["--resident", "--append-system-prompt", "the secret rule", "@notes.txt", "the word"],
      {
        stdin: `${large}\nfrom stdin`,
      },
    );
    const { id } = JSON.parse(stdout);
    await bench.server.received(1);
    const [system, user] = bench.server.json(0).messages;
    expect(system.content).toContain("the secret rule");
    expect(user.content).toBe(
      `${large}\nfrom stdin\n\n<file name="${join(bench.workspace.cwd, "notes.txt")}">\nthe notes\n</file>\n\nthe word`,
    );
    const { pid } = recordOf(bench.workspace.home, id);
    const shown = readFileSync(`/proc/${pid}/cmdline`, "utf8") + readFileSync(`/proc/${pid}/environ`, "utf8");
    expect(shown).not.toMatch(/the word|the notes|secret rule|from stdin/);
    expect(execFileSync("readlink", [`/proc/${pid}/fd/0`], { encoding: "utf8" })).toBe("/dev/null\n");
  });

  test.each<[string, string[], number, string]>([
    ["an unknown model", ["--model", "fake/nope", "hi"], 2, "nope"],
    ["nothing to continue", ["--continue", "hi"], 2, "--continue"],
    ["a bad tool", ["--tools", "nope", "hi"], 2, "nope"],
    ["no message", [], 2, "there is no message"],
    ["a missing file", ["@nowhere", "hi"], 2, "@nowhere cannot be read"],
    ["--mode rpc", ["--mode", "rpc"], 2, "--resident needs --mode text or json"],
  ])("is refused for %s with the run's own words and status", async (_, args, status, words) => {
    const bench = await createResidentBench([hanging]);
    const attached = await bench.run(args.includes("rpc") ? ["--continue", "hi"] : args);
    const refused = await bench.run(["--resident", ...args]);
    expect([refused.status, refused.stdout]).toEqual([status, ""]);
    expect(refused.stderr).toContain(words);
    expect(refused.stderr.trimEnd().split("\n")).toHaveLength(1);
    if (!args.includes("rpc")) expect(refused.stderr).toBe(attached.stderr);
    const runs = join(bench.workspace.home, "runs");
    expect(existsSync(runs) ? readdirSync(runs) : []).toEqual([]);
  });

  test("says what an ordinary start warns of", async () => {
    const bench = await createResidentBench([hanging]);
    mkdirSync(join(bench.workspace.cwd, ".base-context"));
    bench.workspace.file(".base-context/models.json", "{}");
    const { status, stderr } = await bench.run(["--resident", "hi"]);
    expect([status, stderr]).toEqual([
      0,
      expect.stringMatching(/^base-context: .*models.json is ignored: .*\n$/),
    ]);
  });

  test("is refused where no folder for the run can be made", async () => {
    const bench = await createResidentBench([hanging]);
    bench.workspace.homeFile("runs", "a file");
    const { status, stderr } = await bench.run(["--resident", "hi"]);
    expect([status, stderr]).toEqual([2, expect.stringContaining("a resident run needs a folder in")]);
    expect(bench.server.requests).toEqual([]);
  });

  test("leaves nothing behind when it is interrupted before the run was accepted", async () => {
    const bench = await createResidentBench([hanging]);
    bench.workspace.homeFile(
      "models.json",
      JSON.stringify({
        providers: {
          fake: {
            baseUrl: `${bench.server.url}/v1`,
            api: "openai-completions",
            apiKey: "!touch asked; sleep 30; echo key",
            models: [{ id: "m" }],
          },
        },
      }),
    );
    const { status } = await bench.run(["--resident", "hi"], {
      onStart: (child) =>
        void eventually(() => existsSync(join(bench.workspace.cwd, "asked"))).then(() =>
          child.kill("SIGINT"),
        ),
    });
    expect(status).toBe(130);
    expect(readdirSync(join(bench.workspace.home, "runs"))).toEqual([]);
    expect(bench.server.requests).toEqual([]);
  });

  test("needs neither the terminal nor the process that started it", async () => {
    const bench = await createResidentBench([callThenAnswer("sleep 1; echo finished")]);
    const command = `"${process.execPath}" "${cliPath}" --model fake/m --resident hi > header`;
    const terminal = spawn("script", ["-qec", command, "/dev/null"], {
      cwd: bench.workspace.cwd,
      env: environmentOf(bench.workspace),
      stdio: "ignore",
    });
    await once(terminal, "exit");
    const { id } = JSON.parse(readFileSync(join(bench.workspace.cwd, "header"), "utf8"));
    const waited = await bench.runBare(["wait", id]);
    expect([waited.status, waited.stderr]).toEqual([0, ""]);
    expect(JSON.stringify(bench.server.json(1).messages)).toContain("finished");
  });
});

test("a run that is not resident ends with its terminal", async () => {
  const bench = await createResidentBench([hanging]);
  const command = `"${process.execPath}" "${cliPath}" --model fake/m --mode json hi > events`;
  // Its terminal goes away when `script` is gone.
  const terminal = spawn("script", ["-qec", command, "/dev/null"], {
    cwd: bench.workspace.cwd,
    env: environmentOf(bench.workspace),
    stdio: "ignore",
  });
  await bench.server.received(1);
  terminal.kill("SIGKILL");
  const text = await eventually(() => {
    const events = readFileSync(join(bench.workspace.cwd, "events"), "utf8");
    return events.includes('"type":"agent_end"') && events;
  });
  const { id } = JSON.parse(text.slice(0, text.indexOf("\n")));
  const { status, stderr } = await bench.runBare(["wait", id]);
  expect([status, stderr]).toEqual([129, expect.stringContaining("ended by SIGHUP")]);
});

describe("attach", () => {
  test("shows a resident run from the beginning, during the run and after it, in every form", async () => {
    const bench = await createResidentBench([]);
    const gate = createGate(bench.workspace);
    const served = await createResidentBench([
      chatReply({
        thinking: "Hm.",
        text: "First",
        calls: [{ name: "bash", args: { command: gate.command } }],
      }),
      chatReply({ text: ["All ", "do", "ne."] }),
    ]);
    const id = await startResident(served, ["--cwd", bench.workspace.cwd, "hi"]);
    const during = served.runBare(["attach", id, "--mode", "json"], {
      onStdout: untilDone((soFar) => soFar.includes("tool_execution_start") && void gate.open()),
    });
    const plain = await during;
    expect([plain.status, plain.stderr]).toEqual([0, ""]);
    expect(plain.lines[0]).toMatchObject({ type: "session", id });
    expect(plain.lines.at(-1)).toMatchObject({ type: "agent_end" });
    const after = await served.runBare(["attach", id]);
    expect(after.stdout).toBe(plain.stdout);
    const deltas = await served.runBare(["attach", id, "--mode", "json", "--json-deltas"]);
    expect(deltas.stdout).toBe(readFileSync(join(served.workspace.home, "runs", id, "events.jsonl"), "utf8"));
    expect(deltas.lines.filter(({ type }) => type === "message_update").length).toBe(
      plain.lines.filter(({ type }) => type === "message_update").length,
    );
    expect((await served.runBare(["attach", id, "--mode", "text"])).stdout).toBe("All done.\n");
    expect((await served.runBare(["attach", id, "--from-now"])).stdout).toBe("");
    expect(readFileSync(join(served.workspace.home, "runs", id, "stdout"), "utf8")).toBe("All done.\n");
  });

  test("to a run of the client's shows what comes from now on, with the message so far", async () => {
    const bench = await createResidentBench([]);
    const gate = createGate(bench.workspace);
    const served = await createResidentBench([
      chatReply({ calls: [{ name: "bash", args: { command: gate.command } }] }),
      chatReply({ text: ["All ", "done."] }),
    ]);
    const run = served.run(["--mode", "json", "--cwd", bench.workspace.cwd, "hi"], {
      onStdout: untilDone(
        (soFar) =>
          soFar.includes("tool_execution_start") && void attach(JSON.parse(soFar.split("\n")[0] ?? "").id),
      ),
    });
    let attached: Promise<Line> | undefined;
    function attach(id: string): void {
      attached = served.runBare(["attach", id, "--json-deltas"], {
        unchecked: true,
        onStdout: untilDone((soFar) => soFar.includes("\n") && void gate.open()),
      });
    }
    const { lines } = await run;
    const { status, lines: seen } = await (attached ?? Promise.reject(new Error("nobody attached")));
    expect(status).toBe(0);
    expect(seen[0]).toEqual(lines[0]);
    expect(seen[1]?.type).toMatch(/^tool_execution_(update|end)$/);
    expect(seen.at(-1)).toEqual(lines.at(-1));
  });

  test("in the middle of a message starts with what there is of it", async () => {
    const bench = await createResidentBench([hanging]);
    const id = await startResident(bench, ["hi"]);
    const events = join(bench.workspace.home, "runs", id, "events.jsonl");
    await eventually(() => readFileSync(events, "utf8").includes('"delta":"Hel"'));
    const { status, stdout } = await bench.runBare(["attach", id, "--from-now"], {
      unchecked: true,
      onStdout: untilDone((soFar, child) => soFar.includes("message_start") && child.kill("SIGINT")),
    });
    expect(status).toBe(130);
    const [header, start, ...others] = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(header).toMatchObject({ type: "session", id });
    expect(start).toMatchObject({
      type: "message_start",
      message: { role: "assistant", content: [{ type: "text", text: "Hel" }] },
    });
    expect(others).toEqual([]);
    // Detaching is nothing that the run notices.
    expect(JSON.parse((await bench.runBare(["list", "--json"])).stdout)).toMatchObject([
      { id, state: "running" },
    ]);
  });

  test("ends when its reader does, and the run goes on", async () => {
    const bench = await createResidentBench([hanging]);
    const id = await startResident(bench, ["hi"]);
    const reader = "{ head -n 1 > /dev/null; exec 0<&-; echo gone >&2; }";
    const command = `"${process.execPath}" "${cliPath}" attach ${id} | ${reader}; echo "\${PIPESTATUS[0]}"`;
    // Nothing more is written before the run ends, so that the reader's absence is seen then.
    const shell = spawn("bash", ["-c", command], {
      env: environmentOf(bench.workspace),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const said = once(shell.stdout, "data");
    expect(String((await once(shell.stderr, "data"))[0])).toBe("gone\n");
    expect((await bench.runBare(["stop", id])).status).toBe(0);
    expect(String((await said)[0]).trim()).toBe("141");
    expect((await bench.runBare(["wait", id])).status).toBe(143);
  });

  test("to a run that has ended and kept nothing is refused, with what helps", async () => {
    const bench = await createResidentBench([chatReply({ text: "Done." })]);
    const { lines } = await bench.run(["--mode", "json", "hi"]);
    const { id } = lines[0] ?? {};
    const { status, stderr } = await bench.runBare(["attach", id]);
    expect([status, stderr]).toEqual([2, expect.stringContaining(`base-context show ${id}`)]);
  });

  test("gives the status of a run that failed, and says why", async () => {
    const bench = await createResidentBench([{ status: 401, body: "{}", type: "application/json" }]);
    const id = await startResident(bench, ["hi"]);
    const { status, stderr, stdout } = await bench.runBare(["attach", id, "--mode", "text"]);
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(new RegExp(`^base-context: the run ${id} ended with status 1: .*401.*\n$`));
  });
});

describe("what a resident run keeps", () => {
  test("is the user's alone, and is a stream by all the rules", async () => {
    const bench = await createResidentBench([chatReply({ text: "Done." })]);
    const id = await startResident(bench, ["hi", "and"]);
    expect((await bench.runBare(["wait", id])).status).toBe(0);
    const folder = join(bench.workspace.home, "runs", id);
    const modes = readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mode & 0o777]);
    expect(modes.sort()).toEqual([
      ["events.jsonl", 0o600],
      ["result.json", 0o600],
      ["run.json", 0o600],
      ["stderr", 0o600],
      ["stdout", 0o600],
    ]);
    expect(readFileSync(join(folder, "stdout"), "utf8")).toBe("Done.\n");
    const lines = readFileSync(join(folder, "events.jsonl"), "utf8")
      .trimEnd()
      .split("\n")
      .map((line): Line => JSON.parse(line));
    expect(checkStream(lines, { deltas: true })).toEqual([]);
  });

  test("holds no credential, nor does what ps shows of it", async () => {
    const key = "sk-resident-0123456789abcdef";
    const bench = await createResidentBench([
      chatReply({ calls: [{ name: "bash", args: { command: "cat key" } }] }),
      chatReply({ text: ["The key is ", key.slice(0, 9), key.slice(9)] }),
      hanging,
    ]);
    bench.workspace.file("key", key);
    const id = await startResident(bench, ["--api-key", key, "--name", `with ${key}`, "hi", "again"]);
    await bench.server.received(3);
    const folder = join(bench.workspace.home, "runs", id);
    for (const name of readdirSync(folder).filter((name) => !name.endsWith(".sock")))
      expect(readFileSync(join(folder, name), "utf8")).not.toContain(key);
    expect(readFileSync(`/proc/${recordOf(bench.workspace.home, id).pid}/cmdline`, "utf8")).not.toContain(
      key,
    );
    for (const command of ["list", "status"])
      expect((await bench.runBare(command === "list" ? [command] : [command, id])).stdout).not.toContain(key);
  });

  test("is bounded by the settings; the run goes on", async () => {
    const bench = await createResidentBench([
      chatReply({ text: "x".repeat(5000) }),
      chatReply({ text: "Done." }),
    ]);
    bench.workspace.homeFile("settings.json", { runs: { maxEventsBytes: 4000 } });
    const id = await startResident(bench, ["hi", "and"]);
    const { status, stderr, stdout } = await bench.runBare(["attach", id, "--json-deltas"], {
      unchecked: true,
    });
    expect(status).toBe(0);
    expect(stderr).toContain("has kept no more events than these");
    expect(stdout.length).toBeLessThan(4000);
    expect(stdout).not.toContain("log_end");
    expect(statSync(join(bench.workspace.home, "runs", id, "events.jsonl")).size).toBeLessThan(4100);
    expect(bench.server.requests).toHaveLength(2);
  });

  test("gives way to the next run of the session", async () => {
    const bench = await createResidentBench([chatReply({ text: "One." }), chatReply({ text: "Two." })]);
    const id = await startResident(bench, ["hi"]);
    await bench.runBare(["wait", id]);
    expect(await startResident(bench, ["--resume", id, "again"])).toBe(id);
    expect((await bench.runBare(["attach", id, "--mode", "text"])).stdout).toBe("Two.\n");
  });
});

/** Calls on until it says that it did what it is for. */
function untilDone<Rest extends unknown[]>(
  act: (soFar: string, ...rest: Rest) => unknown,
): (soFar: string, ...rest: Rest) => void {
  let isDone = false;
  return (soFar, ...rest) => {
    if (!isDone) isDone = act(soFar, ...rest) !== false;
  };
}
