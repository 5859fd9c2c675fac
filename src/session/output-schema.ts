import type { JsonObject } from "../contract/json.ts";
import missed from "./prompts/output-schema-missed.md";
import systemProse from "./prompts/output-schema-system.md";

/** What the final answer of a run has to be. */
export type OutputSchema = {
  readonly schema: JsonObject;
  /** What is wrong with a parsed JSON value, in words; undefined when it is valid. */
  readonly problem: (value: unknown) => string | undefined;
};

/** An answer held against a schema: its JSON text alone, or what is wrong with it. */
export type CheckedAnswer =
  | { readonly ok: true; readonly json: string }
  | { readonly ok: false; readonly problem: string };

/** Holds an answer against a schema. JSON in one Markdown fence counts as JSON. */
export function checkAnswer(answer: string, { problem }: OutputSchema): CheckedAnswer {
  const json = withoutFence(answer.trim());
  if (json === "") return { ok: false, problem: "the answer is empty" };
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return { ok: false, problem: "the answer is not JSON" };
  }
  const found = problem(value);
  return found === undefined ? { ok: true, json } : { ok: false, problem: found };
}

/** What the system prompt says of the answer. */
export function schemaSystemPrompt({ schema }: OutputSchema): string {
  return systemProse.trimEnd().replace("{{schema}}", () => JSON.stringify(schema, null, 2));
}

/** What the model is told of an answer that is not valid. */
export function schemaMissedPrompt(problem: string): string {
  return missed.trimEnd().replace("{{problem}}", () => problem);
}

function withoutFence(text: string): string {
  const [, inner] = /^(?:```|~~~)[ \t]*[\w-]*[ \t]*\n([\s\S]*)\n(?:```|~~~)$/.exec(text) ?? [];
  return (inner ?? text).trim();
}
