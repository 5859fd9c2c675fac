import { describe, expect, test } from "vitest";
import type { NewEntry } from "../../src/contract/entries.ts";
import { assistant, message, text, user } from "../session/samples.ts";
import { apiWires } from "../support/api-wires.ts";
import { chatReply } from "../support/chat-wire.ts";
import { outlineRequest } from "../support/request-outline.ts";
import type { Line } from "../support/run-cli.ts";
import { readSession, sessionId, sessionPath, writeSession } from "../support/session-file.ts";
import { type Bench, createBench } from "../support/with-provider.ts";

const done = chatReply({ text: "done" });
const oneLine = /^base-context: [^\n]+\n$/;

/** Two rounds; the ids are entry-0 to entry-3. */
const rounds: NewEntry[] = [
  message(user("first")),
  message(assistant([text("one")])),
  message(user("second")),
  message(
    assistant([text("two"), { type: "toolCall", id: "w", name: "write", arguments: { path: "out.ts" } }]),
  ),
];

function outline({ server }: Bench, index: number): string[] {
  return outlineRequest(server.json(index));
}

describe("--branch", () => {
  test.each([["--continue"], ["--resume", sessionId], ["--fork", sessionId]])(
    "goes on from an earlier entry, with %s",
    async (...how) => {
      const bench = await createBench([done]);
      const path = writeSession(bench.workspace, rounds);
      expect(await bench.run([...how, "--branch", "entry-1", "other"])).toMatchObject({
        status: 0,
        stdout: "done\n",
      });
      expect(outline(bench, 0)).toEqual(["user: first", "assistant: one", "user: other"]);
      if (how[0] === "--fork") return;
      const added = readSession(path).slice(5);
      expect(added[0]?.parentId).toBe("entry-1");
      // The branch that went on is the one that is continued next.
      await bench.run(["-c", "more"]);
      expect(outline(bench, 1)).toEqual([
        "user: first",
        "assistant: one",
        "user: other",
        "assistant: done",
        "user: more",
      ]);
    },
  );

  test("goes back to the branch that was left, too", async () => {
    const bench = await createBench([done]);
    writeSession(bench.workspace, rounds.slice(0, 3));
    await bench.run(["-c", "--branch", "entry-1", "other"]);
    await bench.run(["-c", "--branch", "entry-2", "back"]);
    expect(outline(bench, 1)).toEqual(["user: first", "assistant: one", "user: second", "user: back"]);
  });

  test("takes a label that /label set", async () => {
    const bench = await createBench([chatReply({ text: "one" }), chatReply({ text: "two" }), done]);
    await bench.run(["first", "/label before the rewrite", "second"]);
    const { status, stderr } = await bench.run(["-c", "--branch", "before the rewrite", "other"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(outline(bench, 2)).toEqual(["user: first", "assistant: one", "user: other"]);
  });

  test("takes the unique beginning of an id", async () => {
    const bench = await createBench([chatReply({ text: "one" }), chatReply({ text: "two" }), done]);
    await bench.run(["first", "second"]);
    const answer = readSession(sessionPath(bench.workspace)).find(
      ({ message }) => message?.role === "assistant",
    );
    const { status, stderr } = await bench.run(["-c", "--branch", answer?.id.slice(0, 8), "other"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(outline(bench, 2)).toEqual(["user: first", "assistant: one", "user: other"]);
  });

  test.each<[string, string[], RegExp]>([
    ["an entry that there is not", ["-c", "--branch", "nowhere"], /no entry "nowhere"/],
    ["a beginning that is not unique", ["-c", "--branch", "entry"], /more than one entry.*entry-3/],
    ["a beginning that is too short", ["-c", "--branch", "ent"], /no entry "ent"/],
    ["no session", ["--branch", "entry-1"], /--branch needs --continue or --resume or --fork/],
    ["--branch-summary without --branch", ["-c", "--branch-summary"], /--branch-summary needs --branch/],
    ["--repair without a session", ["--repair"], /--repair needs --continue or --resume/],
  ])("is refused for %s, and the session stays as it is", async (_, args, words) => {
    const bench = await createBench([done]);
    const path = writeSession(bench.workspace, rounds);
    const before = readSession(path);
    const result = await bench.run([...args, "hi"]);
    expect(result).toMatchObject({ status: 2, stdout: "" });
    expect(result.stderr).toMatch(oneLine);
    expect(result.stderr).toMatch(words);
    expect(readSession(path)).toEqual(before);
    expect(bench.server.requests).toHaveLength(0);
  });
});

describe("--branch-summary", () => {
  test.each(apiWires.map((wire) => [wire.api, wire] as const))(
    "sums up what is left, on %s",
    async (api, wire) => {
      const summary = wire.reply({ text: "tried the second way", usage: { input: 500, output: 20 } });
      const bench = await createBench([summary, wire.reply({ text: "done" })], { api });
      const path = writeSession(bench.workspace, rounds);
      const { status, stderr, lines } = await bench.run([
        "--mode",
        "json",
        "-c",
        "--branch",
        "entry-1",
        "--branch-summary",
        "other",
      ]);
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      const asked = bench.server.requests[0]?.body ?? "";
      expect(asked).toContain("second");
      expect(asked).not.toContain("[User]\\nfirst");
      expect(outline(bench, 1)).toEqual([
        "user: first",
        "assistant: one",
        expect.stringMatching(/^user: .*tried the second way/s),
        "user: other",
      ]);
      expect(lines.slice(1, 5)).toMatchObject([
        {
          type: "session_action_update",
          actions: { active: { kind: "session_command", label: "--branch-summary" } },
        },
        { type: "message_start", message: { role: "branchSummary" } },
        { type: "message_end", message: { role: "branchSummary", fromId: "entry-3" } },
        { type: "session_action_update", actions: { queuedCount: 0 } },
      ]);
      expect(readSession(path).find(({ type }) => type === "branch_summary")).toMatchObject({
        fromId: "entry-3",
        summary: "tried the second way\n\n<files-changed>\nout.ts\n</files-changed>",
        details: { modifiedFiles: ["out.ts"], usage: { totalTokens: 520 } },
      });
    },
  );

  test("that fails is status 1, the prompt is not run and the session can go on as before", async () => {
    const refused = {
      status: 400,
      type: "application/json",
      body: '{"error":{"message":"no summaries here"}}',
    };
    const bench = await createBench([refused, done]);
    const path = writeSession(bench.workspace, rounds);
    const result = await bench.run(["-c", "--branch", "entry-1", "--branch-summary", "other"]);
    expect(result).toMatchObject({ status: 1, stdout: "" });
    expect(result.stderr).toMatch(/could not be summed up: [^\n]*no summaries here/);
    expect(result.stderr).toContain("1 further prompt was not run");
    expect(bench.server.requests).toHaveLength(1);
    expect(readSession(path).some(({ type }) => type === "branch_summary")).toBe(false);
    await bench.run(["-c", "more"]);
    expect(outline(bench, 1)).toEqual(expect.arrayContaining(["user: second", "user: more"]));
  });

  test("keeps model, level and name of the branch that goes on behind the summary", async () => {
    const bench = await createBench([chatReply({ text: "tried the second way" }), done]);
    const path = writeSession(bench.workspace, rounds);
    await bench.run(["-c", "--branch", "entry-1", "--branch-summary", "--name", "again", "other"]);
    const added = readSession(path).slice(5);
    expect(added.slice(0, 4).map(({ type }) => type)).toEqual([
      "branch_summary",
      "model_change",
      "thinking_level_change",
      "session_info",
    ]);
    expect(added[0]?.parentId).toBe("entry-1");
  });

  const serving = ["--mode", "rpc", "-c", "--branch", "entry-1", "--branch-summary"];
  const asking = { stdin: '{"type":"get_messages"}\n' };

  test("comes before the first command of a client", async () => {
    const bench = await createBench([chatReply({ text: "tried the second way" })]);
    writeSession(bench.workspace, rounds);
    const { status, stderr, lines } = await bench.run(serving, asking);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const roles = lines.at(-1)?.data.messages.map(({ role }: Line) => role);
    expect(roles).toEqual(["user", "assistant", "branchSummary"]);
  });

  test("that fails ends a run that a client drives", async () => {
    const refused = { status: 400, type: "application/json", body: '{"error":{"message":"no summaries"}}' };
    const bench = await createBench([refused]);
    writeSession(bench.workspace, rounds);
    const { status, stderr, lines } = await bench.run(serving, asking);
    expect(status).toBe(1);
    expect(stderr).toMatch(/could not be summed up: [^\n]*no summaries/);
    expect(lines.some(({ type }) => type === "response")).toBe(false);
  });

  test("asks nobody when nothing is left behind", async () => {
    const bench = await createBench([done]);
    writeSession(bench.workspace, rounds.slice(0, 2));
    const { status, stderr } = await bench.run(["-c", "--branch", "entry-1", "--branch-summary", "other"]);
    expect(status).toBe(0);
    expect(stderr).toMatch(/nothing is left behind/);
    expect(bench.server.requests).toHaveLength(1);
  });

  test("that a signal ends is told to its end", async () => {
    const bench = await createBench([{ body: "", end: "hang" }]);
    writeSession(bench.workspace, rounds);
    const running = bench.run(["--mode", "json", "-c", "--branch", "entry-1", "--branch-summary", "other"], {
      onStart: (child) => void bench.server.received(1).then(() => child.kill("SIGTERM")),
    });
    expect((await running).status).toBe(143);
  });
});
