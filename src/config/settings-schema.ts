import { queueModes } from "../contract/config.ts";
import { thinkingLevels } from "../contract/provider.ts";
import { boolean, list, object, oneOf, type Schema, string, type ValueOf, wholeNumber } from "./check.ts";

const text = string([(value) => value.trim() !== "", "it must not be blank"]);
const command = string([(value) => value.trim() !== "", "it has to be a command, not blank"]);
const count = wholeNumber({ min: 0 });
const positive = wholeNumber({ above: 0 });

const commands = list(command, { isEmptyAllowed: true });
const commandOrCommands: Schema<string | readonly string[]> = {
  problems: (value, path) => (Array.isArray(value) ? commands : command).problems(value, path),
};

/** What may stand in a `settings.json`; nothing is required, nothing else allowed. */
export const settingsSchema = object({
  defaultProvider: text,
  defaultModel: text,
  defaultThinkingLevel: oneOf(thinkingLevels),
  retry: object({ enabled: boolean, maxRetries: count, baseDelayMs: count, maxDelayMs: count }),
  timeouts: object({ firstEventMs: positive, idleMs: positive }),
  compaction: object({ enabled: boolean, reserveTokens: count, keepRecentTokens: count }),
  steeringMode: oneOf(queueModes),
  followUpMode: oneOf(queueModes),
  shell: object({ path: text, commandPrefix: string(), maxSpillBytes: positive }),
  sessionDir: text,
  autonomous: object({
    enabled: boolean,
    gate: commandOrCommands,
    gateRetries: count,
    gateTimeoutMs: positive,
    maxContinuations: positive,
    maxTurns: positive,
    maxTokens: positive,
    timeoutMs: positive,
  }),
  runs: object({ maxEventsBytes: positive }),
  images: object({ autoResize: boolean, block: boolean }),
});

export type SettingsContent = ValueOf<typeof settingsSchema>;
