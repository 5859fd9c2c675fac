import type { AbortCause } from "./contract/outcome.ts";
import type { Handed } from "./serve/resident.ts";
import type { Stdin } from "./start/input.ts";

/** All of the process that the program touches, made by cli.ts. */
export type Host = {
  /** The arguments after the program's name. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute. Throws a StartupError when the directory is gone. */
  readonly cwd: string;
  readonly stdin: Stdin;
  readonly stdout: { readonly fd: number; readonly isTerminal: boolean };
  readonly stderr: {
    readonly fd: number;
    readonly isTerminal: boolean;
    /** The terminal's width, asked anew each time. */
    readonly columns: () => number;
  };
  readonly pid: number;
  /** The words that start this program: Node, its options, and the program's file. */
  readonly self: readonly string[];
  /** In a process that goes on by itself: what it was handed by the one that started it. */
  readonly handed?: Handed;
  /** Aborted when the run is to end early. */
  readonly signal: AbortSignal;
  /** Why it is, once it is. */
  readonly cause: () => AbortCause | undefined;
  /** Ends the run early; only the first call counts. */
  readonly abort: (cause: AbortCause) => void;
  /** Names who hears, last of all, of the status that the process ends with. What it does has to be done at once. */
  readonly onExit: (hear: (status: number) => void) => void;
  /** Names who hears of every exception and rejection that nobody caught. */
  readonly onUncaught: (hear: (error: unknown) => void) => void;
};
