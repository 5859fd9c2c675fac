import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { exitRules } from "../../src/exit-status.ts";
import { chatReply } from "../support/chat-wire.ts";
import type { Script } from "../support/provider-server.ts";
import { parseStream, type RunOptions } from "../support/run-cli.ts";
import { runScript } from "../support/run-script.ts";
import { createBench } from "../support/with-provider.ts";

const answer = chatReply({ text: "done" });
const noRetries = { retry: { enabled: false } };
const hanging: Script = {
  body: 'data: {"choices":[{"index":0,"delta":{"content":"Hel"}}]}\n\n',
  end: "hang",
};
const listing = chatReply({ calls: [{ name: "ls", args: { path: "missing-dir" } }] });
const modes: readonly (readonly [string, readonly string[]])[] = [
  ["text", []],
  ["json", ["--mode", "json"]],
  ["json with deltas", ["--mode", "json", "--json-deltas"]],
];

type Row = {
  readonly status: number;
  readonly name: string;
  readonly when: string;
  readonly script: readonly Script[];
  readonly args: readonly string[];
  readonly stdout?: string;
  /** All of stderr. */
  readonly stderr: RegExp;
  readonly kill?: NodeJS.Signals;
};

const nothing = /^$/;
const line = (words: string) => new RegExp(`^base-context: [^\\n]*${words}[^\\n]*\\n$`);

const rows: readonly Row[] = [
  {
    status: 0,
    name: "done",
    when: "an answer",
    script: [answer],
    args: ["hi"],
    stdout: "done\n",
    stderr: nothing,
  },
  {
    status: 0,
    name: "done",
    when: "an answer that reached the output limit, with a warning",
    script: [chatReply({ text: "half", finish: "length" })],
    args: ["hi"],
    stdout: "half\n",
    stderr: line("output limit"),
  },
  {
    status: 0,
    name: "done",
    when: "an answer after a call that failed",
    script: [listing, answer],
    args: ["hi"],
    stdout: "done\n",
    stderr: nothing,
  },
  {
    status: 1,
    name: "terminal error",
    when: "an error of the provider",
    script: [{ status: 400, type: "application/json", body: '{"error":{"message":"no such thing"}}' }],
    args: ["hi"],
    stdout: "",
    stderr: line("no such thing"),
  },
  {
    status: 1,
    name: "terminal error",
    when: "an answer that the content filter cut",
    script: [chatReply({ text: "I", finish: "content_filter" })],
    args: ["hi"],
    stdout: "",
    stderr: line("content_filter"),
  },
  {
    status: 1,
    name: "failure",
    when: "a session command that there is not",
    script: [answer],
    args: ["/nope"],
    stdout: "",
    stderr: line("/nope"),
  },
  {
    status: 1,
    name: "failure",
    when: "a /compact that failed",
    script: [answer],
    args: ["/compact"],
    stdout: "",
    stderr: line("/compact"),
  },
  {
    status: 2,
    name: "start refused",
    when: "no message",
    script: [answer],
    args: [],
    stdout: "",
    stderr: line("no message"),
  },
  {
    status: 2,
    name: "start refused",
    when: "a folder for sessions that cannot be made",
    script: [answer],
    args: ["--session-dir", "/dev/null/x", "hi"],
    stdout: "",
    stderr: line("--session-dir"),
  },
  {
    status: 3,
    name: "gate not passed",
    when: "a gate that failed",
    script: [answer],
    args: ["--autonomous-gate", "exit 7", "--autonomous-gate-retries", "1", "hi"],
    stderr: /^(base-context: gate failed: exit 7 [^\n]*\n){2}$/,
  },
  {
    status: 4,
    name: "limit reached",
    when: "the same call with the same result six times",
    script: [listing],
    args: ["hi"],
    stderr: line("stopped: "),
  },
  ...(["SIGHUP", "SIGINT", "SIGTERM"] as const).map((kill): Row => {
    const status = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 }[kill];
    return {
      status,
      name: kill,
      when: `${kill} in mid-answer`,
      script: [hanging],
      args: ["hi"],
      kill,
      stdout: "",
      stderr: line(`ended by ${kill}`),
    };
  }),
];

describe.each(modes)("in %s", (mode, options) => {
  test.each(rows)("status $status ($name) for $when", async (row) => {
    const { run, server, workspace } = await createBench(row.script);
    workspace.homeFile("settings.json", noRetries);
    const { kill } = row;
    const killing: RunOptions =
      kill === undefined ? {} : { onStart: (child) => void server.received(1).then(() => child.kill(kill)) };
    const { status, stdout, stderr, lines } = await run([...options, ...row.args], killing);
    expect({ status, stderr }).toEqual({ status: row.status, stderr: expect.stringMatching(row.stderr) });
    if (mode === "text" && row.stdout !== undefined) expect(stdout).toBe(row.stdout);
    if (mode !== "text") expect(lines.at(0)?.type).toBe(row.status === 2 ? undefined : "session");
  });
});

