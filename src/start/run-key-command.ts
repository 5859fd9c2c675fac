import { constants } from "node:os";
import type { Host } from "../host.ts";
import type { RunKeyCommand } from "../providers/models/credentials.ts";

/** How much of a key command's output is looked at. */
const maxKeyBytes = 64 * 1024;

/** Makes what runs the `!command` of a key in the user's shell and environment. */
export function runKeyCommand(host: Host): RunKeyCommand {
  return async (command, { timeoutMs }) => {
    const { runCommand } = await import("../tools/shell/shell.ts");
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    const end = await runCommand({
      command,
      cwd: host.cwd,
      env: host.env,
      timeoutMs,
      signal: host.signal,
      onOutput(chunk, stream) {
        if (stream !== "stdout" || bytes > maxKeyBytes) return;
        chunks.push(Uint8Array.from(chunk));
        bytes += chunk.length;
      },
    });
    return {
      status: end.reason === "exit" ? (end.exitCode ?? signalStatus(end.signal)) : undefined,
      stdout: Buffer.concat(chunks).toString("utf8"),
    };
  };
}

/** The status that shells give what a signal ended. */
function signalStatus(signal: string | undefined): number {
  return 128 + (Object.entries(constants.signals).find(([name]) => name === signal)?.[1] ?? 0);
}
