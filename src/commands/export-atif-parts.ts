import type { SessionEntry } from "../contract/entries.ts";
import type { AssistantMessage, ToolCall, Usage, UserContent } from "../contract/messages.ts";
import { dataUrl } from "./data-url.ts";
import type { SessionTotals } from "./session-totals.ts";

/** Fields of an object of the format. */
export type Fields = Readonly<Record<string, unknown>>;

/** Content as text, or as parts where there are images. */
export function contentOf(content: string | readonly UserContent[]): string | Fields[] {
  if (typeof content === "string") return content;
  if (content.every((block) => block.type === "text")) return content.map(({ text }) => text).join("\n\n");
  return content.map(partOf);
}

/** The entry's time, where it is one. */
export function timestampOf({ timestamp }: SessionEntry): Fields {
  const ms = Date.parse(timestamp);
  return Number.isNaN(ms) ? {} : { timestamp: new Date(ms).toISOString() };
}

/** What the model thought, if it is known. */
export function thinkingOf({ content }: AssistantMessage): Fields {
  const text = content
    .flatMap((block) => (block.type === "thinking" && block.thinking !== "" ? [block.thinking] : []))
    .join("\n\n");
  return text === "" ? {} : { reasoning_content: text };
}

/** A call in the format's words. */
export type AtifToolCall = {
  readonly tool_call_id: string;
  readonly function_name: string;
  readonly arguments: ToolCall["arguments"];
};

/** The calls of an answer, in their order. */
export function toolCallsOf({ content }: AssistantMessage): AtifToolCall[] {
  return content.flatMap((block) =>
    block.type === "toolCall"
      ? [{ tool_call_id: block.id, function_name: block.name, arguments: block.arguments }]
      : [],
  );
}

/** The metrics of one answer; none where the provider told nothing. */
export function metricsOf(usage: Usage): Fields {
  if (usage.totalTokens === 0 && usage.cost.total === 0) return {};
  return {
    metrics: {
      prompt_tokens: promptTokens(usage),
      completion_tokens: usage.output,
      cached_tokens: usage.cacheRead,
      cost_usd: usage.cost.total,
      ...(usage.cacheWrite === 0 ? {} : { extra: { cache_creation_input_tokens: usage.cacheWrite } }),
    },
  };
}

/** The metrics of the whole: tokens of the steps, costs of everything. What summaries took is told apart. */
export function finalMetricsOf({ answers, summaries }: SessionTotals, steps: number): Fields {
  const extra = {
    ...(answers.cacheWrite === 0 ? {} : { total_cache_creation_input_tokens: answers.cacheWrite }),
    ...(summaries.totalTokens === 0
      ? {}
      : {
          summary_prompt_tokens: promptTokens(summaries),
          summary_completion_tokens: summaries.output,
          summary_cost_usd: summaries.cost.total,
        }),
  };
  return {
    total_prompt_tokens: promptTokens(answers),
    total_completion_tokens: answers.output,
    total_cached_tokens: answers.cacheRead,
    total_cost_usd: answers.cost.total + summaries.cost.total,
    total_steps: steps,
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}

/** The format counts cached tokens in. */
function promptTokens({ input, cacheRead, cacheWrite }: Usage): number {
  return input + cacheRead + cacheWrite;
}

function partOf(block: UserContent): Fields {
  if (block.type === "text") return { type: "text", text: block.text };
  const path = dataUrl(block);
  if (path === undefined) return { type: "text", text: `(an image, ${block.mimeType})` };
  return { type: "image", source: { media_type: block.mimeType, path } };
}
