import type { SessionEntry } from "../../contract/entries.ts";
import type { SessionHeader } from "../../contract/events.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../contract/json.ts";
import { number, optional, string, toContent, toMessage } from "./message-schema.ts";

/** What places an entry in the tree. */
export type EntryHead = {
  readonly type: string;
  /** Absent in version 1 files, which are linear. */
  readonly id: string | undefined;
  /** Null for a root; undefined where the line does not say: its parent is the entry before it. */
  readonly parentId: string | null | undefined;
};

/** Where an entry stands, for lines that do not say it themselves. */
export type EntryPlace = { readonly id: string; readonly parentId: string | null };

/** The newest version of session files that is understood, and the one that is written. */
export const sessionVersion = 3;

/**
 * Reads the id, parent and type of an entry's line without parsing all of it, where they come first, as in the lines
 * of this program. Undefined when the line is no entry.
 */
export function readHead(line: Buffer): EntryHead | undefined {
  const head = looksWhole(line) ? headOfPrefix(line.toString("latin1", 0, prefixBytes)) : undefined;
  return head ?? headOf(parseObject(line));
}

/** As `readHead`, but proves that the line is JSON from end to end. */
export function readHeadStrictly(line: Buffer): EntryHead | undefined {
  return headOf(parseObject(line));
}

/** Parses a line as a JSON object; undefined when it is none, or too long for a string. */
export function parseObject(line: Buffer): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(line.toString("utf8"));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Reads an entry. Undefined for the types that only newer programs know: they stay in the file and are passed over. */
export function toEntry(value: JsonObject, place: EntryPlace): SessionEntry | undefined {
  const base = { ...place, timestamp: string(value.timestamp) };
  switch (value.type) {
    case "message": {
      const message = toMessage(value.message, Date.parse(base.timestamp) || 0);
      return message && { type: "message", ...base, message };
    }
    case "model_change":
      return {
        type: "model_change",
        ...base,
        provider: string(value.provider),
        modelId: string(value.modelId),
      };
    case "thinking_level_change":
      return { type: "thinking_level_change", ...base, thinkingLevel: string(value.thinkingLevel) };
    case "compaction":
      return {
        type: "compaction",
        ...base,
        summary: string(value.summary),
        firstKeptEntryId: string(value.firstKeptEntryId),
        tokensBefore: number(value.tokensBefore),
        ...optional("details", value.details),
      };
    case "branch_summary":
      return {
        type: "branch_summary",
        ...base,
        fromId: string(value.fromId),
        summary: string(value.summary),
        ...optional("details", value.details),
      };
    case "custom":
      return {
        type: "custom",
        ...base,
        customType: string(value.customType),
        ...optional("data", value.data),
      };
    case "custom_message":
      return {
        type: "custom_message",
        ...base,
        customType: string(value.customType),
        content: toContent(value.content),
        display: value.display === true,
        ...optional("details", value.details),
      };
    case "label":
      return {
        type: "label",
        ...base,
        targetId: string(value.targetId),
        ...optional("label", nonEmpty(value.label)),
      };
    case "session_info":
      return { type: "session_info", ...base, ...optional("name", nonEmpty(value.name)) };
    default:
      return undefined;
  }
}

/**
 * Reads a session file's first line. Headers of versions 1 and 2 are given as version 3, which differs only in what
 * the entries may leave out.
 *
 * @returns the header, or in words what is wrong with the line.
 */
export function toHeader(line: Buffer): SessionHeader | string {
  const value = parseObject(line);
  if (value === undefined || value.type !== "session") return "it does not begin with a session header";
  const version = value.version ?? 1;
  if (typeof version !== "number" || !Number.isInteger(version) || version < 1) {
    return `its header has the version ${JSON.stringify(version)}, which is no version number`;
  }
  if (version > sessionVersion) {
    return `it has version ${version}, and this program reads up to ${sessionVersion}: it needs a newer program`;
  }
  if (typeof value.id !== "string" || value.id === "") return "its header has no id";
  // Whatever a run keeps goes by its id, so that an id with a path in it would lead out of the home folder.
  if (!/^[\w-]{1,64}$/.test(value.id))
    return `its header has the id ${JSON.stringify(value.id.slice(0, 64))}, which is none`;
  if (typeof value.cwd !== "string" || value.cwd === "") return "its header has no directory (cwd)";
  return {
    type: "session",
    version: sessionVersion,
    id: value.id,
    timestamp: string(value.timestamp),
    cwd: value.cwd,
    ...optional("parentSession", nonEmpty(value.parentSession)),
  };
}

/** The id of an entry that has none, which stays the same since files only grow. */
export function idAt(start: number): string {
  return `at-${start}`;
}

const prefixBytes = 256;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const carriageReturn = 0x0d;
/** A key with a short value that needs no unescaping, then a comma or the end. */
const simpleField = /\s*"([A-Za-z]+)"\s*:\s*(?:"([^"\\\x80-\xff]*)"|(null))\s*[,}]/y;

function looksWhole(line: Buffer): boolean {
  const last = line[line.length - 1] === carriageReturn ? line.length - 2 : line.length - 1;
  return line[0] === openBrace && line[last] === closeBrace;
}

/** Undefined when something else than short fields comes before type, id and parentId have all been seen. */
function headOfPrefix(prefix: string): EntryHead | undefined {
  let type: string | undefined;
  let id: string | undefined;
  let parentId: string | null | undefined;
  simpleField.lastIndex = 1;
  for (let match = simpleField.exec(prefix); match !== null; match = simpleField.exec(prefix)) {
    const value = match[3] === undefined ? match[2] : null;
    if (match[1] === "type" && value !== null) type = value;
    else if (match[1] === "id" && value !== null) id = value;
    else if (match[1] === "parentId") parentId = value;
    if (type !== undefined && id !== undefined && parentId !== undefined) return { type, id, parentId };
  }
  return undefined;
}

function headOf(value: JsonObject | undefined): EntryHead | undefined {
  if (value === undefined || typeof value.type !== "string") return undefined;
  const { type, id, parentId } = value;
  return {
    type,
    id: nonEmpty(id),
    parentId: parentId === null || typeof parentId === "string" ? parentId : undefined,
  };
}

function nonEmpty(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
