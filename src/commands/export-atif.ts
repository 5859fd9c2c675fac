import type { SessionEntry } from "../contract/entries.ts";
import { StartupError } from "../contract/errors.ts";
import type { AgentMessage } from "../contract/messages.ts";
import { serializeLine } from "../session/store/session-line.ts";
import { version } from "../version.ts";
import {
  contentOf,
  type Fields,
  finalMetricsOf,
  metricsOf,
  thinkingOf,
  timestampOf,
  toolCallsOf,
} from "./export-atif-parts.ts";
import type { ExportSource } from "./export-formats.ts";
import { gateResultOf } from "./gate-result.ts";
import { type SessionStep, toSteps } from "./session-steps.ts";
import { createTotals } from "./session-totals.ts";

/**
 * Writes a session as a trajectory of the Agent Trajectory Interchange Format, one step a line. Throws a StartupError
 * for a session without messages, which the format has no words for.
 */
export function* toAtif({ header, settings, entries }: ExportSource): Generator<string, void, undefined> {
  const totals = createTotals();
  let effort: string | undefined;
  let steps = 0;
  for (const step of toSteps(entries())) {
    if (step.entry.type === "thinking_level_change") effort = step.entry.thinkingLevel;
    totals.add(step.entry);
    const fields = stepFields(step, effort);
    if (fields === undefined) continue;
    steps++;
    yield steps === 1 ? opening({ header, settings }) : ",\n";
    yield serializeLine({ step_id: steps, ...timestampOf(step.entry), ...fields });
  }
  if (steps === 0)
    throw new StartupError(`the session ${header.id} has no messages yet, so there is no trajectory of it`);
  yield `\n],"final_metrics":${JSON.stringify(finalMetricsOf(totals, steps))}}\n`;
}

function opening({ header, settings: { name, model } }: Pick<ExportSource, "header" | "settings">): string {
  const root = {
    schema_version: "ATIF-v1.7",
    session_id: header.id,
    agent: {
      name: "base-context",
      version,
      ...(model === undefined ? {} : { model_name: model.modelId, extra: { provider: model.provider } }),
    },
    extra: {
      cwd: header.cwd,
      ...(name === undefined ? {} : { name }),
      ...(header.parentSession === undefined ? {} : { parent_session: header.parentSession }),
    },
  };
  return `${serializeLine(root).slice(0, -1)},"steps":[\n`;
}

/** Undefined for what is no step. */
function stepFields(step: SessionStep, effort: string | undefined): Fields | undefined {
  return step.kind === "answer" ? answerFields(step, effort) : entryFields(step.entry);
}

function answerFields(
  { message, results }: Extract<SessionStep, { kind: "answer" }>,
  effort: string | undefined,
): Fields {
  const { stopReason, stopReasonRaw, errorMessage, responseModel, responseId } = message;
  const toolCalls = toolCallsOf(message);
  const answered = toolCalls.flatMap(({ tool_call_id }) => results.get(tool_call_id) ?? []);
  return {
    source: "agent",
    model_name: message.model,
    ...(effort === undefined || effort === "off" ? {} : { reasoning_effort: effort }),
    message: contentOf(message.content.filter((block) => block.type === "text")),
    ...thinkingOf(message),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
    ...(answered.length === 0
      ? {}
      : {
          observation: {
            results: answered.map(({ toolCallId, content, isError }) => ({
              source_call_id: toolCallId,
              content: contentOf(content),
              ...(isError ? { extra: { is_error: true } } : {}),
            })),
          },
        }),
    ...metricsOf(message.usage),
    extra: {
      api: message.api,
      provider: message.provider,
      stop_reason: stopReason,
      ...(stopReasonRaw === undefined ? {} : { stop_reason_raw: stopReasonRaw }),
      ...(errorMessage === undefined ? {} : { error_message: errorMessage }),
      ...(responseModel === undefined ? {} : { response_model: responseModel }),
      ...(responseId === undefined ? {} : { response_id: responseId }),
    },
  };
}

function entryFields(entry: SessionEntry): Fields | undefined {
  switch (entry.type) {
    case "message":
      return messageFields(entry.message);
    case "custom_message":
      return system(contentOf(entry.content), { kind: "custom", custom_type: entry.customType });
    case "compaction":
      return system(entry.summary, { kind: "compaction", tokens_before: entry.tokensBefore });
    case "branch_summary":
      return system(entry.summary, { kind: "branch_summary" });
    case "custom": {
      const gate = gateResultOf(entry);
      return (
        gate &&
        system(`${gate.words}\n${gate.output}`.trimEnd(), { kind: "custom", custom_type: entry.customType })
      );
    }
    case "model_change":
    case "thinking_level_change":
    case "label":
    case "session_info":
      return undefined;
  }
}

function messageFields(message: AgentMessage): Fields | undefined {
  switch (message.role) {
    case "user":
      return { source: "user", message: contentOf(message.content) };
    case "assistant":
      return undefined;
    case "toolResult": {
      const { toolCallId, toolName, content, isError } = message;
      const extra = { kind: "tool_result", tool_call_id: toolCallId, tool_name: toolName, is_error: isError };
      return { ...system("", extra), observation: { results: [{ content: contentOf(content) }] } };
    }
    case "bashExecution": {
      const { command, output, exitCode, cancelled } = message;
      const end = { cancelled, ...(exitCode === undefined ? {} : { exit_code: exitCode }) };
      return {
        ...system(command, { kind: "user_command", ...end }),
        observation: { results: [{ content: output }] },
      };
    }
    case "custom":
      return system(contentOf(message.content), { kind: "custom", custom_type: message.customType });
    case "branchSummary":
      return system(message.summary, { kind: "branch_summary" });
    case "compactionSummary":
      return system(message.summary, { kind: "compaction", tokens_before: message.tokensBefore });
  }
}

function system(message: unknown, extra: Fields): Fields {
  return { source: "system", message, extra };
}
