import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, createWriteStream, existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { cliPath } from "../support/run-cli.ts";
import { readSession, sessionId, sessionPath, writeSession } from "../support/session-file.ts";
import { type Bench, createBench } from "../support/with-provider.ts";

const done = chatReply({ text: "done" });
const oneLine = /^base-context: [^\n]+\n$/;
const shell = (command: string) => chatReply({ calls: [{ name: "bash", args: { command } }] });

/** Runs the program with fewer rights: behind shell words, or as another user. */
async function runLimited(
  { workspace }: Bench,
  args: readonly string[],
  { before = "true", uid, env }: { before?: string; uid?: number; env?: Record<string, string> },
) {
  const child = spawn("bash", ["-c", `${before}; exec "$@"`, "bash", process.execPath, cliPath, ...args], {
    cwd: uid === undefined ? workspace.cwd : "/",
    env: { PATH: process.env.PATH, HOME: workspace.home, BASE_CONTEXT_HOME: workspace.home, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 15_000,
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (piece: Buffer) => {
    stdout += piece.toString();
  });
  child.stderr.on("data", (piece: Buffer) => {
    stderr += piece.toString();
  });
  const [status] = await once(child, "close");
  return { status, stdout, stderr };
}

describe("a disk that is full", () => {
  test.each(["text", "json"])(
    "in mid-run is status 1 with one line, and the answer is still told: %s",
    async (mode) => {
      const answer = `the answer ${"x".repeat(9000)}`;
      const bench = await createBench([chatReply({ text: answer })]);
      const result = await runLimited(bench, ["--model", "fake/m", "--mode", mode, "hi"], {
        before: "ulimit -f 8",
      });
      expect(result.status).toBe(1);
      expect(result.stderr).toMatch(oneLine);
      expect(result.stderr).toMatch(/cannot write the session file .*what follows is not saved/);
      expect(result.stdout).toContain(answer);
      // What did not fit left nothing behind: every line is whole.
      expect(readSession(sessionPath(bench.workspace)).at(-1)?.message.content).toBe("hi");
      expect(await bench.run(["-c", "go on"])).toMatchObject({ status: 0, stderr: "" });
    },
  );

  test("when the summary of a compaction does not fit is status 1 too", async () => {
    const bench = await createBench([done, chatReply({ text: "s".repeat(9000) }), done]);
    const result = await runLimited(bench, ["--model", "fake/m", "one", "/compact", "two"], {
      before: "ulimit -f 8",
    });
    expect(result).toMatchObject({ status: 1, stdout: "done\n" });
    expect(result.stderr).toMatch(/^base-context: cannot write the session file [^\n]+\n$/);
    expect(JSON.stringify(bench.server.json(2).messages)).toContain("sssss");
  });
});

describe("a home that cannot be written refuses the start, names the folder and the way out", () => {
  async function expectRefusal(
    result: { status: number | null; stdout: string; stderr: string },
    folder: string,
  ) {
    expect(result).toMatchObject({ status: 2, stdout: "" });
    expect(result.stderr).toMatch(oneLine);
    expect(result.stderr).toContain(folder);
    expect(result.stderr).toMatch(/--session-dir.*--no-session/);
  }

  test("HOME=/proc, where making a folder may never return", async () => {
    const bench = await createBench([done]);
    const sessions = ["--session-dir", "/proc/nowhere/sessions"];
    await expectRefusal(await bench.run([...sessions, "hi"]), "/proc/nowhere/sessions");
    const replay = `${process.cwd()}/docs/examples/list-files.cassette.jsonl`;
    const result = await bench.runBare(["--replay", replay, "hi"], {
      env: { HOME: "/proc", BASE_CONTEXT_HOME: undefined },
    });
    await expectRefusal(result, "/proc/.base-context");
  });

  test("a file in the folder's place", async () => {
    const bench = await createBench([done]);
    bench.workspace.file("sessions", "");
    await expectRefusal(await bench.run(["--session-dir", "sessions", "hi"]), "sessions");
  });

  test.skipIf(process.getuid?.() !== 0)("a folder of another user", async () => {
    const bench = await createBench([done]);
    const { home } = bench.workspace;
    const folder = join(home, "sessions");
    mkdirSync(folder);
    for (const path of [join(home, ".."), home, folder]) chmodSync(path, 0o755);
    const args = ["--model", "fake/m"];
    await expectRefusal(await runLimited(bench, [...args, "hi"], { uid: 65534 }), folder);
    expect(await runLimited(bench, [...args, "--no-session", "hi"], { uid: 65534 })).toEqual({
      status: 0,
      stdout: "done\n",
      stderr: "",
    });
  });
});

describe("a session file that changes in mid-run", () => {
  const file = '"$BASE_CONTEXT_HOME"/sessions/*.jsonl';
  const env = (bench: Bench) => ({ env: { BASE_CONTEXT_HOME: bench.workspace.home } });

  test("is written anew, whole, when it was deleted", async () => {
    const bench = await createBench([
      shell(`rm ${file.replaceAll('"$BASE_CONTEXT_HOME"', "$HOME")}`),
      done,
      done,
    ]);
    expect(await bench.run(["hi"], env(bench))).toMatchObject({ status: 0, stdout: "done\n", stderr: "" });
    const path = sessionPath(bench.workspace);
    expect(readSession(path)[0]?.type).toBe("session");
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readSession(path).flatMap(({ message }) => (message === undefined ? [] : [message.role]))).toEqual(
      ["user", "assistant", "toolResult", "assistant"],
    );
    expect(await bench.run(["-c", "go on"])).toMatchObject({ status: 0, stderr: "" });
  });

  test.each([
    ["another program appended to it", "for f in $HOME/sessions/*.jsonl; do echo '{}' >> $f; done"],
    ["another file is in its place", "for f in $HOME/sessions/*.jsonl; do cp $f $f.new; mv $f.new $f; done"],
  ])("is left alone when %s: status 1, and the answer is told", async (_, command) => {
    const bench = await createBench([shell(command), done]);
    const result = await bench.run(["hi"]);
    expect(result).toMatchObject({ status: 1, stdout: "done\n" });
    expect(result.stderr).toMatch(oneLine);
    expect(result.stderr).toMatch(/what follows is not saved/);
  });

  test("lets further prompts and gates run, since the run goes on without it", async () => {
    const bench = await createBench([
      shell("for f in $HOME/sessions/*.jsonl; do echo '{}' >> $f; done"),
      done,
    ]);
    const gate = ["--autonomous-gate", "echo x >>ran"];
    const result = await bench.run([...gate, "first", "second"]);
    expect(result).toMatchObject({ status: 1, stdout: "done\n" });
    expect(bench.server.requests).toHaveLength(3);
    expect(readFileSync(join(bench.workspace.cwd, "ran"), "utf8")).toBe("x\nx\n");
  });
});

describe("a file of 100,000 entries and 200 MB", () => {
  const entryCount = 100_000;

  /** Writes it in pieces; the last entries may be a compaction and what it kept. */
  async function writeLarge(bench: Bench, ending: readonly object[]): Promise<string> {
    const path = writeSession(bench.workspace, []);
    const stream = createWriteStream(path, { flags: "a" });
    const words = "word ".repeat(390);
    const timestamp = "2025-01-01T00:00:00.000Z";
    for (let from = 0; from < entryCount; from += 1000) {
      const lines = Array.from({ length: 1000 }, (_, n) => {
        const index = from + n;
        const isPrompt = index % 2 === 0;
        const parentId = index === 0 ? "null" : `"id-${index - 1}"`;
        const message = isPrompt
          ? `{"role":"user","content":"${words}","timestamp":1}`
          : `{"role":"assistant","content":[{"type":"text","text":"${words}"}],"api":"openai-completions","provider":"fake","model":"m","usage":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"totalTokens":0,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0}},"stopReason":"stop","timestamp":1}`;
        return `{"type":"message","id":"id-${index}","parentId":${parentId},"timestamp":"${timestamp}","message":${message}}\n`;
      });
      if (!stream.write(lines.join(""))) await once(stream, "drain");
    }
    for (const entry of ending) stream.write(`${JSON.stringify({ timestamp, ...entry })}\n`);
    stream.end();
    await once(stream, "close");
    expect(statSync(path).size).toBeGreaterThan(190_000_000);
    return path;
  }

  /** The largest that a process has been, in megabytes; where the system tells. */
  function peakMegabytes(pid: number | undefined): number {
    const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
    return Number(peak?.[1]) / 1024;
  }

  async function resume(ending: readonly object[]) {
    let pid: number | undefined;
    const peaks: number[] = [];
    const bench = await createBench([
      () => {
        if (process.platform === "linux") peaks.push(peakMegabytes(pid));
        return done;
      },
    ]);
    await writeLarge(bench, ending);
    const result = await bench.run(["--resume", sessionId, "go on"], {
      env: { NODE_OPTIONS: "--max-old-space-size=128" },
      timeoutMs: 60_000,
      onStart: (child) => {
        pid = child.pid;
      },
    });
    return { bench, result, peak: Math.max(0, ...peaks) };
  }

  test("goes on from its latest compaction in bounded memory", async () => {
    const last = `id-${entryCount - 1}`;
    const { bench, result, peak } = await resume([
      {
        type: "compaction",
        id: "c",
        parentId: last,
        summary: "all of it",
        firstKeptEntryId: last,
        tokensBefore: 1,
      },
    ]);
    expect(result).toMatchObject({ status: 0, stdout: "done\n", stderr: "" });
    expect(bench.server.json(0).messages).toHaveLength(4);
    expect(peak).toBeLessThan(250);
  }, 90_000);

  test("without a compaction goes on with what a model can take, compacted", async () => {
    const { bench, result, peak } = await resume([]);
    expect(result).toMatchObject({ status: 0, stdout: "done\n" });
    expect(result.stderr).toMatch(/its oldest entries are left out\n$/);
    expect(Math.max(...bench.server.requests.map(({ body }) => body.length))).toBeLessThan(700_000);
    expect(peak).toBeLessThan(500);
  }, 90_000);
});

test("a session whose id is a path is refused, and nothing is written where it leads", async () => {
  const { workspace, run, server } = await createBench([done]);
  const header = { type: "session", version: 3, id: "../../evil", timestamp: "2025-01-01T00:00:00.000Z" };
  const path = workspace.homeFile(
    "sessions/a.jsonl",
    `${JSON.stringify({ ...header, cwd: workspace.cwd })}\n`,
  );
  for (const option of ["--resume", "--fork"]) {
    const { status, stdout, stderr } = await run(["--mode", "json", option, path, "hi"]);
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toMatch(
      /^base-context: .* is no session file: its header has the id "..\/..\/evil", which is none\n$/,
    );
  }
  expect((await run(["--continue", "hi"])).status).toBe(2);
  expect(existsSync(join(workspace.home, "../evil"))).toBe(false);
  expect(server.requests).toEqual([]);
});
