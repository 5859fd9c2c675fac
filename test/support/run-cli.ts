import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { checkStream, type StreamOptions } from "./grammar.ts";
import type { Workspace } from "./workspace.ts";

export const cliPath = fileURLToPath(
  new URL(`../../${process.env.BASE_CONTEXT_DIST ?? "dist"}/cli.js`, import.meta.url),
);

export type RunOptions = {
  readonly workspace?: Workspace;
  readonly env?: Record<string, string | undefined>;
  /** What stdin says before it ends; /dev/null when absent; `open` is a pipe that stays silent and open. */
  readonly stdin?: string | Uint8Array | "open";
  /** Kills the program after so many milliseconds, which fails the test. */
  readonly timeoutMs?: number;
  /** Leaves out the check of the stream, for a reader that went away or a stream that is no stream. */
  readonly unchecked?: boolean;
  /** Sees the program when it has started, to signal it or to read it slowly. */
  readonly onStart?: (child: ChildProcess) => void;
  /** Sees stdout as it comes. */
  readonly onStdout?: (soFar: string, child: ChildProcess) => void;
};

export type RunResult = {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** stdout as parsed JSON lines. */
  readonly lines: readonly Line[];
};

/** A line of the stream, loosely typed: tests look at what they test. */
// biome-ignore lint/suspicious/noExplicitAny: tests reach deep into lines of every shape
export type Line = Record<string, any>;

/** Runs the built program to its end. In JSON mode every stream is held against the schema and the grammar. */
export async function runCli(args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const { workspace, stdin, timeoutMs = 20_000 } = options;
  const child = spawn(process.execPath, [cliPath, ...args], {
    cwd: workspace?.cwd,
    env: environment(options),
    stdio: [stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"],
  });
  options.onStart?.(child);
  if (stdin !== undefined && stdin !== "open") child.stdin?.on("error", () => {}).end(stdin);
  const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
  const [stdout, stderr, end] = await Promise.all([
    collect(child.stdout, (soFar) => options.onStdout?.(soFar, child)),
    collect(child.stderr),
    new Promise<{ status: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
      child.on("error", reject);
      child.on("exit", (status, signal) => {
        // An open stdin is the test's, not the program's: it must not be what keeps the program's pipes open.
        child.stdin?.destroy();
        resolve({ status, signal });
      });
    }),
  ]);
  clearTimeout(timer);
  if (end.signal === "SIGKILL")
    throw new Error(`no end after ${timeoutMs} ms\n${stdout.slice(-2000)}\n${stderr}`);
  return { ...end, stdout, stderr, lines: toLines(args, stdout, options) };
}

function toLines(
  args: readonly string[],
  stdout: string,
  { unchecked = false }: RunOptions,
): readonly Line[] {
  const isJson = args.includes("json") || args.includes("--mode=json");
  if (!isJson || stdout === "" || unchecked) return stdout.split("\n").flatMap(parseLoosely);
  return parseStream(stdout, { deltas: args.includes("--json-deltas") });
}

/** The lines of a stream. Throws when they break the schema or the grammar. */
export function parseStream(stdout: string, options: StreamOptions = {}): readonly Line[] {
  if (!stdout.endsWith("\n")) throw new Error(`the stream ends within a line: ${stdout.slice(-200)}`);
  const lines = stdout
    .slice(0, -1)
    .split("\n")
    .map((line): Line => JSON.parse(line));
  const violations = checkStream(lines, options);
  if (violations.length > 0)
    throw new Error(`the stream breaks its rules:\n${violations.join("\n")}\n${stdout}`);
  return lines;
}

function parseLoosely(line: string): Line[] {
  try {
    return [JSON.parse(line)];
  } catch {
    return [];
  }
}

/** The environment of a run: nothing of the tester's own home, keys or proxies. */
function environment({ workspace, env }: RunOptions): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    LANG: "C.UTF-8",
    ...(workspace === undefined ? {} : { HOME: workspace.home, BASE_CONTEXT_HOME: workspace.home }),
    ...env,
  };
}

async function collect(
  stream: NodeJS.ReadableStream | null,
  onData?: (soFar: string) => void,
): Promise<string> {
  const chunks: Buffer[] = [];
  let soFar = "";
  for await (const chunk of stream ?? []) {
    const bytes = Buffer.from(chunk);
    chunks.push(bytes);
    if (onData !== undefined) {
      soFar += bytes.toString("utf8");
      onData(soFar);
    }
  }
  return Buffer.concat(chunks).toString("utf8");
}
