import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Api } from "../../src/contract/messages.ts";
import { anthropicReply } from "../support/anthropic-wire.ts";
import { chatReply } from "../support/chat-wire.ts";
import { type ProviderServer, type ScriptedReply, startProvider } from "../support/provider-server.ts";
import { responsesReply } from "../support/responses-wire.ts";
import { type Line, runCli } from "../support/run-cli.ts";
import { createWorkspace } from "../support/workspace.ts";

const folder = process.env.BASE_CONTEXT_FIXTURES;
if (folder === undefined)
  console.warn("BASE_CONTEXT_FIXTURES is not set: the recorded provider replies are not tested");

const apis: Readonly<Record<string, { api: Api; includesCached: boolean; answer: ScriptedReply }>> = {
  anthropic: { api: "anthropic-messages", includesCached: false, answer: anthropicReply({ text: "done" }) },
  "openai-chat": { api: "openai-completions", includesCached: true, answer: chatReply({ text: "done" }) },
  "openai-responses": {
    api: "openai-responses",
    includesCached: true,
    answer: responsesReply({ text: "done" }),
  },
  "openai-codex": {
    api: "openai-codex-responses",
    includesCached: true,
    answer: responsesReply({ text: "done" }),
  },
};

/** What a recording's meta file says, as far as it is looked at here. */
type Meta = {
  readonly httpStatus: number;
  readonly headers?: Record<string, string>;
  readonly expected: {
    readonly text: string;
    readonly thinking: string;
    readonly toolCalls: readonly { id: string; name: string; arguments: unknown; incomplete?: boolean }[];
    readonly stopReason: string | null;
    readonly stopReasonAlso?: readonly string[];
    readonly usage: Record<string, number | null> | null;
    readonly errorContains?: string;
    readonly refusal?: string;
  };
};

type Recording = { readonly name: string; readonly meta: Meta; readonly bytes: Buffer };

/**
 * Where the meta file and this program part: a refusal is an `error` whatever finish reason comes with it, and
 * without any finish reason complete calls count.
 */
function allowedStops({ expected }: Meta): readonly (string | null)[] {
  if (expected.refusal !== undefined) return ["error"];
  if (expected.stopReason === null) return ["toolUse", "error"];
  return [expected.stopReason, ...(expected.stopReasonAlso ?? [])];
}

describe.runIf(folder !== undefined)("recorded replies through the built program", () => {
  for (const [split, { api, includesCached, answer }] of Object.entries(apis))
    describe(split, () => {
      const recordings = folder === undefined ? [] : readRecordings(join(folder, split));
      test.concurrent.each(recordings)("$name", async (recording) => {
        for (const cut of cuts) {
          const message = await play(recording, { api, answer, cut });
          expect({ cut: cut.name, ...read(message, includesCached, recording.meta) }).toEqual({
            cut: cut.name,
            ...wanted(recording.meta, message),
          });
        }
      });
    });
});

/** The ways in which the bytes are written. */
const cuts: readonly { readonly name: string; readonly split: (bytes: Buffer) => number[] }[] = [
  { name: "whole", split: () => [] },
  { name: "odd sizes", split: (bytes) => offsets(bytes.length, (at) => 1 + ((at * 7919) % 97)) },
  // Byte by byte where the framing and the first blocks are; the rest of a long body in larger steps.
  { name: "single bytes", split: (bytes) => offsets(bytes.length, (at) => (at < 20_000 ? 1 : 1013)) },
];

function offsets(length: number, step: (at: number) => number): number[] {
  const result: number[] = [];
  for (let at = step(0); at < length; at += step(at)) result.push(at);
  return result;
}

async function play(
  { meta, bytes }: Recording,
  { api, answer, cut }: { api: Api; answer: ScriptedReply; cut: (typeof cuts)[number] },
): Promise<Line> {
  const { "content-type": type = "application/json", ...headers } = meta.headers ?? {};
  const kept = Object.entries(headers).filter(([name]) => !/encoding|length|connection/.test(name));
  const server: ProviderServer = await startProvider([
    {
      status: meta.httpStatus,
      type,
      headers: Object.fromEntries(kept),
      body: bytes,
      split: cut.split(bytes),
    },
    answer,
  ]);
  const workspace = createWorkspace({ url: server.url, api });
  try {
    workspace.homeFile("settings.json", { retry: { enabled: false } });
    const { lines, status } = await runCli(["--model", "fake/m", "--mode", "json", "--no-tools", "hi"], {
      workspace,
      env: { OPENAI_CODEX_ACCOUNT_ID: "account" },
      timeoutMs: 60_000,
    });
    const first = lines.find(({ type, message }) => type === "message_end" && message.role === "assistant");
    const failed = first?.message.stopReason === "error";
    expect(status).toBe(failed ? 1 : 0);
    return first?.message;
  } finally {
    await server.close();
    workspace.remove();
  }
}

/** The message in the words of the meta files. */
function read(message: Line, includesCached: boolean, { expected }: Meta): object {
  const blocks: readonly Line[] = message.content;
  const { input, output, cacheRead, cacheWrite } = message.usage;
  const usage: Record<string, number> = {
    input: includesCached ? input + cacheRead + cacheWrite : input,
    output,
    cacheRead,
    cacheWrite,
  };
  const stated = Object.entries(expected.usage ?? {}).filter(
    ([key, value]) => value !== null && key in usage,
  );
  return {
    text: blocks.map(({ type, text }) => (type === "text" ? text : "")).join(""),
    thinking: blocks
      .flatMap(({ type, thinking }) => (type === "thinking" && thinking ? [thinking] : []))
      .join("\n\n"),
    calls: blocks
      .filter(({ type }) => type === "toolCall")
      .map(({ id, name, arguments: args }) => ({ id, name, arguments: args })),
    stopReason: message.stopReason,
    error:
      expected.errorContains !== undefined && message.stopReason === "error"
        ? message.errorMessage
        : undefined,
    usage: Object.fromEntries(stated.map(([key]) => [key, usage[key]])),
  };
}

function wanted(meta: Meta, message: Line): object {
  const { expected } = meta;
  const usage = Object.entries(expected.usage ?? {}).filter(
    ([key, value]) => value !== null && key !== "reasoning",
  );
  return {
    text: expected.text,
    thinking: expected.thinking,
    calls: expected.toolCalls.map(({ id, name, arguments: args, incomplete }) => ({
      id,
      name,
      // A custom tool's input is plain text; arguments that are cut are not repaired.
      arguments:
        incomplete === true || (typeof args === "string" && expected.stopReason === "length")
          ? {}
          : typeof args === "string"
            ? { input: args }
            : args,
    })),
    stopReason: expect.toBeOneOf([...allowedStops(meta)]),
    error:
      expected.errorContains !== undefined && message.stopReason === "error"
        ? expect.stringContaining(expected.errorContains)
        : undefined,
    usage: Object.fromEntries(usage),
  };
}

function readRecordings(path: string): Recording[] {
  const files = readdirSync(path).filter((file) => !file.endsWith(".meta.json"));
  return files.sort().map((name) => ({
    name,
    bytes: readFileSync(join(path, name)),
    meta: JSON.parse(readFileSync(join(path, name.replace(/\.[^.]+$/, ".meta.json")), "utf8")),
  }));
}
