/** Any value that JSON can hold. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** A JSON object, for instance the arguments of a tool call or a JSON Schema. */
export type JsonObject = { readonly [key: string]: JsonValue };

/** Tells whether a parsed JSON value is an object (neither null nor an array). */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Makes the compiler prove that a union was handled whole; throws when data from outside breaks that proof. */
export function assertNever(value: never): never {
  throw new Error(`unexpected value: ${JSON.stringify(value)}`);
}
