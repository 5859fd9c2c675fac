import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { askFake, cut, testModel, testRequest } from "./adapter.fake.ts";

type Meta = {
  status?: number;
  headers?: Record<string, string>;
  model: string | null;
  expected: {
    text: string;
    thinking: string;
    toolCalls: { id: string; name: string; arguments: unknown; argumentsRaw: string }[];
    stopReason: string | null;
    wireStopReason?: string | null;
    usage: { input: number; output: number; cacheRead: number | null; cacheWrite: number | null } | null;
    errorContains?: string;
    refusal?: string;
  };
};

const root = process.env.BASE_CONTEXT_FIXTURES;
const folder = root === undefined ? undefined : join(root, "openai-chat");
if (folder === undefined || !existsSync(folder))
  console.warn("recordings skipped: BASE_CONTEXT_FIXTURES names no folder with openai-chat");

const files = folder !== undefined && existsSync(folder) ? readdirSync(folder) : [];
const recordings = files
  .filter((file) => file.endsWith(".meta.json"))
  .map((file) => {
    const name = file.slice(0, -".meta.json".length);
    const body = files.find((other) => other.startsWith(`${name}.`) && other !== file);
    const meta: Meta = JSON.parse(readFileSync(join(folder ?? "", file), "utf8"));
    return { name, meta, body: readFileSync(join(folder ?? "", body ?? "")) };
  });

const cuts: Record<string, number[]> = { whole: [Infinity], "1-byte": [1], "odd-size": [7, 1, 333, 2, 41] };

describe.skipIf(recordings.length === 0)("a recorded reply", () => {
  for (const { name, meta, body } of recordings) {
    it.each(Object.entries(cuts))(`gives what ${name} states, in %s chunks`, async (_, sizes) => {
      const { expected } = meta;
      const outcome = await askFake(
        {
          status: Number(meta.status ?? statusOf(name)),
          headers: meta.headers ?? {},
          chunks: cut(body, sizes),
        },
        { request: testRequest({ model: { ...testModel, id: meta.model ?? "m" } }) },
      );
      expect({
        text: outcome.text,
        thinking: outcome.thinking,
        toolCalls: outcome.toolCalls.map(({ id, name, arguments: raw }) => ({ id, name, raw })),
        usage: outcome.usage,
        stopReason: outcome.stopReason,
      }).toEqual({
        text: expected.text,
        thinking: expected.thinking,
        toolCalls: expected.toolCalls.map(({ id, name, argumentsRaw }) => ({ id, name, raw: argumentsRaw })),
        usage: toCounts(expected.usage),
        stopReason: toStopReason(expected),
      });
      expect(outcome.error?.message ?? "").toContain(expected.errorContains ?? expected.refusal ?? "");
    });
  }
});

function statusOf(name: string): number {
  return Number(/^err-(\d{3})/.exec(name)?.[1] ?? 200);
}

/** A refusal is an error here whatever finish reason comes with it; a call that is complete needs none. */
function toStopReason({ stopReason, refusal }: Meta["expected"]): string {
  return refusal !== undefined ? "error" : (stopReason ?? "toolUse");
}

function toCounts(usage: Meta["expected"]["usage"]) {
  if (usage === null) return undefined;
  const cacheRead = usage.cacheRead ?? 0;
  return {
    input: usage.input - cacheRead,
    output: usage.output,
    cacheRead,
    cacheWrite: usage.cacheWrite ?? 0,
  };
}
