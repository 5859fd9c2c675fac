import type { AgentSessionEvent } from "../contract/events.ts";
import type { AssistantMessage } from "../contract/messages.ts";
import { monotonicMs } from "../contract/monotonic.ts";
import type { RunOutcome } from "../contract/outcome.ts";
import type { Sink } from "../contract/sink.ts";
import { createProgress } from "./progress.ts";
import type { Stderr } from "./stderr.ts";
import { createTerminalFilter, type TerminalFilter, toTerminalText } from "./terminal-text.ts";
import type { Writer } from "./writer.ts";

export type TextSinkOptions = {
  /** Stdout. */
  readonly writer: Writer;
  /** Whether stdout is a terminal: then the answer is shown as it comes, and control characters are not. */
  readonly isTerminal: boolean;
  /** Where progress is shown, if stderr is a terminal. */
  readonly stderr: Stderr;
  /** Milliseconds; only differences count. */
  readonly now?: () => number;
};

/**
 * Makes the sink of text mode. In a pipe or a file: the final answer, and nothing when there is none. An answer that
 * an error or an abort cut off is none there: what reads on would take it for the whole.
 */
export function createTextSink({ writer, isTerminal, stderr, now = monotonicMs }: TextSinkOptions): Sink {
  const progress = createProgress(now);
  const screen = isTerminal ? createScreen(writer, stderr) : undefined;
  const redrawing = setInterval(redraw, redrawMs).unref();

  function redraw(): void {
    if (screen === undefined || screen.isAtLineStart()) stderr.status(progress.line());
  }

  return {
    header: () => undefined,
    emit(event) {
      progress.take(event);
      screen?.take(event);
      if (event.type !== "message_update" || event.assistantMessageEvent.type.endsWith("_start")) redraw();
    },
    ready: () => writer.ready(),
    close(outcome) {
      clearInterval(redrawing);
      stderr.status(undefined);
      if (screen === undefined) writer.write(toFinalText(outcome));
      else screen.finish(outcome);
      return writer.close();
    },
  };
}

const redrawMs = 1000;

function toFinalText({ finalText, terminal }: RunOutcome): string {
  const isWhole = terminal?.stopReason !== "error" && terminal?.stopReason !== "aborted";
  if (finalText === "" || !isWhole) return "";
  return finalText.endsWith("\n") ? finalText : `${finalText}\n`;
}

type Screen = {
  take(event: AgentSessionEvent): void;
  /** Shows the final answer unless it was shown as it came. */
  finish(outcome: RunOutcome): void;
  isAtLineStart(): boolean;
};

function createScreen(writer: Writer, stderr: Stderr): Screen {
  let filter: TerminalFilter = createTerminalFilter();
  let atLineStart = true;
  /** What the last message showed. */
  let shown = "";

  function show(text: string): void {
    if (text === "") return;
    stderr.status(undefined);
    writer.write(text);
    // At once: on a terminal the status line is drawn over what is not there yet.
    writer.flush();
    atLineStart = text.endsWith("\n");
    shown += text;
  }

  function endLine(): void {
    if (!atLineStart) show("\n");
  }

  function restart(): void {
    filter = createTerminalFilter();
    shown = "";
  }

  function take(event: AgentSessionEvent): void {
    if (event.type === "message_start" && event.message.role === "assistant") restart();
    if (event.type === "message_update") {
      const step = event.assistantMessageEvent;
      if (step.type === "text_start") endLine();
      if (step.type === "text_delta") show(filter(step.delta));
    }
    if (event.type === "message_end" && event.message.role === "assistant") {
      if (shown === "") show(toTerminalText(textOf(event.message)));
      endLine();
    }
  }

  function finish(outcome: RunOutcome): void {
    endLine();
    const text = toTerminalText(toFinalText(outcome));
    if (withoutSpace(text) !== withoutSpace(shown)) show(text);
  }

  return { take, finish, isAtLineStart: () => atLineStart };
}

function textOf(message: AssistantMessage): string {
  return message.content.flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n");
}

function withoutSpace(text: string): string {
  return text.replaceAll(/\s/g, "");
}
