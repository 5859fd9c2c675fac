import { isJsonObject, type JsonObject, type JsonValue } from "../../contract/json.ts";
import { type ThinkingLevel, thinkingLevels } from "../../contract/provider.ts";
import { nearest } from "../../contract/spelling.ts";
import type { RpcCommand, RpcCommandName, RpcCorrelation, RpcFailure } from "../protocol.ts";

/** A line of a client's, read. */
export type ParsedCommand =
  | { readonly ok: true; readonly command: RpcCommand }
  | { readonly ok: false; readonly failure: RpcFailure };

/** Reads a command, or says what is wrong with it. Fields that no command has are ignored. */
export function parseCommand(line: string): ParsedCommand {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    return refuse(`the line is not JSON (${words}); send one JSON object a line`);
  }
  if (!isJsonObject(value)) return refuse("the line is no JSON object; send one JSON object a line");
  const about = correlation(value);
  const { type } = value;
  if (typeof type !== "string") return refuse('the command has no "type"', about);
  if (!isCommandName(type)) {
    const [near] = nearest(type, commandNames, 1);
    return refuse(`there is no command ${JSON.stringify(type)}: did you mean ${near}?`, {
      command: type,
      ...about,
    });
  }
  if (!isAbsent(value.id) && about.id === undefined)
    return refuse(
      typeof value.id === "number"
        ? '"id" is a number that cannot be given back as it came; send it as a text'
        : '"id" is a text or a number',
      { command: type },
    );
  for (const [name, field] of Object.entries<Field>(commandFields[type])) {
    const given = value[name];
    if (isAbsent(given) ? field.isOptional : field.isRight(given)) continue;
    return refuse(`${type} needs "${name}": ${field.wants}`, { command: type, ...about });
  }
  return { ok: true, command: toCommand(type, value, about) };
}

/** Says that a line is no command. */
export function refuse(
  error: string,
  about: RpcCorrelation & { command?: string } = {},
): ParsedCommand & { ok: false } {
  return { ok: false, failure: { type: "response", command: "parse", ...about, success: false, error } };
}

type Field = {
  readonly isOptional: boolean;
  readonly isRight: (value: JsonValue) => boolean;
  /** In words, for the person who wrote the client. */
  readonly wants: string;
};

const text: Field = {
  isOptional: false,
  isRight: (value) => typeof value === "string" && value.trim() !== "",
  wants: "a text that is not blank",
};
const flag: Field = {
  isOptional: false,
  isRight: (value) => typeof value === "boolean",
  wants: "true or false",
};
const optional = (field: Field): Field => ({ ...field, isOptional: true });
const oneOf = (choices: readonly string[]): Field => ({
  isOptional: false,
  isRight: (value) => typeof value === "string" && choices.includes(value),
  wants: `one of ${choices.join(", ")}`,
});
const images: Field = {
  isOptional: true,
  isRight: (value) => Array.isArray(value) && value.every(isImage),
  wants: 'a list of {"type": "image", "data": base64, "mimeType": text}',
};

/** What each command has besides its type and id. */
export const commandFields: Readonly<Record<RpcCommandName, Readonly<Record<string, Field>>>> = {
  prompt: {
    message: text,
    images,
    streamingBehavior: optional(oneOf(["steer", "followUp"])),
    literal: optional(flag),
  },
  steer: { message: text, literal: optional(flag) },
  follow_up: { message: text, literal: optional(flag) },
  abort: {},
  get_state: {},
  get_messages: {},
  set_model: { modelId: text, provider: optional(text) },
  set_thinking_level: { level: oneOf(thinkingLevels satisfies readonly ThinkingLevel[]) },
  compact: { customInstructions: optional(text) },
  set_auto_compaction: { enabled: flag },
  set_auto_retry: { enabled: flag },
  abort_retry: {},
  bash: { command: text, excludeFromContext: optional(flag) },
  abort_bash: {},
  get_session_stats: {},
  new_session: {},
  switch_session: { sessionPath: text },
  fork: { entryId: optional(text) },
  set_session_name: { name: text },
  get_commands: {},
};

const commandNames = Object.keys(commandFields);

function isCommandName(name: string): name is RpcCommandName {
  return Object.hasOwn(commandFields, name);
}

function isAbsent(value: JsonValue | undefined): value is null | undefined {
  return value === undefined || value === null;
}

/** A number of so many digits that some are lost would be given back as another one. */
function correlation({ id }: JsonObject): RpcCorrelation {
  const isExact = typeof id === "number" && Math.abs(id) <= Number.MAX_SAFE_INTEGER;
  return typeof id === "string" || isExact ? { id } : {};
}

/** Whether it is an image as far as can be told without looking into it. */
export function isImage(value: JsonValue): boolean {
  if (!isJsonObject(value)) return false;
  const { type, data, mimeType } = value;
  if (type !== "image" || typeof data !== "string" || typeof mimeType !== "string") return false;
  return mimeType.startsWith("image/") && /^[A-Za-z0-9+/]+={0,2}$/.test(data);
}

/** Every field was held against the table, which has those of the command's type. */
function toCommand(type: RpcCommandName, value: JsonObject, about: RpcCorrelation): RpcCommand {
  const fields = Object.keys(commandFields[type])
    .filter((name) => !isAbsent(value[name]))
    .map((name) => [name, value[name]]);
  return { type, ...Object.fromEntries(fields), ...about } as RpcCommand;
}
