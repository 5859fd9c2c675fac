import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { chatReply } from "../support/chat-wire.ts";
import { outlineRequest, unpaired } from "../support/request-outline.ts";
import { cliPath, type Line } from "../support/run-cli.ts";
import { readSession, sessionPath } from "../support/session-file.ts";
import { type Bench, createBench } from "../support/with-provider.ts";

const chains = 4;
const killsAChain = 50;

/** Never ends: text and two calls in every reply, none of them like an earlier one. */
function busyScript() {
  return [
    (_: unknown, index: number) =>
      chatReply({
        text: ["thinking about ", `step ${index} `, "é漢😀".repeat(index % 50)],
        calls: [
          { id: `call_${index}_a`, name: "bash", args: { command: `echo ${index}` } },
          {
            id: `call_${index}_b`,
            name: "write",
            args: { path: `file-${index % 5}.txt`, content: `${index}` },
          },
        ],
      }),
  ];
}

test("of 200 runs that are killed at any moment, each session goes on with all that was announced", async () => {
  const kills = await Promise.all(Array.from({ length: chains }, (_, n) => killAgainAndAgain(n + 1)));
  expect(kills.reduce((sum, count) => sum + count, 0)).toBe(chains * killsAChain);
}, 180_000);

test("the result of a call is in the session before the next call of the same message runs", async () => {
  const { run, workspace } = await createBench([
    chatReply({
      calls: [
        { id: "a", name: "bash", args: { command: "echo changed" } },
        { id: "b", name: "bash", args: { command: 'kill -9 "$PPID"' } },
      ],
    }),
    chatReply({ text: "Done." }),
  ]);
  await expect(run(["--mode", "json", "go"], { unchecked: true })).rejects.toThrow(/tool_execution_start/);
  const results = readSession(sessionPath(workspace)).filter(({ message }) => message?.role === "toolResult");
  expect(results.map(({ message }) => message.content)).toEqual([[{ type: "text", text: "changed\n" }]]);
});

/** Runs a session, kills it, goes on with it, kills it ... Gives how often. */
async function killAgainAndAgain(seed: number): Promise<number> {
  const bench = await createBench(busyScript());
  bench.workspace.homeFile("settings.json", { compaction: { enabled: false } });
  const random = createRandom(seed);
  const announced = new Set<string>();
  for (let round = 0; round < killsAChain; round++) {
    const lines = await runAndKill(bench, round, random);
    for (const { type, message } of lines) if (type === "message_end") announced.add(JSON.stringify(message));
    if (!hasSession(bench)) continue;
    const saved = new Set(savedMessages(bench));
    expect([...announced].filter((message) => !saved.has(message))).toEqual([]);
  }
  for (const { body } of bench.server.requests)
    expect(unpaired(outlineRequest(JSON.parse(body)))).toEqual([]);
  expect(announced.size).toBeGreaterThan(killsAChain);
  return killsAChain;
}

async function runAndKill({ workspace }: Bench, round: number, random: () => number): Promise<Line[]> {
  const { home, cwd } = workspace;
  const more = hasSession({ workspace }) ? ["-c"] : [];
  const args = ["--model", "fake/m", "--mode", "json", "--json-deltas", ...more, `prompt ${round}`];
  const child = spawn(process.execPath, [cliPath, ...args], {
    cwd,
    env: { PATH: process.env.PATH, HOME: home, BASE_CONTEXT_HOME: home },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  const bytes = random() * 12_000;
  const timer = setTimeout(() => child.kill("SIGKILL"), 60 + random() * 3000);
  child.stdout.on("data", (piece: Buffer) => {
    stdout += piece.toString();
    if (stdout.length > bytes) child.kill("SIGKILL");
  });
  child.stderr.on("data", (piece: Buffer) => {
    stderr += piece.toString();
  });
  const [status] = await once(child, "close");
  clearTimeout(timer);
  // Nothing else ends it, a refused start the least.
  expect({ status, stderr: stderr.replace(/^base-context: the last \d+ bytes of .*\n$/, "") }).toEqual({
    status: null,
    stderr: "",
  });
  return stdout
    .split("\n")
    .slice(0, -1)
    .map((line): Line => JSON.parse(line));
}

function hasSession({ workspace }: Pick<Bench, "workspace">): boolean {
  const folder = join(workspace.home, "sessions");
  return existsSync(folder) && readdirSync(folder).some((name) => name.endsWith(".jsonl"));
}

function savedMessages({ workspace }: Bench): string[] {
  return readSession(sessionPath(workspace)).flatMap(({ type, message }) =>
    type === "message" ? [JSON.stringify(message)] : [],
  );
}

/** The same numbers from 0 up to 1 for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
