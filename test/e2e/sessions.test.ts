import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { NewEntry } from "../../src/contract/entries.ts";
import { assistant, call, message, result, text, user } from "../session/samples.ts";
import { apiWires } from "../support/api-wires.ts";
import { chatReply } from "../support/chat-wire.ts";
import { outlineRequest, unpaired } from "../support/request-outline.ts";
import { readSession, sessionId, sessionPath, writeSession } from "../support/session-file.ts";
import { type Bench, createBench } from "../support/with-provider.ts";

const done = chatReply({ text: "done" });
const oneLine = /^base-context: [^\n]+\n$/;
const rounds: NewEntry[] = [message(user("first")), message(assistant([text("one")]))];
const resumed = ["user: first", "assistant: one", "user: go on"];
const pwd = chatReply({ calls: [{ name: "bash", args: { command: "pwd" } }] });

function outline({ server }: Bench, index = 0): string[] {
  return outlineRequest(server.json(index));
}

function files({ workspace }: Bench): string[] {
  const folder = join(workspace.home, "sessions");
  return existsSync(folder) ? readdirSync(folder).sort() : [];
}

describe("going on with a session", () => {
  test.each<[string, (path: string) => string[]]>([
    ["--continue", () => ["--continue"]],
    ["-c", () => ["-c"]],
    ["its id", () => ["--resume", sessionId]],
    ["the beginning of its id", () => ["-r", sessionId.slice(0, 6)]],
    ["its path", (path) => ["--resume", path]],
  ])("by %s keeps its header and its file", async (_, how) => {
    const bench = await createBench([done]);
    const path = writeSession(bench.workspace, rounds);
    const { status, lines, stderr } = await bench.run(["--mode", "json", ...how(path), "go on"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(lines[0]).toEqual(readSession(path)[0]);
    expect(outline(bench)).toEqual(resumed);
    expect(files(bench)).toEqual([`${sessionId}.jsonl`]);
    expect(readSession(path).at(-1)?.message.content).toMatchObject([{ text: "done" }]);
  });

  test("--continue takes the latest of this directory", async () => {
    const bench = await createBench([done]);
    writeSession(bench.workspace, [message(user("elsewhere"))], {
      id: "22222222-2222-4333-8444-555555555555",
      cwd: bench.workspace.home,
    });
    await bench.run(["old"]);
    await bench.run(["new"]);
    await bench.run(["-c", "go on"]);
    expect(outline(bench, 2)).toEqual(["user: new", "assistant: done", "user: go on"]);
  });

  test("--fork starts a session of its own with the history", async () => {
    const bench = await createBench([done]);
    const path = writeSession(bench.workspace, rounds);
    const before = readFileSync(path);
    const { status, lines } = await bench.run(["--mode", "json", "--fork", sessionId, "go on"]);
    expect(status).toBe(0);
    expect(lines[0]).toMatchObject({ parentSession: sessionId, cwd: bench.workspace.cwd });
    expect(lines[0]?.id).not.toBe(sessionId);
    expect(outline(bench)).toEqual(resumed);
    expect(readFileSync(path)).toEqual(before);
    expect(files(bench)).toHaveLength(2);
  });

  test("--name names it, and a later one renames it", async () => {
    const bench = await createBench([done]);
    await bench.run(["--name", "one name", "hi"]);
    await bench.run(["-c", "--name", "another", "hi"]);
    const names = readSession(sessionPath(bench.workspace)).flatMap(({ type, name }) =>
      type === "session_info" ? [name] : [],
    );
    expect(names).toEqual(["one name", "another"]);
  });

  test("--session-dir keeps sessions elsewhere, private whatever the umask", async () => {
    const bench = await createBench([done]);
    const folder = join(bench.workspace.cwd, "a", "b");
    await bench.run(["--session-dir", "a/b", "first"]);
    expect((await bench.run(["--session-dir", "a/b", "-c", "go on"])).status).toBe(0);
    expect(outline(bench, 1)).toEqual(["user: first", "assistant: done", "user: go on"]);
    expect(files(bench)).toEqual([]);
    const [name = ""] = readdirSync(folder);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600);
  });

  test("--no-session keeps nothing", async () => {
    const bench = await createBench([done]);
    const { status, lines } = await bench.run(["--mode", "json", "--no-session", "hi", "more"]);
    expect(status).toBe(0);
    expect(lines[0]?.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(outline(bench, 1)).toEqual(["user: hi", "assistant: done", "user: more"]);
    expect(files(bench)).toEqual([]);
  });
});

test("an attempt that was tried again is not in what a resumed session sends", async () => {
  const cut = 'data: {"choices":[{"index":0,"delta":{"content":"Here is the pl"}}]}\n\n';
  const bench = await createBench([
    { body: cut, end: "reset" },
    chatReply({ text: "Here is the plan" }),
    done,
  ]);
  bench.workspace.homeFile("settings.json", { retry: { baseDelayMs: 1 } });
  await bench.run(["first"]);
  await bench.run(["-c", "go on"]);
  expect(outline(bench, 2)).toEqual(["user: first", "assistant: Here is the plan", "user: go on"]);
});

test("reasoning that the model wants back is sent after a resume too", async () => {
  const model = { reasoning: true, compat: { reasoningRoundTripField: "reasoning_content" } };
  const thinks = chatReply({
    thinking: "let me see",
    text: "looking",
    calls: [{ name: "ls", args: { path: "." } }],
  });
  const bench = await createBench([thinks, done], { model });
  await bench.run(["first"]);
  await bench.run(["-c", "go on"]);
  const messages = bench.server.json(2).messages;
  expect(messages.find(({ tool_calls }: { tool_calls?: object[] }) => tool_calls)).toMatchObject({
    reasoning_content: "let me see",
  });
});

describe("the directory of a session", () => {
  async function resumeFrom(args: string[]) {
    const bench = await createBench([pwd, done]);
    const recorded = join(bench.workspace.cwd, "recorded");
    mkdirSync(recorded);
    writeSession(bench.workspace, rounds, { cwd: recorded });
    const run = () => bench.run(["--mode", "json", "--resume", sessionId, ...args, "go on"]);
    return { bench, recorded, run };
  }

  test("is where its tools go on, wherever the program is started", async () => {
    const { recorded, run } = await resumeFrom([]);
    const { status, lines } = await run();
    expect(status).toBe(0);
    expect(lines[0]?.cwd).toBe(recorded);
    expect(lines.find(({ type }) => type === "tool_execution_end")?.result.content[0].text).toContain(
      recorded,
    );
  });

  test("gives way to --cwd", async () => {
    const { bench, recorded, run } = await resumeFrom(["--cwd", "."]);
    rmSync(recorded, { recursive: true });
    const { status, lines } = await run();
    expect(status).toBe(0);
    expect(lines[0]?.cwd).toBe(bench.workspace.cwd);
    expect(lines.find(({ type }) => type === "tool_execution_end")?.result.content[0].text).toBe(
      `${bench.workspace.cwd}\n`,
    );
  });

  test("that is gone refuses the start and names the way out", async () => {
    const { bench, recorded, run } = await resumeFrom([]);
    rmSync(recorded, { recursive: true });
    const refused = await run();
    expect(refused).toMatchObject({ status: 2, stdout: "" });
    expect(refused.stderr).toMatch(oneLine);
    expect(refused.stderr).toContain(recorded);
    expect(refused.stderr).toContain("--cwd");
    expect(bench.server.requests).toHaveLength(0);
  });
});

describe("what is no session is refused with status 2 and one line", () => {
  test.each<[string, string, RegExp]>([
    ["an unknown id", "abcdef12", /no session .*abcdef12/],
    ["what cannot be an id", "nope", /is no session id/],
    ["a way out of the folder", "../models", /no session file/],
    ["a path to nothing", "./missing.jsonl", /no session file/],
    ["a folder", "./", /not a regular file/],
    ["a file of something else", "./other.jsonl", /does not begin with a session header/],
    ["an empty file", "./empty.jsonl", /it is empty/],
    ["a file of a newer program", "./newer.jsonl", /needs a newer program/],
  ])("%s", async (_, what, words) => {
    const bench = await createBench([done]);
    bench.workspace.file("other.jsonl", '{"hello":1}\n');
    bench.workspace.file("empty.jsonl", "");
    bench.workspace.file("newer.jsonl", '{"type":"session","version":4,"id":"a","timestamp":"","cwd":"/"}\n');
    for (const option of ["--resume", "--fork"]) {
      const refused = await bench.run([option, what, "hi"]);
      expect(refused).toMatchObject({ status: 2, stdout: "" });
      expect(refused.stderr).toMatch(oneLine);
      expect(refused.stderr).toMatch(words);
    }
    expect(bench.server.requests).toHaveLength(0);
  });

  test("a beginning that two ids have", async () => {
    const bench = await createBench([done]);
    writeSession(bench.workspace, rounds);
    writeSession(bench.workspace, rounds, { id: sessionId.replace("5555", "6666") });
    const refused = await bench.run(["--resume", "11111111", "hi"]);
    expect(refused).toMatchObject({ status: 2, stdout: "" });
    expect(refused.stderr).toMatch(/means more than one session: .*5555.*|.*6666.*/);
  });
});

describe("two runs of one session", () => {
  test("at once: the second is refused and pointed to --fork, the first goes on", async () => {
    const bench = await createBench([{ ...done, waitMs: 1500 }, done]);
    writeSession(bench.workspace, rounds);
    const first = bench.run(["-c", "go on"]);
    await bench.server.received(1);
    const second = await bench.run(["--resume", sessionId, "--mode", "json", "me too"]);
    expect(second).toMatchObject({ status: 2, stdout: "" });
    expect(second.stderr).toMatch(oneLine);
    expect(second.stderr).toContain("--fork");
    expect(await bench.run(["--fork", sessionId, "a copy"])).toMatchObject({ status: 0, stdout: "done\n" });
    expect(await first).toMatchObject({ status: 0, stdout: "done\n", stderr: "" });
    expect(files(bench).filter((name) => name.includes(".lock"))).toEqual([]);
  });

  test("one after a killed one: its lock is taken over", async () => {
    const bench = await createBench([{ body: "", end: "hang" }, done]);
    await expect(
      bench.run(["first"], {
        timeoutMs: 15_000,
        onStart: (child) => void bench.server.received(1).then(() => child.kill("SIGKILL")),
      }),
    ).rejects.toThrow(/no end/);
    expect(files(bench).filter((name) => name.endsWith(".lock"))).toHaveLength(1);
    // The header and the prompt were on disk before the first request.
    expect(readSession(sessionPath(bench.workspace)).at(-1)?.message.content).toBe("first");
    expect(await bench.run(["-c", "second"])).toMatchObject({ status: 0, stdout: "done\n", stderr: "" });
    expect(outline(bench, 1)).toEqual(["user: first", "user: second"]);
  });
});

describe("a file that was cut", () => {
  const whole = [...rounds, message(user("é漢😀".repeat(9)))];

  test("anywhere in its last entry opens with every whole one, and the rest is kept aside", async () => {
    const bench = await createBench([done]);
    const path = writeSession(bench.workspace, whole);
    const bytes = readFileSync(path);
    const last = bytes.lastIndexOf(10, bytes.length - 2) + 1;
    const character = bytes.indexOf(Buffer.from("😀")) + 2;
    for (const cut of [last + 1, last + 20, character, bytes.length - 2]) {
      writeFileSync(path, bytes.subarray(0, cut));
      rmSync(`${path}.torn`, { force: true });
      const { status, stdout, stderr } = await bench.run(["--resume", path, "go on"]);
      expect({ status, stdout }).toEqual({ status: 0, stdout: "done\n" });
      expect(stderr).toMatch(oneLine);
      expect(stderr).toContain(".torn");
      expect(outline(bench, bench.server.requests.length - 1)).toEqual(resumed);
      expect(readFileSync(`${path}.torn`)).toEqual(bytes.subarray(last, cut));
      expect(readSession(path).length).toBeGreaterThan(4);
    }
  });

  test("behind its newline loses nothing", async () => {
    const bench = await createBench([done]);
    const path = writeSession(bench.workspace, rounds);
    writeFileSync(path, readFileSync(path).subarray(0, -1));
    expect(await bench.run(["-c", "go on"])).toMatchObject({ status: 0, stderr: "" });
    expect(outline(bench)).toEqual(resumed);
    expect(readSession(path).length).toBeGreaterThan(3);
  });
});

describe("garbage between whole entries", () => {
  const garbage = '{"type":"message","id":"x","par\u0000';

  async function damaged(): Promise<{ bench: Bench; path: string }> {
    const bench = await createBench([done]);
    const path = writeSession(bench.workspace, rounds);
    const [header, ...entries] = readFileSync(path, "utf8").trimEnd().split("\n");
    writeFileSync(path, [header, entries[0], garbage, entries[1], ""].join("\n"));
    return { bench, path };
  }

  test("is refused with the number of its line", async () => {
    const { bench, path } = await damaged();
    const before = readFileSync(path);
    const refused = await bench.run(["-c", "go on"]);
    expect(refused).toMatchObject({ status: 2, stdout: "" });
    expect(refused.stderr).toMatch(oneLine);
    expect(refused.stderr).toMatch(/line 3 .*--repair/);
    expect(readFileSync(path)).toEqual(before);
  });

  test("is moved out of the file by --repair", async () => {
    const { bench, path } = await damaged();
    const { status, stdout, stderr } = await bench.run(["-c", "--repair", "go on"]);
    expect({ status, stdout }).toEqual({ status: 0, stdout: "done\n" });
    expect(stderr).toMatch(oneLine);
    expect(readFileSync(`${path}.torn`, "utf8")).toBe(`${garbage}\n`);
    expect(outline(bench)).toEqual(resumed);
    expect(readSession(path).length).toBeGreaterThan(3);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });
});

describe("files of earlier versions", () => {
  const place = { timestamp: "2024-01-01T00:00:00.000Z" };
  const asked = { type: "message", ...place, message: user("first") };
  const said = { type: "message", ...place, message: assistant([text("one")]) };

  test.each<[string, object, object[], string[]]>([
    ["1, without ids", {}, [asked, said], resumed],
    [
      "2, with the role hookMessage",
      { version: 2 },
      [
        { ...asked, id: "a", parentId: null },
        {
          type: "message",
          ...place,
          id: "h",
          parentId: "a",
          message: { role: "hookMessage", customType: "note", content: "noted", display: true, timestamp: 1 },
        },
        { ...said, id: "b", parentId: "h" },
      ],
      ["user: first", "user: noted", "assistant: one", "user: go on"],
    ],
  ])("open: version %s", async (_, version, entries, expected) => {
    const bench = await createBench([done]);
    const header = { type: "session", ...version, id: sessionId, ...place, cwd: bench.workspace.cwd };
    const path = bench.workspace.homeFile(
      `sessions/${sessionId}.jsonl`,
      [header, ...entries].map((line) => `${JSON.stringify(line)}\n`).join(""),
    );
    expect(await bench.run(["-c", "go on"])).toMatchObject({ status: 0, stderr: "" });
    expect(outline(bench)).toEqual(expected);
    expect(await bench.run(["-c", "more"])).toMatchObject({ status: 0, stderr: "" });
    expect(readSession(path)).toHaveLength(1 + entries.length + 6);
  });
});

test.each(apiWires.map((wire) => [wire.api, wire] as const))(
  "history of another provider is rebuilt for %s",
  async (api, wire) => {
    const id = `call_${"x".repeat(50)}|fc_${"y".repeat(21)}`;
    expect(id).toHaveLength(80);
    const bench = await createBench([wire.reply({ text: "done" })], { api, model: { reasoning: true } });
    writeSession(bench.workspace, [
      message(user("first")),
      message(
        assistant([{ type: "thinking", thinking: "unsigned" }, text("let me"), call(id)], {
          api: "openai-responses",
          provider: "other",
          stopReason: "toolUse",
        }),
      ),
      message(result(id)),
      message(
        assistant([{ type: "thinking", thinking: "own but unsigned" }, text("one")], {
          api,
          provider: "fake",
        }),
      ),
    ]);
    expect(await bench.run(["-c", "go on"])).toMatchObject({ status: 0, stdout: "done\n" });
    const lines = outline(bench);
    expect(unpaired(lines)).toEqual([]);
    const ids = lines.flatMap((line) => (line.startsWith("call ") ? [line.slice(5)] : []));
    expect(ids).toHaveLength(1);
    expect(ids[0]).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(bench.server.requests[0]?.body).not.toContain("unsigned");
    expect(lines.filter((line) => !/^(call|result) /.test(line))).toEqual([
      "user: first",
      "assistant: let me",
      "assistant: one",
      "user: go on",
    ]);
  },
);
