import type { SessionEntry } from "../../contract/entries.ts";
import type { AgentMessage, AssistantContent, AssistantMessage, Usage } from "../../contract/messages.ts";
import { gateResultOf } from "../gate-result.ts";
import type { SessionStep } from "../session-steps.ts";
import { content, folded, output, plain, type Renderers } from "./blocks.ts";
import { callHtml, resultHtml } from "./call.ts";
import { escapeHtml, type Html } from "./escape.ts";
import { clock, count, dollars } from "./numbers.ts";

type Answer = Pick<Extract<SessionStep, { kind: "answer" }>, "message" | "results">;

/** One part of the transcript. `number` makes its address in the page, `#e<number>`. Empty for what nobody reads. */
export function stepHtml(step: SessionStep, number: number, renderers: Renderers): Html {
  const view = step.kind === "answer" ? viewAnswer(step, renderers) : viewEntry(step.entry, renderers);
  if (view === undefined || view.body === "") return "";
  const { kind, title, body } = view;
  const { timestamp } = step.entry;
  const time =
    timestamp === ""
      ? `<a class="time" href="#e${number}">#${number}</a>`
      : `<a class="time" href="#e${number}"><time datetime="${escapeHtml(timestamp)}">${escapeHtml(clock(timestamp))}</time></a>`;
  return `<article class="${kind}" id="e${number}" data-entry><header><h3>${escapeHtml(title)}</h3>${time}</header>
${body}
</article>
`;
}

type View = { readonly kind: string; readonly title: string; readonly body: Html };

function viewAnswer({ message, results }: Answer, renderers: Renderers): View {
  const blocks = message.content.map((block) =>
    block.type === "toolCall"
      ? callHtml(block, results.get(block.id), renderers)
      : blockHtml(block, renderers),
  );
  return {
    kind: "assistant",
    title: "Assistant",
    body: `${blocks.join("\n")}${failureHtml(message)}${usageHtml(message)}`,
  };
}

function blockHtml(block: Exclude<AssistantContent, { type: "toolCall" }>, { markdown }: Renderers): Html {
  if (block.type === "text")
    return block.text.trim() === "" ? "" : `<div class="prose">${markdown(block.text)}</div>`;
  if (block.thinking === "")
    return block.redacted === true ? `<p class="note">(thinking that the provider hid)</p>` : "";
  return folded("thinking", "Thinking", plain(block.thinking));
}

function failureHtml({ stopReason, stopReasonRaw, errorMessage }: AssistantMessage): Html {
  if (stopReason === "stop" || stopReason === "toolUse") return "";
  const words = errorMessage ?? stopReasonRaw ?? "";
  return `<p class="failure"><strong>${stopReason}</strong>${words === "" ? "" : `: ${escapeHtml(words)}`}</p>`;
}

function usageHtml({ provider, model, usage }: AssistantMessage): Html {
  const parts = [escapeHtml(`${provider}/${model}`), ...usageWords(usage)];
  return `<footer>${parts.join(" · ")}</footer>`;
}

function usageWords({ input, output: out, cacheRead, cacheWrite, totalTokens, cost }: Usage): string[] {
  if (totalTokens === 0) return [];
  const cached = cacheRead > 0 ? ` (${count(cacheRead)} cached)` : "";
  return [
    `${count(input + cacheRead + cacheWrite)} in${cached}`,
    `${count(out)} out`,
    ...(cost.total > 0 ? [dollars(cost.total)] : []),
  ];
}

/** Undefined for entries that tell a reader nothing. */
function viewEntry(entry: SessionEntry, renderers: Renderers): View | undefined {
  switch (entry.type) {
    case "message":
      return viewMessage(entry.message, renderers);
    case "custom_message":
      return viewCustom(entry.customType, content(entry.content), entry.display);
    case "compaction":
      return viewSummary(`Compaction of ${count(entry.tokensBefore)} tokens`, entry.summary, renderers);
    case "branch_summary":
      return viewSummary("A branch that was left", entry.summary, renderers);
    case "model_change":
      return viewSetting(`Model: ${entry.provider}/${entry.modelId}`);
    case "thinking_level_change":
      return viewSetting(`Thinking: ${entry.thinkingLevel}`);
    case "label":
      return entry.label === undefined ? undefined : viewSetting(`Label: ${entry.label}`);
    case "custom": {
      const gate = gateResultOf(entry);
      if (gate === undefined) return undefined;
      const said = gate.output === "" ? "" : output(gate.output);
      return viewCustom("Gate", `<p>${escapeHtml(gate.words)}</p>${said}`, true);
    }
    case "session_info":
      return undefined;
  }
}

function viewMessage(message: AgentMessage, renderers: Renderers): View | undefined {
  switch (message.role) {
    case "user":
      return { kind: "user", title: "User", body: content(message.content) };
    case "assistant":
      return viewAnswer({ message, results: new Map() }, renderers);
    case "toolResult":
      return {
        kind: "note",
        title: "Result without its call",
        body: folded("call", escapeHtml(message.toolName), resultHtml(message, {}, renderers)),
      };
    case "bashExecution": {
      const command = output(message.command, renderers.highlight(message.command, "bash"));
      return { kind: "user", title: "Command of the user", body: command + output(message.output) };
    }
    case "custom":
      return viewCustom(message.customType, content(message.content), message.display);
    case "branchSummary":
      return viewSummary("A branch that was left", message.summary, renderers);
    case "compactionSummary":
      return viewSummary(`Compaction of ${count(message.tokensBefore)} tokens`, message.summary, renderers);
  }
}

function viewCustom(title: string, body: Html, display: boolean): View {
  return { kind: "note", title, body: display ? body : folded("thinking", "Shown to the model only", body) };
}

function viewSummary(title: string, summary: string, { markdown }: Renderers): View {
  return {
    kind: "note",
    title,
    body: folded("thinking", "Summary", `<div class="prose">${markdown(summary)}</div>`),
  };
}

function viewSetting(words: string): View {
  return { kind: "setting", title: "Setting", body: `<p>${escapeHtml(words)}</p>` };
}
