import { type ChildProcess, spawn } from "node:child_process";
import { cliPath } from "./run-cli.ts";
import type { Bench } from "./with-provider.ts";

export type ScriptOptions = {
  /** Kills the script and all that it started after so many milliseconds, which fails the test. */
  readonly timeoutMs?: number;
  /** Sees stdout as it comes. */
  readonly onStdout?: (soFar: string, child: ChildProcess) => void;
};

export type ScriptResult = {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
};

/**
 * Runs lines of bash in the workspace, for pipes, redirections, limits and terminals. In them `bc` is the program with
 * `--model fake/m`, and `$BC` is that as one line of words.
 */
export async function runScript(
  { workspace }: Pick<Bench, "workspace">,
  script: string,
  { timeoutMs = 20_000, onStdout }: ScriptOptions = {},
): Promise<ScriptResult> {
  const child = spawn("bash", ["-c", `bc() { $BC "$@"; }\n${script}`], {
    cwd: workspace.cwd,
    detached: true,
    env: {
      PATH: process.env.PATH,
      LANG: "C.UTF-8",
      HOME: workspace.home,
      BASE_CONTEXT_HOME: workspace.home,
      BC: `${process.execPath} ${cliPath} --model fake/m`,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    killGroup(child);
  }, timeoutMs);
  // What it leaves in the background may hold its output.
  child.once("exit", () => killGroup(child));
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    onStdout?.(stdout, child);
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  const status = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject).on("close", resolve);
  });
  clearTimeout(timer);
  if (isLate) throw new Error(`no end after ${timeoutMs} ms\n${stdout.slice(-2000)}\n${stderr}`);
  return { status, stdout, stderr };
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // Nothing is left of it.
  }
}
