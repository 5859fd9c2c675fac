import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { chatReply } from "./chat-wire.ts";
import type { Script } from "./provider-server.ts";
import { cliPath, type Line } from "./run-cli.ts";
import type { Bench } from "./with-provider.ts";
import type { Workspace } from "./workspace.ts";

/** A run that goes on beside the test. */
export type BackgroundRun = {
  readonly id: string;
  readonly child: ChildProcess;
  /** What it has printed so far. */
  stdout(): string;
  /** Resolves when it has ended. */
  readonly exited: Promise<{ status: number | null; signal: NodeJS.Signals | null }>;
};

/** The environment of a program in a workspace. */
export function environmentOf(workspace: Workspace): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LANG: "C.UTF-8", HOME: workspace.home, BASE_CONTEXT_HOME: workspace.home };
}

/** Starts a run in JSON mode and waits until others can find it. */
export async function startRun({ workspace }: Bench, args: readonly string[]): Promise<BackgroundRun> {
  const child = spawn(process.execPath, [cliPath, "--model", "fake/m", "--mode", "json", ...args], {
    cwd: workspace.cwd,
    env: environmentOf(workspace),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit").then(([status, signal]) => ({ status, signal }));
  let stdout = "";
  const header = new Promise<Line>((resolve, reject) => {
    child.stdout?.on("data", (chunk: Buffer) => {
      stdout += chunk;
      const end = stdout.indexOf("\n");
      if (end >= 0) resolve(JSON.parse(stdout.slice(0, end)));
    });
    child.once("exit", () => reject(new Error("the run ended before its header")));
  });
  const { id } = await header;
  await eventually(() => existsSync(join(workspace.home, "runs", id, "run.json")));
  return { id, child, stdout: () => stdout, exited };
}

/** Starts a resident run; gives its id. */
export async function startResident({ run }: Bench, args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await run(["--resident", ...args]);
  if (status !== 0) throw new Error(`the run was refused: ${stderr}`);
  return JSON.parse(stdout).id;
}

/** Makes a FIFO `gate` in the working directory, and opens it for all who wait at it. */
export function createGate({ cwd }: Workspace): { readonly command: string; open(): Promise<void> } {
  const path = join(cwd, "gate");
  execFileSync("mkfifo", [path]);
  return {
    command: "read line < gate; echo released",
    async open() {
      const opener = spawn("sh", ["-c", 'exec 3<>"$1"; sleep 0.3', "sh", path], { stdio: "ignore" });
      await once(opener, "exit");
    },
  };
}

/** A provider whose model first calls bash with a command and answers when it has the result. */
export function callThenAnswer(command: string, text = "done"): Script {
  const call = chatReply({ calls: [{ name: "bash", args: { command } }] });
  const answer = chatReply({ text });
  return ({ body }) => {
    const { messages } = JSON.parse(body);
    return messages.at(-1)?.role === "user" && !body.includes('"role":"tool"') ? call : answer;
  };
}

/** Waits until something is so, and gives what it is. */
export async function eventually<T>(
  look: () => T | undefined | false | Promise<T | undefined | false>,
  timeoutMs = 15_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const seen = await look();
    if (seen !== undefined && seen !== false) return seen;
    if (Date.now() > deadline) throw new Error(`it did not happen within ${timeoutMs} ms: ${look}`);
    await sleep(20);
  }
}

/** Kills every run that a home folder tells of. */
export function killRuns({ home }: Workspace): void {
  for (const id of runIds(home)) {
    const { pid } = recordOf(home, id);
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended.
    }
  }
}

/** What a run's folder says of it. */
export function recordOf(home: string, id: string): Line {
  return JSON.parse(readFileSync(join(home, "runs", id, "run.json"), "utf8"));
}

/** The runs that a home folder tells of. */
export function runIds(home: string): string[] {
  try {
    return readdirSync(join(home, "runs")).filter((name) => !name.startsWith("."));
  } catch {
    return [];
  }
}

/** Whether a process is there and not merely unburied. */
export function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}
