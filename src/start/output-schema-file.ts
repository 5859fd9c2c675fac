import { resolve } from "node:path";
import type { ErrorObject } from "ajv";
import { errorMessage, StartupError } from "../contract/errors.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { readFileOrPipe } from "../contract/named-pipe.ts";
import type { OutputSchema } from "../session/output-schema.ts";

/**
 * Reads the JSON Schema that the answer has to follow: draft 2020-12 where it does not name an older one. Throws a
 * StartupError for a file that cannot be read or is no such schema. The signal ends the wait for a pipe.
 */
export async function loadOutputSchema(
  file: string,
  { cwd, signal }: { readonly cwd: string; readonly signal: AbortSignal },
): Promise<OutputSchema> {
  const schema = await readSchema(file, resolve(cwd, file), signal);
  const { compileSchema } = await import("./output-schema-validator.ts");
  try {
    const validate = compileSchema(schema);
    return {
      schema,
      problem: (value) => (validate(value) ? undefined : toProblem(validate.errors?.[0])),
    };
  } catch (error) {
    throw refusal(file, `is no valid JSON Schema: ${errorMessage(error)}`);
  }
}

async function readSchema(file: string, path: string, signal: AbortSignal): Promise<JsonObject> {
  let text: string;
  try {
    text = (await readFileOrPipe(path, signal)).toString("utf8").replace(/^\uFEFF/, "");
  } catch (error) {
    throw refusal(file, `cannot be read: ${errorMessage(error)}`);
  }
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (error) {
    throw refusal(file, `is no JSON: ${errorMessage(error)}`);
  }
  if (isJsonObject(schema)) return schema;
  throw refusal(file, "is no JSON Schema: it has to be an object");
}

function refusal(file: string, what: string): StartupError {
  return new StartupError(
    `--output-schema ${file} ${what}; name a file with a JSON Schema`.replace(/\s*\n\s*/g, " "),
  );
}

function toProblem(error: ErrorObject | null | undefined): string {
  const { instancePath = "", message = "it is not valid", params } = error ?? {};
  const extra = Object.values(params ?? {}).filter((value) => typeof value === "string");
  const where = instancePath === "" ? "the value" : instancePath;
  const named = extra.filter((value) => !message.includes(value));
  return `${where} ${message}${named.length === 0 ? "" : ` (${named.join(", ")})`}`;
}
