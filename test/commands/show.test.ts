import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { showSession } from "../../src/commands/show.ts";
import { toTranscript } from "../../src/commands/show-transcript.ts";
import type { NewEntry } from "../../src/contract/entries.ts";
import { assistant, chain, message, result, text, useFolders, user } from "../session/samples.ts";
import { createMemoryOutput, going, sampleTime, writeSampleSession } from "./sample-session.ts";

const makeFolder = useFolders();

async function show(folder: string, id: string, json: boolean): Promise<string> {
  const output = createMemoryOutput();
  const options = { folder, id, json, signal: going, warn: () => undefined };
  expect(await showSession(options, output)).toBe(0);
  return output.text();
}

test("show prints what is known of a session and all that was said, also while it is in use", async () => {
  const folder = makeFolder();
  const store = writeSampleSession(folder);
  const [info, asked, answered, told] = store.branch().map(({ id }) => id);
  expect(await show(folder, "mine", false)).toBe(
    [
      `id             ${store.header.id}`,
      `timestamp      ${sampleTime}`,
      "cwd            /work",
      `path           ${store.path}`,
      "name           mine",
      "model          p/m",
      "",
      `${info}  ${sampleTime}  name: mine`,
      "",
      `${asked}  ${sampleTime}  user`,
      "  list",
      "  the files",
      "",
      `${answered}  ${sampleTime}  assistant p/m`,
      "  Yes",
      "  > ls {}",
      "",
      `${told}  ${sampleTime}  ls`,
      `  ${"x".repeat(2000)}`,
      "  … (3000 more characters)",
      "",
    ].join("\n"),
  );
  store.close();
});

test("show --json prints one object, an entry a line", async () => {
  const folder = makeFolder();
  const store = writeSampleSession(folder);
  const shown = await show(folder, store.header.id.slice(0, 8), true);
  expect(JSON.parse(shown)).toEqual({
    id: store.header.id,
    timestamp: sampleTime,
    cwd: "/work",
    path: store.path,
    name: "mine",
    model: { provider: "p", modelId: "m" },
    entries: store.branch(),
  });
  expect(
    shown
      .split("\n")
      .slice(1, 5)
      .map((line) => JSON.parse(line.replace(/,$/, ""))),
  ).toEqual(store.branch());
  store.close();
});

test("show passes over an entry that is being written", async () => {
  const folder = makeFolder();
  const store = writeSampleSession(folder);
  const before = await show(folder, "mine", true);
  store.close();
  const whole = readFileSync(store.path ?? "", "utf8");
  writeFileSync(store.path ?? "", `${whole}{"type":"mess`);
  expect(await show(folder, "mine", true)).toBe(before);
});

test("show ends when it is told to", async () => {
  const folder = makeFolder();
  writeSampleSession(folder).close();
  const output = createMemoryOutput();
  const options = { folder, id: "mine", json: true, signal: AbortSignal.abort(), warn: () => undefined };
  expect(await showSession(options, output)).toBe(0);
  expect(output.text()).toBe("");
});

test.each<[NewEntry, string]>([
  [{ type: "model_change", provider: "p", modelId: "m" }, "model: p/m\n"],
  [{ type: "thinking_level_change", thinkingLevel: "high" }, "thinking: high\n"],
  [
    { type: "compaction", summary: "a\nb", firstKeptEntryId: "e9", tokensBefore: 12 },
    "compaction of 12 tokens\n  a\n  b\n",
  ],
  [{ type: "branch_summary", summary: "left", fromId: "e9" }, "summary of a branch that was left\n  left\n"],
  [{ type: "label", targetId: "e9", label: "here" }, "label of e9: here\n"],
  [{ type: "session_info" }, "name: (none)\n"],
  [{ type: "custom", customType: "mine", data: 1 }, "mine\n"],
  [
    {
      type: "custom",
      customType: "gate_result",
      data: { command: "npm test", outcome: "failed", exit: 1, output: "a\nb" },
    },
    "gate_result\n  gate failed: npm test (exit status 1)\n  a\n  b\n",
  ],
  [{ type: "custom_message", customType: "note", content: "hi", display: true }, "note\n  hi\n"],
  [message({ ...result("1", "no"), isError: true }), "ls failed\n  no\n"],
  [
    message(assistant([text("par")], { stopReason: "error", errorMessage: "the line\nbroke" })),
    "assistant p/m (error: the line broke)\n  par\n",
  ],
  [
    message(
      assistant([
        { type: "thinking", thinking: "hm" },
        { type: "thinking", thinking: "" },
      ]),
    ),
    "assistant p/m\n  (thinking) hm\n",
  ],
  [
    message(user("\u001b]0;title\u0007a\u0007\tb\r\nc\ud83d")),
    "user\n  a \tb\n  c \n".replace("c \n", "c\n"),
  ],
  [
    message({
      role: "bashExecution",
      command: "ls",
      output: "a",
      cancelled: false,
      truncated: false,
      timestamp: 1,
    }),
    "the user ran\n  $ ls\n  a\n",
  ],
])("show tells of %j", (entry, shown) => {
  const [placed] = chain([entry]);
  expect(placed && toTranscript(placed)).toBe(`e0  1970-01-01T00:00:00.000Z  ${shown}`);
});

test("show shortens long results by lines, too", () => {
  const lines = Array.from({ length: 30 }, (_, index) => `${index}`).join("\n");
  const [entry] = chain([message(result("1", lines))]);
  expect(entry && toTranscript(entry)).toContain("\n  19\n  … (30 more characters)\n");
});
