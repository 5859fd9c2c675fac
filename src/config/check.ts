import * as z from "zod/mini";
import { nearest } from "../contract/spelling.ts";
import type { JsonPath } from "./json-position.ts";

/** What is wrong with a value, and where in it. */
export type Problem = { readonly path: JsonPath; readonly what: string };

export type Checked<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Checks data from outside against a schema. The problems do not quote text, which may be a secret. */
export function check<Schema extends z.ZodMiniType>(
  schema: Schema,
  value: unknown,
): Checked<z.output<Schema>> {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return { ok: true, value: result.data };
  return { ok: false, problems: result.error.issues.flatMap((issue) => toProblems(schema, issue)) };
}

function toProblems(schema: z.ZodMiniType, issue: z.core.$ZodIssue): Problem[] {
  if (issue.code !== "unrecognized_keys") return [{ path: issue.path, what: describe(issue) }];
  const known = keysAt(schema, issue.path);
  return issue.keys.map((key) => {
    const [near] = nearest(key, known, 1);
    const hint = near === undefined ? "remove it" : `did you mean ${near}?`;
    return { path: [...issue.path, key], what: `unknown key, ${hint}` };
  });
}

function describe(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_type":
      if (issue.input === undefined) return "it is missing";
      return `it has to be ${withArticle(issue.expected)}, not ${typeName(issue.input)}`;
    case "invalid_value":
      return `it has to be one of ${issue.values.map((value) => JSON.stringify(value)).join(", ")}`;
    case "too_small":
      return issue.origin === "number"
        ? `it has to be ${issue.inclusive ? "at least" : "above"} ${issue.minimum}`
        : "it must not be empty";
    case "too_big":
      return `it has to be at most ${issue.maximum}`;
    default:
      return issue.message;
  }
}

const articles: Readonly<Record<string, string>> = {
  int: "a whole number",
  boolean: "true or false",
  record: "an object",
  object: "an object",
  array: "an array",
};

function withArticle(type: string): string {
  return articles[type] ?? `a ${type}`;
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return typeof value === "string" ? "a string" : String(value);
}

/** The keys that the schema knows at a path. */
function keysAt(schema: z.core.$ZodType, path: JsonPath): string[] {
  let at: z.core.$ZodType | undefined = unwrap(schema);
  for (const part of path) {
    if (at instanceof z.ZodMiniObject) at = unwrap(at.shape[String(part)]);
    else if (at instanceof z.ZodMiniArray) at = unwrap(at.def.element);
    else if (at instanceof z.ZodMiniRecord) at = unwrap(at.def.valueType);
  }
  return at instanceof z.ZodMiniObject ? Object.keys(at.shape) : [];
}

function unwrap(schema: z.core.$ZodType | undefined): z.core.$ZodType | undefined {
  return schema instanceof z.ZodMiniExactOptional ? unwrap(schema.def.innerType) : schema;
}
