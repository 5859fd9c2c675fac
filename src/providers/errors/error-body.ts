import { isJsonObject, type JsonObject, type JsonValue } from "../../contract/json.ts";
import { parseJson } from "../json-values.ts";
import { statedWaitMs } from "./stated-wait.ts";
import { hasVendorError, vendorCode, vendorCodeWord } from "./vendor-codes.ts";

/** What a provider says about a failure, whatever shape it says it in. */
export type ErrorFacts = {
  /** The provider's words in one line, bounded; absent when it gave none. */
  readonly message?: string;
  /** The provider's own error code, else its type, as it wrote them. */
  readonly code?: string;
  /** Every code, type and status word on the way down, in lower case: what the kind is decided by. */
  readonly codes: readonly string[];
  /** An HTTP status that the body states. */
  readonly status?: number;
  /** The request parameter that the provider complains about. */
  readonly param?: string;
  /** How long until a limit resets, in milliseconds. */
  readonly resetMs?: number;
};

const maxWordsLength = 2_000;
const maxQuoteLength = 300;

/**
 * Reads the body of a failed reply: JSON of any known shape, also as an event of a stream, an HTML page (status and
 * title are all that is kept), or text (quoted, bounded).
 */
export function readErrorText(body: string, nowMs: number): ErrorFacts {
  const text = body.trim();
  if (text === "") return { codes: [] };
  const json = parseJson(text) ?? parseJson(/^(?:data|error): ?(\{.*\})\s*$/m.exec(text)?.[1]);
  if (json !== undefined) return readErrorJson(json, nowMs);
  if (looksLikeHtml(text)) return { message: `an HTML page${htmlTitle(text)}`, codes: [] };
  return { message: oneLine(text, maxQuoteLength), codes: [] };
}

/**
 * Reads an error value of any known shape: flat (`message`, `detail`), nested (`error`, `response.error`), in an array
 * (Google), with an upstream's own body inside (OpenRouter's `metadata.raw`, or the message of many gateways).
 */
export function readErrorJson(json: JsonValue, nowMs: number): ErrorFacts {
  const levels = errorLevels(json);
  const words = unique(levels.flatMap(levelWords));
  const objects = levels.filter(isJsonObject);
  const innermostFirst = objects.toReversed();
  const code =
    firstDefined(innermostFirst, levelCode) ??
    firstDefined(innermostFirst, levelType) ??
    firstDefined(innermostFirst, (level) => nonEmpty(level.code));
  const status = firstDefined(innermostFirst, levelStatus);
  const param = firstDefined(innermostFirst, (level) => nonEmpty(level.param));
  const resetMs = firstDefined(innermostFirst, (level) => statedWaitMs(level, nowMs));
  const message = words.length > 0 ? oneLine(words.join(": "), maxWordsLength) : quoteUnknown(json);
  return {
    codes: unique(objects.flatMap(levelCodes)),
    ...(message !== undefined && { message }),
    ...(code !== undefined && { code }),
    ...(status !== undefined && { status }),
    ...(param !== undefined && { param }),
    ...(resetMs !== undefined && { resetMs }),
  };
}

/** Whether an object is no event of an API but only an error's words, as gateways send them in a 200 reply. */
export function isBareError(json: JsonObject): boolean {
  const { type, object, choices, message, detail, errors } = json;
  if (hasVendorError(json)) return true;
  if (type !== undefined || object !== undefined || choices !== undefined) return false;
  if (Array.isArray(errors) && errors.length > 0) return true;
  return nonEmpty(message) !== undefined || nonEmpty(detail) !== undefined || Array.isArray(detail);
}

/** One line of at most `maxLength` characters, white space and control characters folded into single spaces. */
export function oneLine(text: string, maxLength: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what has to go
  const folded = text.slice(0, maxLength * 4).replace(/[\s\u0000-\u001f\u007f-\u009f]+/g, " ");
  const line = folded.trim().toWellFormed();
  if (line.length <= maxLength) return line;
  return `${line.slice(0, maxLength).replace(/[\ud800-\udbff]$/, "")}…`;
}

/** Whether a text starts as an HTML (or XML) page does. */
export function looksLikeHtml(text: string): boolean {
  return /^\s*<(?:!doctype|html|head|body|\?xml|!--|[a-z]+[\s>])/i.test(text);
}