describe.each(modes)("what bash does to stdout and files, in %s", (mode, options) => {
  const args = options.join(" ");

  test("status 1 (failure) for a session that cannot be written, and the answer is there", async () => {
    const bench = await createBench([chatReply({ text: "x".repeat(5000) })]);
    const { stdout, stderr } = await runScript(
      bench,
      `(ulimit -f 1; bc ${args} hi | cat; echo "\${PIPESTATUS[0]}")`,
    );
    const [, answered = "", status] = /^([\s\S]*\n)(\d+)\n$/.exec(stdout) ?? [];
    expect(status).toBe("1");
    expect(stderr).toMatch(line("cannot write the session file"));
    if (mode === "text") expect(answered).toBe(`${"x".repeat(5000)}\n`);
    else
      expect(
        parseStream(answered, { deltas: args.includes("deltas") })
          .at(-1)
          ?.messages.at(-1),
      ).toMatchObject({
        stopReason: "stop",
      });
  });

  test("status 1 (failure) for a full disk behind stdout, which ends the run at once", async () => {
    const bench = await createBench([
      chatReply({ calls: [{ name: "bash", args: { command: mode === "text" ? "true" : "sleep 60" } }] }),
      answer,
    ]);
    const { stdout, stderr } = await runScript(bench, `bc ${args} hi >/dev/full; echo $?`);
    expect(stdout).toBe("1\n");
    expect(stderr).toMatch(line("stdout cannot be written: ENOSPC"));
  });

  test("status 141 (reader gone) for a reader that leaves", async () => {
    const bench = await createBench([answer]);
    const { stdout, stderr } = await runScript(
      bench,
      `(sleep 0.3; bc ${args} hi; echo $? >status) | true; cat status`,
    );
    expect({ stdout, stderr }).toEqual({ stdout: "141\n", stderr: "" });
  });
});

describe("a fault of the program itself is status 1, one line and a whole stream", () => {
  test.each([
    ["an exception that nobody caught", "throw new Error('it\\nbroke')"],
    ["a rejection that nobody handled", "Promise.reject(new Error('it broke'))"],
  ])("%s", async (_, fault) => {
    const { run, workspace } = await createBench([hanging]);
    const preload = workspace.homeFile("fault.cjs", `setTimeout(() => { ${fault} }, 1000);`);
    const env = { NODE_OPTIONS: `--require ${preload}` };
    const { status, stderr, lines } = await run(["--mode", "json", "hi"], { env });
    expect({ status, stderr }).toEqual({ status: 1, stderr: "base-context: it broke\n" });
    expect(lines.at(-1)?.messages.at(-1)).toMatchObject({ stopReason: "aborted" });
    const left = readdirSync(join(workspace.home, "sessions")).filter((name) => name.endsWith(".lock"));
    expect(left).toEqual([]);
    const { stderr: verbose } = await run(["--mode", "json", "--verbose", "hi"], { env });
    expect(verbose).toMatch(/^ {4}at /m);
  });
});

test("a current directory that is gone is status 2, but for what needs none", async () => {
  const bench = await createBench([answer]);
  const { stdout, stderr } = await runScript(
    bench,
    "mkdir gone; cd gone; rmdir ../gone; bc hi; echo $?; bc --version >/dev/null; echo $?",
  );
  expect(stdout).toBe("2\n0\n");
  expect(stderr).toMatch(line("current directory"));
});

test("a status is the same whatever else stdout is", async () => {
  const bench = await createBench([answer]);
  const { stdout, stderr } = await runScript(
    bench,
    "bc hi >&-; echo $?; bc hi >/dev/null; echo $?; bc hi >out; echo $?",
  );
  expect({ stdout, stderr }).toEqual({ stdout: "0\n0\n0\n", stderr: "" });
});

test("the page has the table's rows in its order", () => {
  const page = readFileSync(new URL("../../docs/exit-status.md", import.meta.url), "utf8");
  const documented = [...page.matchAll(/^\| (\d+) \| ([^|]+) \|/gm)].map(([, status, name = ""]) => ({
    status: Number(status),
    name: name.trim(),
  }));
  expect(documented).toEqual(exitRules.map(({ status, name }) => ({ status, name })));
});
