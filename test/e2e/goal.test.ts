import { expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { inBothModes, ownMessages, says, writes } from "../support/unattended.ts";
import { createBench } from "../support/with-provider.ts";

const reached = chatReply({ calls: [{ name: "goal_complete", args: {} }] });

test("a goal is worked on until the model says that it is reached", async () => {
  const { text, json } = await inBothModes(
    [says("a start"), writes("a"), says("half of it"), reached, says("all green")],
    ["--goal", "all tests are green"],
  );
  for (const { status, summary, bench } of [text, json]) {
    expect(status).toBe(0);
    expect(bench.server.requests.length).toBe(5);
    expect(summary).toMatchObject({
      continuations: 2,
      goal: { text: "all tests are green", reached: true },
    });
  }
  expect(text.stdout).toBe("all green\n");
  expect(ownMessages(json.lines)).toEqual([
    { customType: "autonomous", reason: "goal_open" },
    { customType: "autonomous", reason: "goal_open" },
  ]);
  const first = text.bench.server.json(0);
  expect(first.messages[0].content).toContain("<goal>\nall tests are green\n</goal>");
  expect(first.tools.map(({ function: { name } }: { function: { name: string } }) => name)).toContain(
    "goal_complete",
  );
  expect(text.bench.server.json(1).messages.at(-1).content).toContain("Goal: all tests are green");
});

test("a goal that is never reached ends at a limit, with status 4", async () => {
  const { text, json } = await inBothModes([says("not yet")], ["--goal", "g"]);
  for (const { status, summary, bench } of [text, json]) {
    expect(status).toBe(4);
    expect(bench.server.requests.length).toBe(4);
    expect(summary).toMatchObject({ limit: "continuations", goal: { reached: false } });
  }
});

test("a goal that was reached when a limit comes is reached", async () => {
  const { text } = await inBothModes([reached, says("done")], ["--goal", "g", "--autonomous-max-turns", "1"]);
  expect([text.status, text.bench.server.requests.length]).toEqual([0, 1]);
});

test("a goal that is reached does not make up for a gate", async () => {
  const { text } = await inBothModes(
    [reached, says("done"), writes("ok"), says("now")],
    ["--goal", "g", "--autonomous-gate", "test -f ok"],
  );
  expect([text.status, text.stdout]).toEqual([0, "now\n"]);
});

test("a session keeps its goal, shows it, and goes on with it where nobody watches", async () => {
  const { run, server } = await createBench([
    says("not yet"),
    says("not yet"),
    says("an answer"),
    reached,
    says("ok"),
  ]);
  const args = ["--goal", "keep at it", "--autonomous-max-continuations", "1", "--goal-token-budget", "1000"];
  expect((await run([...args, "do it"])).status).toBe(4);
  const asked = await run(["-c", "how is it going?"]);
  expect([asked.status, asked.stdout, server.requests.length]).toEqual([0, "an answer\n", 3]);
  expect(server.json(2).messages[0].content).toContain("keep at it");
  const { status, stdout } = await run(["-c", "--autonomous", "go on"]);
  expect([status, stdout]).toEqual([0, "ok\n"]);
  await run(["-c", "and now?"]);
  expect(server.json(-1).messages[0].content).not.toContain("keep at it");
  expect(JSON.stringify(server.json(-1).tools)).not.toContain("goal_complete");
});

test("tokens for a goal count over all runs", async () => {
  const { run } = await createBench([says("not yet")]);
  const first = await run(["--goal", "g", "--goal-token-budget", "50", "do it"]);
  expect(first.stderr).toContain("the goal's limit of 50 tokens");
  const second = await run(["-c", "--autonomous", "go on"]);
  expect(second.status).toBe(4);
  expect(second.stderr).toContain("the goal's limit of 50 tokens");
});

test("a run without a goal has no such tool, and a budget alone is told to be for nothing", async () => {
  const { run, server } = await createBench([says("done")]);
  const { status, stderr } = await run(["--goal-token-budget", "5", "do it"]);
  expect(status).toBe(0);
  expect(stderr).toContain("--goal-token-budget is for a goal");
  expect(server.requests[0]?.body).not.toContain("goal_complete");
});
