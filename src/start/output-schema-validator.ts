import { Ajv as Draft7, type Options, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { JsonObject } from "../contract/json.ts";

const options: Options = {
  // What is not known is passed over, as the specification has it; so are formats, which are annotations there.
  strict: false,
  validateFormats: false,
  logger: false,
};

/** Compiles a schema by the draft that it names. Throws an Error that says what is wrong with it. */
export function compileSchema({ $async: _, ...schema }: JsonObject): ValidateFunction {
  // `$async`, which only Ajv knows, would have every answer count as valid.
  const draft = typeof schema.$schema === "string" ? schema.$schema : "";
  if (draft.includes("draft/2019-09")) return new Ajv2019(options).compile(schema);
  if (/draft-0[67]\b/.test(draft)) return new Draft7(options).compile(withoutOlderDraft(schema));
  return new Ajv2020(options).compile(schema);
}

/** Draft 6 has nothing that draft 7 does not. */
function withoutOlderDraft(schema: JsonObject): JsonObject {
  const { $schema: _, ...rest } = schema;
  return rest;
}
