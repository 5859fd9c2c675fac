import { isJsonObject, type JsonObject, type JsonValue } from "../contract/json.ts";

type Described = { readonly description?: string };
type StringSchema = Described & {
  readonly type: "string";
  readonly minLength?: number;
  readonly enum?: readonly string[];
};
type NumberSchema = Described & {
  readonly type: "number" | "integer";
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
};
type BooleanSchema = Described & { readonly type: "boolean" };
type ArraySchema = Described & {
  readonly type: "array";
  readonly items: ParameterSchema;
  readonly minItems?: number;
};

/** The JSON Schema of an object. Without `required`, every property is optional. */
export type ObjectSchema = Described & {
  readonly type: "object";
  readonly properties: { readonly [name: string]: ParameterSchema };
  readonly required?: readonly string[];
};

/** The part of JSON Schema that tools describe their parameters in; `checkArguments` enforces every keyword of it. */
export type ParameterSchema = StringSchema | NumberSchema | BooleanSchema | ArraySchema | ObjectSchema;

type RequiredName<Schema extends ObjectSchema> = Schema extends { required: readonly (infer Name)[] }
  ? Extract<Name, keyof Schema["properties"]>
  : never;

/** The type of the values that a schema allows. */
export type ValueOf<Schema extends ParameterSchema> = Schema extends StringSchema
  ? string
  : Schema extends NumberSchema
    ? number
    : Schema extends BooleanSchema
      ? boolean
      : Schema extends ArraySchema
        ? ValueOf<Schema["items"]>[]
        : Schema extends ObjectSchema
          ? { [Name in RequiredName<Schema>]: ValueOf<Schema["properties"][Name]> } & {
              [Name in Exclude<keyof Schema["properties"], RequiredName<Schema>>]?: ValueOf<
                Schema["properties"][Name]
              >;
            }
          : never;

/** The checked arguments, or what is wrong with them (one phrase a fault). */
export type CheckedArguments<Schema extends ObjectSchema> =
  | { readonly ok: true; readonly value: ValueOf<Schema> }
  | { readonly ok: false; readonly problems: readonly string[] };

/**
 * Checks what a model sent against a tool's schema. Four slips that leave no doubt are put right: JSON text where an
 * array or object is wanted, a number or boolean in quotes, and null for an optional property. Properties that the
 * schema does not know are dropped.
 */
export function checkArguments<Schema extends ObjectSchema>(
  schema: Schema,
  args: JsonObject,
): CheckedArguments<Schema> {
  const problems: string[] = [];
  const value = checkObject(schema, args, "", problems);
  if (problems.length > 0) return { ok: false, problems };
  // The check above is what makes this true: it walks the same schema that the type is computed from.
  return { ok: true, value: value as ValueOf<Schema> };
}

function check(schema: ParameterSchema, sent: JsonValue, path: string, problems: string[]): JsonValue {
  const value = coerce(schema, sent);
  const wanted = describe(schema);
  if (!hasType(schema, value)) {
    problems.push(`${path} must be ${wanted}, not ${kindOf(sent)}`);
  } else if (schema.type === "object" && isJsonObject(value)) {
    return checkObject(schema, value, path, problems);
  } else if (schema.type === "array" && Array.isArray(value)) {
    if (value.length < (schema.minItems ?? 0)) problems.push(`${path} must be ${wanted}`);
    return value.map((item, index) => check(schema.items, item, `${path}[${index}]`, problems));
  } else if (!isWithinLimits(schema, value)) {
    problems.push(`${path} must be ${wanted}`);
  }
  return value;
}

function checkObject(schema: ObjectSchema, sent: JsonObject, path: string, problems: string[]): JsonObject {
  const value: Record<string, JsonValue> = {};
  for (const [name, property] of Object.entries(schema.properties)) {
    const at = path ? `${path}.${name}` : name;
    const required = schema.required?.includes(name) ?? false;
    const given = Object.hasOwn(sent, name) ? sent[name] : undefined;
    if (given === undefined || (given === null && !required)) {
      if (required) problems.push(`${at} (${describe(property)}) is missing`);
      continue;
    }
    value[name] = check(property, given, at, problems);
  }
  return value;
}

function coerce(schema: ParameterSchema, value: JsonValue): JsonValue {
  if (typeof value !== "string") return value;
  const text = value.trim();
  switch (schema.type) {
    case "array":
    case "object":
      return parseJson(text) ?? value;
    case "number":
    case "integer":
      return /^[+-]?\d+(\.\d+)?$/.test(text) ? Number(text) : value;
    case "boolean":
      return text === "true" ? true : text === "false" ? false : value;
    case "string":
      return value;
  }
}

function parseJson(text: string): JsonValue | undefined {
  try {
    const parsed: JsonValue = JSON.parse(text);
    return parsed;
  } catch {
    return undefined;
  }
}

function hasType(schema: ParameterSchema, value: JsonValue): boolean {
  switch (schema.type) {
    case "array":
      return Array.isArray(value);
    case "object":
      return isJsonObject(value);
    case "integer":
      return Number.isSafeInteger(value);
    case "number":
    case "boolean":
    case "string":
      return typeof value === schema.type;
  }
}

function isWithinLimits(schema: ParameterSchema, value: JsonValue): boolean {
  if (typeof value === "number" && (schema.type === "number" || schema.type === "integer")) {
    const above = value >= (schema.minimum ?? -Infinity) && value > (schema.exclusiveMinimum ?? -Infinity);
    return above && value <= (schema.maximum ?? Infinity);
  }
  if (typeof value === "string" && schema.type === "string") {
    return value.length >= (schema.minLength ?? 0) && (schema.enum?.includes(value) ?? true);
  }
  return true;
}

/** What a schema wants, in words: `an integer of at least 1`. */
function describe(schema: ParameterSchema): string {
  switch (schema.type) {
    case "string":
      if (schema.enum) return `one of ${schema.enum.map((item) => JSON.stringify(item)).join(", ")}`;
      return schema.minLength ? "a non-empty string" : "a string";
    case "number":
    case "integer":
      return `${schema.type === "integer" ? "an integer" : "a number"}${describeRange(schema)}`;
    case "boolean":
      return "true or false";
    case "array":
      return `an array of ${schema.minItems ? `at least ${schema.minItems} ` : ""}${schema.items.type}s`;
    case "object":
      return `an object {${Object.keys(schema.properties).join(", ")}}`;
  }
}

function describeRange(schema: NumberSchema): string {
  const limits = [
    schema.minimum === undefined ? "" : ` of at least ${schema.minimum}`,
    schema.exclusiveMinimum === undefined ? "" : ` above ${schema.exclusiveMinimum}`,
    schema.maximum === undefined ? "" : ` up to ${schema.maximum}`,
  ];
  return limits.join("");
}

function kindOf(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  switch (typeof value) {
    case "string":
      return "a string";
    case "boolean":
      return "a boolean";
    case "number":
      return String(value);
    default:
      return "an object";
  }
}