/** The title of an HTML page (or its first heading or words) as ` titled "..."`; empty when there is none. */
export function htmlTitle(html: string): string {
  const page = html.slice(0, 65_536);
  const found = /<title[^>]*>([^<]+)/i.exec(page) ?? /<h1[^>]*>([^<]+)/i.exec(page);
  if (found?.[1] !== undefined) return ` titled "${oneLine(found[1], 100)}"`;
  const words = oneLine(page.replace(/<(script|style)[\s\S]*?<\/\1>/gi, " ").replace(/<[^>]*>/g, " "), 100);
  return words === "" ? "" : ` that says "${words}"`;
}

/** The outer object first, then what it wraps: an error, the failed response's error, an upstream's body. */
function errorLevels(json: JsonValue, depth = 0): JsonValue[] {
  if (depth > 6) return [];
  if (Array.isArray(json)) return json.slice(0, 5).flatMap((item) => errorLevels(item, depth + 1));
  if (typeof json === "string") {
    const inner = /^\s*[[{]/.test(json) ? parseJson(json) : undefined;
    return inner === undefined ? [json] : errorLevels(inner, depth + 1);
  }
  if (!isJsonObject(json)) return [];
  const metadata = isJsonObject(json.metadata) ? json.metadata : {};
  const response = isJsonObject(json.response) ? json.response.error : undefined;
  const wrapped = [
    json.error,
    response,
    json.errors,
    json.detail,
    json.base_resp,
    metadata.raw,
    wrappedJson(json.message),
  ];
  return [json, ...wrapped.flatMap((value) => (value == null ? [] : errorLevels(value, depth + 1)))];
}

/** The JSON that a message consists of. */
function wrappedJson(message: JsonValue | undefined): JsonValue | undefined {
  return typeof message === "string" && /^\s*[[{]/.test(message) ? parseJson(message) : undefined;
}

function levelWords(level: JsonValue): string[] {
  if (typeof level === "string") return [level.trim()].filter((text) => text !== "");
  if (!isJsonObject(level)) return [];
  const { message, msg, error_msg, status_msg, error_description, title } = level;
  const said = [message, msg, error_msg, status_msg, error_description, title].find(
    (value) => typeof value === "string" && value.trim() !== "",
  );
  if (typeof said !== "string") return [];
  const inner = wrappedJson(said);
  if (inner !== undefined) return errorLevels(inner, 1).flatMap(levelWords);
  const place = Array.isArray(level.loc) ? ` (${level.loc.join(".")})` : "";
  return [said.trim() + place];
}

/** A code in words: a number only repeats the status. */
function levelCode(level: JsonObject): string | undefined {
  const code = nonEmpty(level.code);
  return code === undefined || /^\d+$/.test(code) ? vendorCode(level) : code;
}

function levelType(level: JsonObject): string | undefined {
  const type = nonEmpty(level.type) ?? nonEmpty(level.status);
  return type === undefined || isEventName(type) ? undefined : type;
}

function levelCodes(level: JsonObject): string[] {
  const named = [level.code, level.type, level.status, vendorCodeWord(level), ...detailCodes(level)];
  const found = named.filter((value): value is string => typeof value === "string" && value !== "");
  return found.map((value) => value.toLowerCase()).filter((value) => !isEventName(value));
}

/** `error` and `response.failed` name the event that carries the error, not the error. */
function isEventName(type: string): boolean {
  return type === "error" || type === "failed" || type.startsWith("response.");
}

function levelStatus(level: JsonObject): number | undefined {
  const stated = [level.status_code, level.statusCode, level.status, level.code].map(Number);
  return stated.find((value) => Number.isInteger(value) && value >= 400 && value <= 599);
}

/** Google names the reason and the limits that were hit in its details, `...PerDay...` among them. */
function detailCodes(level: JsonObject): JsonValue[] {
  if (!Array.isArray(level.details)) return [];
  return level.details.filter(isJsonObject).flatMap(({ reason, violations }) => {
    const limits: readonly JsonValue[] = Array.isArray(violations) ? violations : [];
    return [reason ?? "", ...limits.filter(isJsonObject).map(({ quotaId }) => quotaId ?? "")];
  });
}

/** JSON without a known field still says something, unless it is an empty shell. */
function quoteUnknown(json: JsonValue): string | undefined {
  const text = JSON.stringify(json);
  const shell = text.replace(/"(?:error|response|errors|detail|message|type)"|"error"|null/g, "");
  return /[^\s{}[\]:,"]/.test(shell) ? oneLine(text, maxQuoteLength) : undefined;
}

function nonEmpty(value: JsonValue | undefined): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

function firstDefined<T, R>(values: readonly T[], read: (value: T) => R | undefined): R | undefined {
  for (const value of values) {
    const found = read(value);
    if (found !== undefined) return found;
  }
  return undefined;
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)];
}
