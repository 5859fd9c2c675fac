import type { CustomMessage } from "../../contract/messages.ts";
import gateFailed from "../prompts/gate-failed.md";
import gateUnchanged from "../prompts/gate-unchanged.md";
import type { GateResult } from "./gates.ts";

/** A gate's result for a person, in one line. */
export function gateWords(result: GateResult): string {
  return `gate ${result.outcome === "passed" ? "passed" : "failed"}: ${result.command} (${howItEnded(result)})`;
}

/** A gate's result as the event stream shows it. */
export function gateResultMessage(result: GateResult, timestamp: number): CustomMessage {
  const { command, attempt, outcome, end, unchanged } = result;
  const text = gateWords(result);
  return {
    role: "custom",
    customType: "gate_result",
    content: end.output === "" || unchanged ? text : `${text}\n${end.output}`,
    display: true,
    details: {
      command,
      attempt,
      outcome,
      exit: end.exitCode ?? null,
      ...(end.signal === undefined ? {} : { signal: end.signal }),
      durationMs: unchanged ? 0 : end.durationMs,
      unchanged,
      output: end.output,
    },
    timestamp,
  };
}

/** What the model is told of a gate that did not pass. */
export function gateFailedPrompt(result: GateResult): string {
  const text = result.unchanged ? gateUnchanged : gateFailed;
  return text
    .trimEnd()
    .replace("{{command}}", () => result.command)
    .replace("{{ending}}", () => howItEnded(result))
    .replace("{{output}}", () => result.end.output.trimEnd() || "(none)");
}

function howItEnded({ outcome, end, unchanged }: GateResult): string {
  const again = unchanged ? ", not run again since nothing changed" : "";
  switch (outcome) {
    case "timed_out":
      return `no end after ${end.durationMs} ms${again}`;
    case "aborted":
      return "aborted";
    case "not_started":
      return `it could not be started: ${end.errorMessage ?? "unknown reason"}${again}`;
    default:
      return `${end.exitCode === undefined ? `killed by ${end.signal ?? "a signal"}` : `exit status ${end.exitCode}`}${again}`;
  }
}
