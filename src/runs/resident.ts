import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, fstatSync, mkdtempSync, readSync, renameSync, rmdirSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { isJsonObject, type JsonObject } from "../contract/json.ts";
import { createPrivateFile, makePrivateFolder } from "../session/store/private-files.ts";
import { channelVariable } from "./channel.ts";
import { runPaths } from "./run-folder.ts";

export type LaunchOptions = {
  /** The program, and the arguments that start it. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The folder of all runs. */
  readonly runs: string;
  /** What the run is to do. It goes over a socket: neither argv's limits nor `ps` see it. */
  readonly task: object;
  readonly signal: AbortSignal;
};

/** What came of a launch: the run's session header, or how it ended instead. */
export type Launch = { readonly stderr: string } & (
  | { readonly kind: "accepted"; readonly header: JsonObject }
  | { readonly kind: "ended"; readonly status: number | null }
);

/**
 * Starts the program again, in a session of its own and without this process's terminal and pipes, and waits until it
 * has taken its task up. When it is aborted, or is refused, nothing goes on. Throws the system's error when the folder
 * cannot be made.
 */
export async function launch({ command, env, runs, task, signal }: LaunchOptions): Promise<Launch> {
  makePrivateFolder(runs);
  const folder = mkdtempSync(join(runs, ".start-"));
  const { stdout, stderr } = runPaths(folder);
  const outputs = [createPrivateFile(stdout), createPrivateFile(stderr)] as const;
  try {
    const [program = "", ...args] = command;
    const child = spawn(program, args, {
      detached: true,
      env: { ...env, [channelVariable]: "3" },
      stdio: ["ignore", ...outputs, "pipe"],
    });
    const end = () => child.kill("SIGTERM");
    signal.addEventListener("abort", end, { once: true });
    const accepted = await handOver(child, { ...task, outputs: folder });
    signal.removeEventListener("abort", end);
    if (accepted === undefined)
      return { kind: "ended", status: await exited(child), stderr: readText(outputs[1]) };
    child.unref();
    return { kind: "accepted", header: accepted, stderr: readText(outputs[1]) };
  } finally {
    for (const descriptor of outputs) closeSync(descriptor);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Gives the header that the run answers with; undefined when it ends without. */
async function handOver(child: ChildProcess, task: object): Promise<JsonObject | undefined> {
  const channel = child.stdio[3];
  if (!(channel instanceof Socket)) return undefined;
  channel.on("error", () => undefined);
  channel.end(JSON.stringify(task));
  const answer = await readAll(channel);
  channel.destroy();
  return answer;
}

function exited(child: ChildProcess): Promise<number | null> {
  if (child.exitCode !== null) return Promise.resolve(child.exitCode);
  return new Promise((resolve) => {
    child.once("error", () => resolve(null));
    child.once("exit", (status) => resolve(status));
  });
}

/** From the beginning: the run writes through the same descriptor, and has moved the file meanwhile. */
function readText(descriptor: number): string {
  const bytes = Buffer.alloc(fstatSync(descriptor).size);
  return bytes.toString("utf8", 0, readSync(descriptor, bytes, 0, bytes.length, 0));
}

/** The other side: what a run that goes on by itself is told, and how it answers. */
export type Takeover = {
  readonly task: JsonObject;
  /** Says that the run goes on. */
  accept(header: object): void;
};

/** Reads the task from a descriptor. Rejects with an Error when the launching process is gone. */
export async function takeOver(descriptor: number): Promise<Takeover> {
  const channel = new Socket({ fd: descriptor, allowHalfOpen: true });
  channel.on("error", () => undefined);
  const task = await readAll(channel);
  if (task === undefined) throw new Error("what started this process is gone before it said what to do");
  // That the other side is slow to leave is no reason to stay.
  channel.unref();
  return {
    task,
    accept(header) {
      channel.end(JSON.stringify(header));
    },
  };
}

/** Puts the files that a launch made for the run's output into the run's folder. */
export function moveOutputs(from: string, folder: string): void {
  const to = runPaths(folder);
  renameSync(runPaths(from).stdout, to.stdout);
  renameSync(runPaths(from).stderr, to.stderr);
  rmdirSync(from);
}

/** The JSON object that is all that a socket says; undefined when it says something else, or breaks. */
async function readAll(socket: Socket): Promise<JsonObject | undefined> {
  const chunks: Buffer[] = [];
  try {
    // Its other direction stays open.
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) chunks.push(chunk);
    const value: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
