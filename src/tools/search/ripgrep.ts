import type { CommandEnd } from "../shell/shell.ts";

/** How a run of ripgrep ended. */
export type RipgrepEnd =
  | { readonly kind: "done" }
  /** The caller had enough. */
  | { readonly kind: "stopped" }
  | { readonly kind: "timeout" }
  /** Ripgrep's own words, for instance about a pattern. */
  | { readonly kind: "failed"; readonly message: string }
  /** There is no ripgrep that runs here. */
  | { readonly kind: "unavailable" };

export type RipgrepOptions = {
  /** Ripgrep's program; undefined where the platform has none. */
  readonly program: string | undefined;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** What ends a record of the output. */
  readonly separator: "\n" | "\0";
  /** Takes a record; answers whether to go on. */
  readonly onRecord: (record: string) => boolean;
};

/** What every run gets: no configuration file, nothing that starts programs, an order that is always the same. */
export const ripgrepArgs = [
  "--no-config",
  "--no-messages",
  "--no-ignore-messages",
  "--no-ignore-dot",
  "--hidden",
  "--color=never",
  "--path-separator=/",
  "--sort=path",
];

const timeLimitMs = 120_000;
const maxErrorLength = 2000;

/** Where the ripgrep of this platform is, if there is one. */
export async function findRipgrep(): Promise<string | undefined> {
  try {
    return (await import("@vscode/ripgrep")).rgPath;
  } catch {
    return undefined;
  }
}

/** Runs ripgrep and hands out its output record by record. Throws the signal's reason on abort. */
export async function runRipgrep(options: RipgrepOptions): Promise<RipgrepEnd> {
  if (options.program === undefined) return { kind: "unavailable" };
  const { runCommand } = await import("../shell/shell.ts");
  const enough = new AbortController();
  const records = createSplitter(options.separator, (record) => {
    if (!enough.signal.aborted && !options.onRecord(record)) enough.abort();
  });
  let errors = "";
  const { RIPGREP_CONFIG_PATH: _unused, ...env } = options.env;
  const end = await runCommand({
    file: options.program,
    args: options.args,
    cwd: options.cwd,
    env,
    signal: AbortSignal.any([options.signal, enough.signal]),
    timeoutMs: timeLimitMs,
    graceMs: 500,
    onOutput(chunk, stream) {
      if (stream === "stdout") records.push(chunk);
      else if (errors.length < maxErrorLength) errors += Buffer.from(chunk).toString();
    },
  });
  options.signal.throwIfAborted();
  if (enough.signal.aborted) return { kind: "stopped" };
  records.flush();
  return toEnd(end, errors.trim().slice(0, maxErrorLength));
}

function toEnd({ reason, exitCode, signal }: CommandEnd, errors: string): RipgrepEnd {
  if (reason === "spawn_error") return { kind: "unavailable" };
  if (reason === "timeout") return { kind: "timeout" };
  if (signal !== undefined) return { kind: "failed", message: `ripgrep was killed by ${signal}` };
  // With --no-messages, files that cannot be read give status 2 without a word.
  return exitCode === 2 && errors ? { kind: "failed", message: errors } : { kind: "done" };
}

function createSplitter(separator: string, onRecord: (record: string) => void) {
  const decoder = new TextDecoder();
  let rest = "";
  return {
    push(chunk: Uint8Array): void {
      const records = (rest + decoder.decode(chunk, { stream: true })).split(separator);
      rest = records.pop() ?? "";
      for (const record of records) onRecord(record);
    },
    flush(): void {
      rest += decoder.decode();
      if (rest) onRecord(rest);
      rest = "";
    },
  };
}
