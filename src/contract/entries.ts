import type { JsonValue } from "./json.ts";
import type { AgentMessage, UserContent } from "./messages.ts";

/** What every entry of a session file has. Entries form a tree by `parentId`; the last one is the leaf. */
type EntryBase = {
  /** Unique in the file. */
  id: string;
  parentId: string | null;
  /** ISO 8601. */
  timestamp: string;
};

export type MessageEntry = EntryBase & {
  type: "message";
  message: AgentMessage;
};
export type ModelChangeEntry = EntryBase & {
  type: "model_change";
  provider: string;
  modelId: string;
};
export type ThinkingLevelChangeEntry = EntryBase & {
  type: "thinking_level_change";
  thinkingLevel: string;
};
export type CompactionEntry = EntryBase & {
  type: "compaction";
  summary: string;
  firstKeptEntryId: string;
  tokensBefore: number;
  details?: JsonValue;
};
export type BranchSummaryEntry = EntryBase & {
  type: "branch_summary";
  fromId: string;
  summary: string;
  details?: JsonValue;
};
/** Data of the program that the model never sees. */
export type CustomEntry = EntryBase & {
  type: "custom";
  customType: string;
  data?: JsonValue;
};
/** A message of the program that the model sees. */
export type CustomMessageEntry = EntryBase & {
  type: "custom_message";
  customType: string;
  content: string | UserContent[];
  display: boolean;
  details?: JsonValue;
};
export type LabelEntry = EntryBase & {
  type: "label";
  targetId: string;
  label?: string;
};
export type SessionInfoEntry = EntryBase & {
  type: "session_info";
  name?: string;
};

/** A line of a session file after the header. */
export type SessionEntry =
  | MessageEntry
  | ModelChangeEntry
  | ThinkingLevelChangeEntry
  | CompactionEntry
  | BranchSummaryEntry
  | CustomEntry
  | CustomMessageEntry
  | LabelEntry
  | SessionInfoEntry;

/** An entry before the store gave it its id, parent and time. */
export type NewEntry = SessionEntry extends infer E
  ? E extends SessionEntry
    ? Omit<E, keyof EntryBase>
    : never
  : never;
