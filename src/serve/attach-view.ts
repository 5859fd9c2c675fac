import type { View } from "../commands/attach.ts";
import type { StreamLine } from "../contract/events.ts";
import type { RunOutcome } from "../contract/outcome.ts";
import { readDeltaEvents } from "../contract/read-events.ts";
import type { Sink } from "../contract/sink.ts";
import type { AttachMode } from "../flags/lifecycle-commands.ts";
import type { Host } from "../host.ts";
import type { Console } from "../main.ts";
import { createRebuilder } from "../runs/rebuild.ts";
import { finalText } from "../session/session-record.ts";
import { createJsonSink } from "../sinks/json.ts";
import { createTextSink } from "../sinks/text.ts";
import type { Writer } from "../sinks/writer.ts";

/** Shows the events of another run on this program's stdout. */
export function createView(
  { mode, deltas }: { mode: AttachMode; deltas: boolean },
  host: Host,
  { stdout, stderr }: Console,
): View {
  if (deltas) return (lines) => copy(lines, stdout);
  if (mode === "json") return (lines) => show(lines, createJsonSink({ writer: stdout }));
  const { isTerminal } = host.stdout;
  return (lines) => show(lines, createTextSink({ writer: stdout, isTerminal, stderr }));
}

async function copy(lines: AsyncIterable<string>, stdout: Writer): Promise<void> {
  for await (const line of lines) {
    stdout.write(`${line}\n`);
    await stdout.ready();
  }
}

/** Tells a sink what the lines were made of. */
async function show(lines: AsyncIterable<string>, sink: Sink): Promise<void> {
  const rebuild = createRebuilder();
  const outcome: RunOutcome = { failures: [], finalText: "" };
  for await (const line of readDeltaEvents(withEnds(lines))) {
    const plain = rebuild(line);
    if (plain === undefined) continue;
    keepAnswer(plain, outcome);
    if (plain.type === "session") sink.header(plain);
    else sink.emit(plain);
    await sink.ready();
  }
  await sink.close(outcome);
}

function keepAnswer(line: StreamLine, outcome: RunOutcome): void {
  if (line.type !== "message_end" || line.message.role !== "assistant") return;
  outcome.terminal = { stopReason: line.message.stopReason };
  outcome.finalText = finalText(line.message);
}

async function* withEnds(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield `${line}\n`;
}
