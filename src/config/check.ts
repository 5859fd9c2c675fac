import { isJsonObject, type JsonObject, type JsonValue } from "../contract/json.ts";
import { nearest } from "../contract/spelling.ts";
import type { JsonPath } from "./json-position.ts";

/** What is wrong with a value, and where in it. */
export type Problem = { readonly path: JsonPath; readonly what: string };

/**
 * What a JSON value has to be. Written by hand since every start with a configuration file waits for it: loading a
 * schema library takes longer than all the rest. The problems do not quote text, which may be a secret.
 */
export type Schema<Value> = {
  readonly problems: (value: JsonValue, path: JsonPath) => readonly Problem[];
  /** Of an object: the keys that it may have. */
  readonly fields?: Readonly<Record<string, Schema<unknown>>>;
  /** Never there: it only carries the type. */
  readonly value?: Value;
};

export type ValueOf<S> = S extends Schema<infer Value> ? Value : never;

export type Checked<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problem: Problem };

/** Checks data from outside; tells the first thing that is wrong. */
export function check<Value>(schema: Schema<Value>, value: JsonValue): Checked<Value> {
  const [problem] = schema.problems(value, []);
  // The schema has just proved what the compiler cannot see.
  return problem ? { ok: false, problem } : { ok: true, value: value as Value };
}

type Fields = Readonly<Record<string, Schema<unknown>>>;
type ObjectOf<Required extends Fields, Optional extends Fields> = {
  readonly [Key in keyof Required]: ValueOf<Required[Key]>;
} & { readonly [Key in keyof Optional]?: ValueOf<Optional[Key]> };

/** An object with no other keys than these. */
export function object<Optional extends Fields, Required extends Fields = Record<never, never>>(
  optional: Optional,
  required?: Required,
): Schema<ObjectOf<Required, Optional>> {
  const fields: Fields = { ...required, ...optional };
  return {
    fields,
    problems: (value, path) => {
      if (!isJsonObject(value)) return [{ path, what: wrongType("an object", value) }];
      const missing = Object.keys(required ?? {}).filter((key) => !Object.hasOwn(value, key));
      return [
        ...Object.entries(value).flatMap(([key, child]) => {
          const field = Object.hasOwn(fields, key) ? fields[key] : undefined;
          return field ? field.problems(child, [...path, key]) : [unknownKey([...path, key], fields)];
        }),
        ...missing.map((key) => ({ path: [...path, key], what: "it is missing" })),
      ];
    },
  };
}

/** An object with any keys that fit a pattern, all values alike. */
export function record<Value>(key: RegExp, value: Schema<Value>): Schema<Readonly<Record<string, Value>>> {
  return {
    problems: (given, path) => {
      if (!isJsonObject(given)) return [{ path, what: wrongType("an object", given) }];
      return Object.entries(given as JsonObject).flatMap(([name, child]) =>
        key.test(name)
          ? value.problems(child, [...path, name])
          : [{ path: [...path, name], what: "this name is not valid" }],
      );
    },
  };
}

/** A list of values that are all alike. */
export function list<Value>(
  item: Schema<Value>,
  { isEmptyAllowed }: { readonly isEmptyAllowed: boolean },
): Schema<readonly Value[]> {
  return {
    problems: (value, path) => {
      if (!Array.isArray(value)) return [{ path, what: wrongType("an array", value) }];
      if (value.length === 0 && !isEmptyAllowed) return [{ path, what: "it must not be empty" }];
      return value.flatMap((child: JsonValue, index) => item.problems(child, [...path, index]));
    },
  };
}

/** A string; `rules` are tried in turn. */
export function string(...rules: readonly (readonly [holds: (text: string) => boolean, what: string])[]) {
  return simple<string>((value) => {
    if (typeof value !== "string") return wrongType("a string", value);
    return rules.find(([holds]) => !holds(value))?.[1];
  });
}

/** A number that is at least `min`, or above it. */
export function number(limit: { readonly min: number } | { readonly above: number }) {
  return simple<number>((value) => {
    if (typeof value !== "number") return wrongType("a number", value);
    if ("min" in limit) return value >= limit.min ? undefined : `it has to be at least ${limit.min}`;
    return value > limit.above ? undefined : `it has to be above ${limit.above}`;
  });
}

/** A number without a fraction. */
export function wholeNumber(limit: { readonly min: number } | { readonly above: number }) {
  const inRange = number(limit);
  return simple<number>((value) => {
    if (typeof value === "number" && !Number.isSafeInteger(value)) return wrongType("a whole number", value);
    return inRange.problems(value, [])[0]?.what;
  });
}

/** True or false. */
export const boolean = simple<boolean>((value) =>
  typeof value === "boolean" ? undefined : wrongType("true or false", value),
);

/** One of a few words. */
export function oneOf<const Word extends string>(words: readonly Word[]): Schema<Word> {
  const what = `it has to be one of ${words.map((word) => JSON.stringify(word)).join(", ")}`;
  return simple((value) => (words.some((word) => word === value) ? undefined : what));
}

function simple<Value>(wrong: (value: JsonValue) => string | undefined): Schema<Value> {
  return {
    problems: (value, path) => {
      const what = wrong(value);
      return what === undefined ? [] : [{ path, what }];
    },
  };
}

function unknownKey(path: JsonPath, fields: Fields): Problem {
  const [near] = nearest(String(path.at(-1)), Object.keys(fields), 1);
  return { path, what: `unknown key, ${near === undefined ? "remove it" : `did you mean ${near}?`}` };
}

function wrongType(wanted: string, value: JsonValue): string {
  return `it has to be ${wanted}, not ${typeName(value)}`;
}

function typeName(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "object") return "an object";
  return typeof value === "string" ? "a string" : String(value);
}
