import { expect, test } from "vitest";
import { createGoal, keepGoal, keptGoal } from "../../../src/session/autonomous/goal.ts";
import { createSession } from "../../../src/session/store/store.ts";

const open = { text: "all {{goal}} $& green", reached: false, tokensUsed: 10 };
const context = { cwd: "/", toolCallId: "c", signal: new AbortController().signal, onUpdate: () => {} };

function store() {
  return createSession({ folder: "/nowhere", cwd: "/", pid: 1, persist: false });
}

test("a goal is shown as it is, and reached when its tool is called", async () => {
  const goal = createGoal(open);
  expect(goal.systemPrompt).toContain("<goal>\nall {{goal}} $& green\n</goal>");
  expect(goal.prompt()).toContain("Goal: all {{goal}} $& green");
  expect([goal.isReached(), goal.state(5)]).toEqual([false, { ...open, tokensUsed: 15 }]);
  expect(await goal.tool.execute({ anything: 1 }, context)).toMatchObject({ isError: false });
  expect([goal.isReached(), goal.state(5)]).toEqual([true, { ...open, reached: true, tokensUsed: 15 }]);
});

test("a session keeps the goal that it was given last", () => {
  const session = store();
  expect(keptGoal(session)).toBeUndefined();
  keepGoal(session, open);
  keepGoal(session, { ...open, text: "other", tokenBudget: 99 });
  expect(keptGoal(session)).toEqual({ ...open, text: "other", tokenBudget: 99 });
});

test("it is kept again only when it changed, or when a compaction may hide it", () => {
  const session = store();
  keepGoal(session, open);
  keepGoal(session, open);
  expect(session.branch().length).toBe(1);
  session.append({ type: "compaction", summary: "s", firstKeptEntryId: "x", tokensBefore: 1 });
  keepGoal(session, open);
  expect(session.branch().map(({ type }) => type)).toEqual(["custom", "compaction", "custom"]);
});

test.each([undefined, null, 3, "text", [], {}, { text: " " }, { text: 3 }])("%j is no goal", (data) => {
  const session = store();
  session.append({ type: "custom", customType: "goal", ...(data === undefined ? {} : { data }) });
  expect(keptGoal(session)).toBeUndefined();
});
