import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { errorMessage, StartupError } from "../contract/errors.ts";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { type JsonPath, JsonSyntaxError, type LocatedJson, parseLocatedJson } from "./json-position.ts";

/** A configuration file that holds a JSON object. */
export type JsonFile = {
  readonly path: string;
  readonly content: JsonObject;
  /** One line: the file, where in it, the key and what is wrong with it. */
  problem(path: JsonPath, what: string): string;
};

/**
 * Reads a configuration file; undefined when there is none. Throws a StartupError when it cannot be read, is not JSON
 * or holds something else than an object. A byte order mark is skipped.
 */
export function readJsonFile(path: string): JsonFile | undefined {
  const text = readText(path);
  if (text === undefined) return undefined;
  if (text.trim() === "") throw new StartupError(`${path} is empty: write {} or remove it`);
  const located = locate(path, text);
  const { value } = located;
  if (!isJsonObject(value)) throw new StartupError(`${path}:1: it has to hold one JSON object`);
  const problem = (at: JsonPath, what: string) => {
    const { line, column } = located.locate(at);
    return `${path}:${line}:${column}: ${at.length === 0 ? what : `${formatPath(at)}: ${what}`}`;
  };
  const [repeated] = located.repeated;
  if (repeated) throw new StartupError(problem(repeated, "the key is there twice: keep one of them"));
  return { path, content: value, problem };
}

/** `providers.local.models[0].id`. */
export function formatPath(path: JsonPath): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    const key = String(part);
    const plain = /^[\w$@-]+$/.test(key) ? key : JSON.stringify(key);
    return text === "" ? plain : `${text}.${plain}`;
  }, "");
}

function readText(path: string): string | undefined {
  try {
    const bytes = readRegular(path);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    if (isMissing(error)) return undefined;
    if (error instanceof StartupError) throw error;
    if (error instanceof TypeError) throw new StartupError(`${path} is not UTF-8 text: save it as UTF-8`);
    throw new StartupError(`${path} cannot be read: ${errorMessage(error)}`);
  }
}

/** Never waits: a repository may hold a pipe, or a link to a device that has no end. */
function readRegular(path: string): Buffer {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(fd);
    if (!stats.isFile() && !stats.isDirectory())
      throw new StartupError(`${path} is not a regular file: put one in its place or remove it`);
    // A file of the kernel says 0 and may keep its reader waiting.
    return stats.size === 0 ? Buffer.alloc(0) : readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOENT" || error.code === "ENOTDIR");
}

function locate(path: string, text: string): LocatedJson {
  try {
    return parseLocatedJson(text);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    const { line, column } = error.position;
    throw new StartupError(`${path}:${line}:${column}: not valid JSON: ${error.message}`);
  }
}
