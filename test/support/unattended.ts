import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { chatReply } from "./chat-wire.ts";
import type { Script } from "./provider-server.ts";
import type { Line, RunOptions, RunResult } from "./run-cli.ts";
import { type Bench, createBench } from "./with-provider.ts";
import type { ProviderSetup } from "./workspace.ts";

/** The model answers. */
export function says(text: string) {
  return chatReply({ text });
}

/** The model writes a file, which changes the work tree. */
export function writes(path: string, content = "x\n") {
  return chatReply({ calls: [{ name: "write", args: { path, content } }] });
}

/** The model runs a command. */
export function runs(command: string) {
  return chatReply({ calls: [{ name: "bash", args: { command } }] });
}

/** A run with its summary. */
export type Ended = RunResult & { readonly summary: Line; readonly bench: Bench };

/** Runs `do it` with a summary in each mode, each in a bench of its own. */
export async function inBothModes(
  script: readonly Script[],
  args: readonly string[],
  { setup, ...options }: RunOptions & { readonly setup?: Omit<ProviderSetup, "url"> } = {},
): Promise<Record<"text" | "json", Ended>> {
  const ended = async (mode: "text" | "json"): Promise<Ended> => {
    const bench = await createBench(script, setup);
    const summaryFile = join(bench.workspace.home, "summary.json");
    const result = await bench.run(["--mode", mode, "--summary", summaryFile, ...args, "do it"], options);
    return { ...result, summary: JSON.parse(readFileSync(summaryFile, "utf8")), bench };
  };
  return { text: await ended("text"), json: await ended("json") };
}

/** The messages of the program's own in a stream, in short. */
export function ownMessages(lines: readonly Line[]): Line[] {
  return lines
    .filter(({ type, message }) => type === "message_end" && message.role === "custom")
    .map(({ message: { customType, details } }) => ({ customType, ...details }));
}

/** Whether a process lives; one that has ended but that nobody waited for does not. */
export function isAlive(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return stdout.trim() !== "" && !stdout.trim().startsWith("Z");
}
