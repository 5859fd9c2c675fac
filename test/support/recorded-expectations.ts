import { expect } from "vitest";
import { isJsonObject, type JsonObject, type JsonValue } from "../../src/contract/json.ts";
import type { Recording, Reply } from "./provider-replies.ts";

/**
 * Holds a reply against what a recording's meta file expects.
 *
 * @param options.inputIncludesCached Whether the API's input count includes the cached tokens; ours never does.
 */
export function expectRecorded(
  reply: Reply,
  recording: Recording,
  options: { inputIncludesCached: boolean },
): void {
  const { expected } = recording;
  expect({
    text: reply.text,
    thinking: reply.thinking,
    toolCalls: reply.toolCalls.map(toRecordedCall),
    stopReason: reply.stopReason,
  }).toEqual({
    text: expected.text,
    thinking: expected.thinking,
    toolCalls: calls(expected).map(toExpectedCall),
    stopReason: expected.stopReason,
  });
  if (isJsonObject(expected.usage)) expectUsage(reply, expected.usage, options.inputIncludesCached);
  if (Array.isArray(expected.signatures)) expect(reply.signatures).toEqual(expected.signatures);
  if (typeof expected.errorContains === "string")
    expect(reply.error?.message).toContain(expected.errorContains);
  if (typeof expected.errorKind === "string") {
    const { errorKind: kind, transient = reply.error?.transient } = expected;
    expect({ kind: reply.error?.kind, transient: reply.error?.transient }).toEqual({ kind, transient });
  }
  if (typeof expected.wireStopReason === "string") {
    expect(reply.stopReasonRaw).toBe(expected.wireStopReason);
  }
}

function expectUsage(reply: Reply, usage: JsonObject, inputIncludesCached: boolean): void {
  const [input, output, cacheRead, cacheWrite] = ["input", "output", "cacheRead", "cacheWrite"].map((name) =>
    Number(usage[name] ?? 0),
  ) as [number, number, number, number];
  if (input === 0 && output === 0) return;
  expect(reply.tokens).toEqual({
    input: inputIncludesCached ? input - cacheRead - cacheWrite : input,
    output,
    cacheRead,
    cacheWrite,
  });
}

/** A call that was cut has no arguments, only their text. */
function toRecordedCall(call: Reply["toolCalls"][number]): JsonValue {
  const { id, name, argumentsText } = call;
  return { id, name, arguments: parse(argumentsText === "" ? "{}" : argumentsText) };
}

function toExpectedCall(call: JsonObject): JsonValue {
  const { id = "", name = "", argumentsRaw = "", arguments: parsed = {} } = call;
  if (call.type === "custom") return { id, name, arguments: { input: parsed } };
  return { id, name, arguments: call.incomplete === true ? argumentsRaw : parsed };
}

function parse(text: string): JsonValue {
  try {
    const value: JsonValue = JSON.parse(text);
    return value;
  } catch {
    return text;
  }
}

function calls(expected: JsonObject): JsonObject[] {
  return Array.isArray(expected.toolCalls) ? expected.toolCalls.filter(isJsonObject) : [];
}
