import { isJsonObject, type JsonObject, type JsonValue } from "../contract/json.ts";

/** Whether the APIs take a schema for the answer, which has to be an object. Any other is left to the check of the answer. */
export function isAnswerSchema(schema: JsonObject): boolean {
  return schema.type === "object";
}

/** What strict schemas may not have. A schema with one of these is still taken where it is not strict. */
const notStrict: ReadonlySet<string> = new Set([
  ...["allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies"],
  ...["patternProperties", "propertyNames", "minProperties", "maxProperties", "unevaluatedProperties"],
  ...["prefixItems", "contains", "minContains", "maxContains", "uniqueItems", "unevaluatedItems"],
  ...["$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"],
  ...["contentEncoding", "contentMediaType", "contentSchema", "default"],
]);

/** Whether every object of a schema lists all its properties as required and allows no others, and no more is asked. */
export function isStrict(schema: JsonObject): boolean {
  return schema.anyOf === undefined && isStrictPart(schema);
}

function isStrictPart(schema: JsonValue): boolean {
  if (Array.isArray(schema)) return schema.every(isStrictPart);
  if (!isJsonObject(schema)) return true;
  if (Object.keys(schema).some((key) => notStrict.has(key))) return false;
  if (isJsonObject(schema.properties) || schema.type === "object") {
    const required = Array.isArray(schema.required) ? schema.required : [];
    const names = Object.keys(isJsonObject(schema.properties) ? schema.properties : {});
    if (schema.additionalProperties !== false || names.some((name) => !required.includes(name))) return false;
  }
  return Object.values(schema).every(isStrictPart);
}
