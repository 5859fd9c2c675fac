import type { Stats } from "node:fs";
import { StartupError } from "../contract/errors.ts";
import type { Flags } from "../flags/options.ts";
import type { Host } from "../host.ts";
import { isOwnOutput } from "../tools/files/own-output.ts";
import { checkOutputFile, locate } from "./output-file.ts";

type Streams = Pick<Host, "cwd" | "stdout" | "stderr">;

/**
 * Refuses files that options name and that could not be written, or that would take the place of each other or of what
 * the run prints.
 */
export function checkOutputFiles(flags: Flags, host: Streams): void {
  const written = new Map<string, string>();
  for (const [option, file] of outputFiles(flags)) {
    // The recording is opened at once.
    if (option !== "--record") checkOutputFile(option, file, host.cwd);
    const stream = streamBehind(file, host, flags.mode !== "text");
    if (stream !== undefined)
      throw new StartupError(`${option} ${file} is where ${stream} goes: name another file`);
    const key = identity(file, host.cwd);
    const other = key === undefined ? undefined : written.get(key);
    if (other !== undefined)
      throw new StartupError(`${other} and ${option} both write ${file}: give each a file of its own`);
    if (key !== undefined) written.set(key, option);
  }
}

/** Whether a text for this file would come among what stdout or stderr say, or in the place of it. */
export function isStream(file: string, host: Streams): boolean {
  return streamBehind(file, host, true) !== undefined;
}

function outputFiles({ outputLastMessage, summary, record }: Flags): [option: string, file: string][] {
  const named: [string, string | undefined][] = [
    ["--output-last-message", outputLastMessage],
    ["--summary", summary],
    ["--record", record],
  ];
  return named.flatMap(([option, file]) => (file === undefined ? [] : [[option, file]]));
}

/** `isExact` says that nothing else may be on stdout, whatever it is; otherwise only a file is in danger. */
function streamBehind(
  file: string,
  { cwd, stdout, stderr }: Streams,
  isExact: boolean,
): "stdout" | "stderr" | undefined {
  const stats = statsOf(file, cwd);
  // A device such as /dev/null is no place where something could be lost.
  if (stats === undefined || stats.isCharacterDevice()) return undefined;
  if ((isExact || stats.isFile()) && isOwnOutput(stats, [stdout.fd])) return "stdout";
  return stats.isFile() && isOwnOutput(stats, [stderr.fd]) ? "stderr" : undefined;
}

/** The same for two names of one file; undefined for what may well be written to twice. */
function identity(file: string, cwd: string): string | undefined {
  try {
    const { target, stats } = locate(file, cwd);
    if (stats === undefined) return target;
    return stats.isFile() ? `${stats.dev}:${stats.ino}` : undefined;
  } catch {
    return undefined;
  }
}

function statsOf(file: string, cwd: string): Stats | undefined {
  try {
    return locate(file, cwd).stats;
  } catch {
    return undefined;
  }
}
