import { afterEach, expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { createGate, eventually, isAlive, killRuns, recordOf, startResident } from "../support/lifecycle.ts";
import type { Script } from "../support/provider-server.ts";
import type { RunResult } from "../support/run-cli.ts";
import { type Bench, createBench } from "../support/with-provider.ts";

const count = 50;
/** Programs at once beside the runs themselves: the point is the runs. */
const atOnce = 6;
let bench: Bench | undefined;

afterEach(() => {
  if (bench !== undefined) killRuns(bench.workspace);
});

test("fifty resident runs of one home folder are listed, steered, stopped and waited for", async () => {
  let command = "";
  const script: Script = ({ body }) => {
    const { messages } = JSON.parse(body);
    const [steered] = messages.flatMap(
      ({ content }: { content: unknown }) => /^steered \d+$/.exec(String(content)) ?? [],
    );
    if (steered !== undefined) return chatReply({ text: `I was ${steered}.` });
    return chatReply({ calls: [{ name: "bash", args: { command } }] });
  };
  const here = await createBench([script]);
  const { server, workspace, runBare } = here;
  bench = here;
  const gate = createGate(workspace);
  command = gate.command;
  const indexes = Array.from({ length: count }, (_, index) => index);

  const ids = await each(indexes, (index) => startResident(here, ["--name", `run ${index}`, "hi"]));
  expect(new Set(ids).size).toBe(count);
  await server.received(count);
  expect(await listed("running")).toEqual([...ids].sort());

  const sent = await each(indexes, (index) =>
    runBare(["send", `run ${index}`, `steered ${index}`, "--steer"]),
  );
  expect(statuses(sent)).toEqual([0]);
  const stopped = ids.filter((_, index) => index % 2 === 0);
  const finished = ids.filter((_, index) => index % 2 === 1);
  const waiting = each(ids, (id) => runBare(["wait", id], { timeoutMs: 60_000 }), 2 * atOnce);
  expect(statuses(await each(stopped, (id) => runBare(["stop", id])))).toEqual([0]);
  expect(await listed("running")).toEqual([...finished].sort());
  await gate.open();
  const waited = await waiting;
  expect(waited.map(({ status }) => status)).toEqual(indexes.map((index) => (index % 2 === 0 ? 143 : 0)));

  const answers = await each(finished, (id) => runBare(["attach", id, "--mode", "text"]));
  expect(answers.map(({ stdout }) => stdout)).toEqual(
    indexes.filter((index) => index % 2 === 1).map((index) => `I was steered ${index}.\n`),
  );
  expect(await listed("running")).toEqual([]);
  expect(await listed("exited")).toEqual([...ids].sort());
  await eventually(() => ids.every((id) => !isAlive(recordOf(workspace.home, id).pid)));

  async function listed(state: string): Promise<string[]> {
    const { stdout } = await runBare(["list", "--all", "--json"]);
    const runs: { id: string; state: string }[] = JSON.parse(stdout);
    return runs
      .filter((run) => run.state === state)
      .map(({ id }) => id)
      .sort();
  }
}, 180_000);

/** Does something with each item, some at a time; gives the results in the items' order. */
async function each<T, R>(items: readonly T[], act: (item: T) => Promise<R>, width = atOnce): Promise<R[]> {
  const results: R[] = [];
  const left = items.map((item, index) => ({ item, index }));
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift())
      results[next.index] = await act(next.item);
  };
  await Promise.all(Array.from({ length: width }, work));
  return results;
}

function statuses(results: readonly RunResult[]): unknown[] {
  return [...new Set(results.map(({ status, stderr }) => (status === 0 ? 0 : `${status}: ${stderr}`)))];
}
