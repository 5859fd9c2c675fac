import { homeFolder, homePaths } from "../config/paths.ts";
import { errorMessage, StartupError } from "../contract/errors.ts";
import type { SessionHeader } from "../contract/events.ts";
import { isJsonObject, type JsonValue } from "../contract/json.ts";
import type { ImageContent } from "../contract/messages.ts";
import type { Sink } from "../contract/sink.ts";
import type { Invocation } from "../flags/flags.ts";
import type { Host } from "../host.ts";
import type { Console } from "../main.ts";
import { createEventLog } from "../runs/event-log.ts";
import { launch, moveOutputs, takeOver } from "../runs/resident.ts";
import { runPaths } from "../runs/run-folder.ts";
import { createDeltaSink } from "../sinks/deltas.ts";
import { toJsonText } from "../sinks/json-text.ts";
import { createTextSink } from "../sinks/text.ts";
import { type Prompt, readPrompts } from "../start/input.ts";
import { type Run, startRun } from "../start/start-run.ts";
import { createPresence, type Presence, type PresentRun } from "./presence.ts";

type RunInvocation = Extract<Invocation, { kind: "run" }>;

/** What a run that goes on by itself was handed by the process that started it. */
export type Handed = {
  readonly prompts: readonly Prompt[];
  /** The folder with the files that stdout and stderr go to. */
  readonly outputs: string;
  /** Tells the starting process that the run goes on. */
  accept(header: object): void;
};

/**
 * Starts a run that goes on when this process has ended, and prints its session header. Gives the status: 0 when the run
 * was accepted, else what it was refused with, and its words. Throws a StartupError.
 */
export async function launchResident(
  { flags, messages, files }: RunInvocation,
  host: Host,
  { stdout, stderr }: Console,
): Promise<number> {
  const prompts = await readPrompts({
    messages,
    files,
    cwd: host.cwd,
    stdin: host.stdin,
    readStdin: flags.stdin,
    stdinTimeoutMs: flags.stdinTimeoutMs,
    signal: host.signal,
    warn: (line) => stderr.diagnostic(line),
  });
  const { runs } = homePaths(homeFolder(host.env));
  const launched = await launch({
    command: [...host.self, "--resident"],
    env: host.env,
    runs,
    task: { argv: host.argv, prompts },
    signal: host.signal,
  }).catch((error: unknown) => {
    throw new StartupError(`a resident run needs a folder in ${runs}: ${errorMessage(error)}`);
  });
  const words = launched.stderr.split("\n").filter((line) => line !== "");
  for (const line of words) stderr.diagnostic(line.replace(/^base-context: /, ""));
  if (launched.kind === "ended") return launched.status ?? 1;
  stdout.write(`${toJsonText(launched.header)}\n`);
  return 0;
}

/** The program in the process that goes on: does what it is told over the descriptor. */
export async function mainDetached(
  main: (host: Host) => Promise<number>,
  host: Host,
  descriptor: number,
): Promise<number> {
  const { task, accept } = await takeOver(descriptor);
  const { argv, prompts, outputs } = task;
  if (!isTexts(argv) || !isPrompts(prompts) || typeof outputs !== "string")
    throw new Error("what this process was told to do cannot be understood");
  return main({ ...host, argv, handed: { prompts, outputs, accept } });
}

/** Starts a run in the process that goes on; what started it is told once it can be found and keeps its events. */
export async function startResident(
  invocation: RunInvocation,
  host: Host,
  console: Console,
): Promise<PresentRun> {
  const { handed } = host;
  if (handed === undefined) throw new Error("this process was handed no run");
  const sink = createResidentSink(invocation.flags.mode === "text" ? textSink(console) : undefined);
  const run = await startRun(invocation, host, console, sink);
  try {
    const presence = createPresence({ run, host, console });
    const header = settle(sink, run, { presence, outputs: handed.outputs, console });
    await presence.open();
    handed.accept(header);
    return { run, presence };
  } catch (error) {
    await run.close();
    throw error;
  }
}

type Place = { readonly presence: Presence; readonly outputs: string; readonly console: Console };

/** Takes up the run's folder, and gives the session's header. Throws when it cannot be had. */
function settle(
  sink: ResidentSink,
  run: Run,
  { presence: { folder }, outputs, console }: Place,
): SessionHeader {
  const header = sink.told();
  if (folder === undefined || header === undefined)
    throw new StartupError("a resident run needs a folder of its own, which could not be made");
  moveOutputs(outputs, folder);
  const writer = createEventLog({
    path: runPaths(folder).events,
    maxBytes: run.settings.runs.maxEventsBytes,
    onError: (error) => console.stderr.diagnostic(`the events are not kept any more: ${errorMessage(error)}`),
  });
  sink.keepIn(createDeltaSink({ writer, redact: console.redaction.redact }));
  return header;
}

/** The sink of a run that goes on by itself: keeps the events once there is a place for them. */
type ResidentSink = Sink & {
  /** The header, once it was told. */
  told(): SessionHeader | undefined;
  keepIn(log: Sink): void;
};

/** `inner` is told the same. */
function createResidentSink(inner: Sink | undefined): ResidentSink {
  let header: SessionHeader | undefined;
  let log: Sink | undefined;
  return {
    told: () => header,
    keepIn(place) {
      log = place;
      if (header !== undefined) log.header(header);
    },
    header(told) {
      header = told;
      inner?.header(told);
    },
    emit(event) {
      log?.emit(event);
      inner?.emit(event);
    },
    ready: () => inner?.ready() ?? Promise.resolve(),
    async close(outcome) {
      await log?.close(outcome);
      await inner?.close(outcome);
    },
  };
}

function textSink({ stdout, stderr }: Console): Sink {
  return createTextSink({ writer: stdout, isTerminal: false, stderr });
}

function isTexts(value: JsonValue | undefined): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

function isPrompts(value: JsonValue | undefined): value is readonly (JsonValue & Prompt)[] {
  return Array.isArray(value) && value.every(isPrompt);
}

function isPrompt(value: JsonValue): value is JsonValue & Prompt {
  return (
    isJsonObject(value) &&
    typeof value.attached === "string" &&
    typeof value.text === "string" &&
    typeof value.literal === "boolean" &&
    Array.isArray(value.images) &&
    value.images.every(isImage)
  );
}

function isImage(value: JsonValue): value is JsonValue & ImageContent {
  return isJsonObject(value) && typeof value.data === "string" && typeof value.mimeType === "string";
}
