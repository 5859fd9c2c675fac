import { errorMessage } from "../contract/errors.ts";
import type { Redact } from "../contract/redact.ts";
import { toTerminalText } from "./terminal-text.ts";
import type { Writer } from "./writer.ts";

/** What people read: diagnostics, and on a terminal a line that says what is going on. Never throws. */
export type Stderr = {
  /** Says one thing in one line. */
  diagnostic(message: string): void;
  /** Says what went wrong in one line; with `--verbose` where, too. */
  error(error: unknown): void;
  /** Says one thing in one line with `--verbose`, else nothing. */
  detail(message: string): void;
  /** Shows a line that later ones replace, on a terminal only; undefined takes it away. */
  status(text: string | undefined): void;
  /** Resolves when all of it has left the process, or never can. */
  close(): Promise<void>;
};

export type StderrOptions = {
  /** Its failures are nobody's business: there is no place left to tell them. */
  readonly writer: Writer;
  readonly verbose: boolean;
  readonly redact?: Redact;
  /** The terminal's width in columns, asked at each drawing; absent when stderr is no terminal. */
  readonly columns?: () => number;
};

/** Makes the one that writes to stderr. */
export function createStderr({ writer, verbose, redact = (text) => text, columns }: StderrOptions): Stderr {
  let shown: string | undefined;

  function say(line: string): void {
    const status = shown;
    hide();
    writer.write(`${line}\n`);
    show(status);
    // At once: a diagnostic that waits may come too late, and lines of both streams keep their order on a terminal.
    writer.flush();
  }

  function hide(): void {
    if (shown !== undefined) writer.write(eraseLine);
    shown = undefined;
  }

  function show(text: string | undefined): void {
    if (text === undefined || columns === undefined) return;
    writer.write(cut(text, columns() - 1));
    shown = text;
  }

  function diagnostic(message: string): void {
    say(`base-context: ${toOneLine(redact(message))}`);
  }

  return {
    diagnostic,
    error(error) {
      diagnostic(errorMessage(error));
      const stack = error instanceof Error ? error.stack : undefined;
      if (verbose && stack !== undefined) say(toTerminalText(redact(stack)));
    },
    detail(message) {
      if (verbose) diagnostic(message);
    },
    status(text) {
      if (columns === undefined) return;
      const line = text === undefined ? undefined : toOneLine(redact(text));
      if (line === shown) return;
      hide();
      show(line);
      writer.flush();
    },
    close() {
      hide();
      return writer.close();
    },
  };
}

const eraseLine = "\r\u001b[2K";

function toOneLine(text: string): string {
  return toTerminalText(text.replaceAll(/\s*[\r\n\u2028\u2029]\s*/g, " ")).trim();
}

function cut(text: string, columns: number): string {
  const chars = [...text];
  return chars.length <= columns ? text : chars.slice(0, Math.max(0, columns)).join("");
}
