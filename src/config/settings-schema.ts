import * as z from "zod/mini";
import { queueModes } from "../contract/config.ts";
import { thinkingLevels } from "../contract/provider.ts";

const text = z.string().check(z.minLength(1));
const wholeNumber = z.int().check(z.nonnegative());
const positive = z.int().check(z.positive());
const command = z.string().check(z.regex(/\S/, "it has to be a command, not blank"));

/** What may stand in a `settings.json`; nothing is required, nothing else allowed. */
export const settingsSchema = z.strictObject({
  defaultProvider: z.exactOptional(text),
  defaultModel: z.exactOptional(text),
  defaultThinkingLevel: z.exactOptional(z.enum(thinkingLevels)),
  retry: z.exactOptional(
    z.strictObject({
      enabled: z.exactOptional(z.boolean()),
      maxRetries: z.exactOptional(wholeNumber),
      baseDelayMs: z.exactOptional(wholeNumber),
      maxDelayMs: z.exactOptional(wholeNumber),
    }),
  ),
  timeouts: z.exactOptional(
    z.strictObject({
      firstEventMs: z.exactOptional(positive),
      idleMs: z.exactOptional(positive),
    }),
  ),
  compaction: z.exactOptional(
    z.strictObject({
      enabled: z.exactOptional(z.boolean()),
      reserveTokens: z.exactOptional(wholeNumber),
      keepRecentTokens: z.exactOptional(wholeNumber),
    }),
  ),
  steeringMode: z.exactOptional(z.enum(queueModes)),
  followUpMode: z.exactOptional(z.enum(queueModes)),
  shell: z.exactOptional(
    z.strictObject({
      path: z.exactOptional(text),
      commandPrefix: z.exactOptional(z.string()),
      maxSpillBytes: z.exactOptional(positive),
    }),
  ),
  sessionDir: z.exactOptional(text),
  autonomous: z.exactOptional(
    z.strictObject({
      enabled: z.exactOptional(z.boolean()),
      gate: z.exactOptional(
        z.union([command, z.array(command)], "it has to be a command or a list of commands"),
      ),
      gateRetries: z.exactOptional(wholeNumber),
      gateTimeoutMs: z.exactOptional(positive),
      maxContinuations: z.exactOptional(positive),
      maxTurns: z.exactOptional(positive),
      maxTokens: z.exactOptional(positive),
      timeoutMs: z.exactOptional(positive),
    }),
  ),
  images: z.exactOptional(
    z.strictObject({
      autoResize: z.exactOptional(z.boolean()),
      block: z.exactOptional(z.boolean()),
    }),
  ),
});

export type SettingsContent = z.output<typeof settingsSchema>;
