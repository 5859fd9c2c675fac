import type { AgentMessage, UserMessage } from "../../contract/messages.ts";
import { measureText } from "../context/estimate.ts";
import initialPrompt from "../prompts/summary-initial.md";
import instructionsPrompt from "../prompts/summary-instructions.md";
import splitTurnPrompt from "../prompts/summary-split-turn.md";
import systemPrompt from "../prompts/summary-system.md";
import updatePrompt from "../prompts/summary-update.md";
import { withoutFileLists } from "./files.ts";
import { serializeForSummary } from "./transcript.ts";

export type SummaryRequest = {
  /** What is summarised, oldest first. */
  readonly messages: readonly AgentMessage[];
  /** The summary that this one takes up. */
  readonly earlierSummary?: string;
  /** What the user asks of the summary. */
  readonly instructions?: string;
  /** The messages end in the middle of the work on a user's message. */
  readonly splitsTurn?: boolean;
  /** How much the request may have, system prompt included, in tokens as they are estimated. */
  readonly maxTokens: number;
};

/** What a model is asked for a summary: a system prompt and one message, together within `maxTokens` where that is possible. */
export function summaryPrompt(
  request: SummaryRequest,
  timestamp: number,
): { systemPrompt: string; message: UserMessage } {
  const room = request.maxTokens - measureText(systemPrompt) - overheadTokens;
  const task = taskOf(request, Math.floor(room / 2));
  const transcript = serializeForSummary(request.messages, Math.max(0, room - measureText(task)));
  const content = `<conversation>\n${transcript}\n</conversation>\n\n${task}`;
  return { systemPrompt: systemPrompt.trim(), message: { role: "user", content, timestamp } };
}

/** The tags, and what roles cost. */
const overheadTokens = 40;

function taskOf({ earlierSummary, instructions, splitsTurn }: SummaryRequest, maxTokens: number): string {
  const earlier =
    earlierSummary === undefined ? undefined : bounded(withoutFileLists(earlierSummary), maxTokens);
  return [
    earlier === undefined ? initialPrompt : fill(updatePrompt, "earlier", earlier),
    splitsTurn === true ? splitTurnPrompt : "",
    instructions === undefined || instructions.trim() === ""
      ? ""
      : fill(instructionsPrompt, "instructions", instructions.trim()),
  ]
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .join("\n\n");
}

function fill(template: string, name: string, value: string): string {
  return template.replace(`{{${name}}}`, () => value);
}

/** A summary is never this long unless the model went astray. */
function bounded(summary: string, maxTokens: number): string {
  if (measureText(summary) <= maxTokens) return summary;
  return serializeForSummary(
    [{ role: "compactionSummary", summary, tokensBefore: 0, timestamp: 0 }],
    maxTokens,
  );
}
