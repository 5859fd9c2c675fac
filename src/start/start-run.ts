import { join, resolve } from "node:path";
import type { PromptSources } from "../config/expand-prompt.ts";
import { homeFolder, homePaths } from "../config/paths.ts";
import { loadSettings } from "../config/settings.ts";
import { configFolders } from "../config/system-prompt.ts";
import type { Settings } from "../contract/config.ts";
import { StartupError } from "../contract/errors.ts";
import type { Emit } from "../contract/events.ts";
import type { Sink } from "../contract/sink.ts";
import type { Tool } from "../contract/tool.ts";
import type { Invocation } from "../flags/flags.ts";
import type { Flags } from "../flags/options.ts";
import type { Host } from "../host.ts";
import type { Console } from "../main.ts";
import { checkOutputFiles } from "../report/output-files.ts";
import { type Conversation, createConversation, type RunPrompt } from "../runs/conversation.ts";
import type { Registration } from "../runs/registration.ts";
import type { RpcOptions } from "../runs/rpc/actions.ts";
import type { RpcService } from "../runs/rpc/rpc.ts";
import type { LeftBranch } from "../session/compaction/branch-summary.ts";
import type { OutputSchema } from "../session/output-schema.ts";
import { sessionCommandNames } from "../session/slash-commands.ts";
import { withRedaction } from "../session/store/redacted-store.ts";
import { createSession, type SessionStore } from "../session/store/store.ts";
import { createUsageLedger } from "../session/usage.ts";
import { createDeltaSink } from "../sinks/deltas.ts";
import { createJsonSink } from "../sinks/json.ts";
import { createTextSink } from "../sinks/text.ts";
import { createTools } from "../tools/registry.ts";
import { assembleSession, type RunParts } from "./assemble-session.ts";
import { type AutonomousSetup, createAutonomousSetup } from "./autonomous-setup.ts";
import { choiceEntries } from "./choice-entries.ts";
import { type Prompt, readPrompts } from "./input.ts";
import { hasRunPython, leftBranch, openStore, recordedFolder, workingFolder } from "./open-store.ts";
import { type PickedModel, pickModel } from "./pick-model.ts";
import { registerSelf } from "./register-self.ts";
import { toRunPrompt } from "./run-prompt.ts";
import type { UserShell } from "./run-user-command.ts";

/** A run that is ready for its prompts. */
export type Run = {
  /** What the session is asked goes through this. */
  readonly conversation: Conversation;
  readonly prompts: readonly RunPrompt[];
  readonly settings: Settings;
  readonly autonomous: AutonomousSetup;
  readonly sink: Sink;
  /** This run's entry among those that can be found; undefined when it has none. */
  readonly registration: Registration | undefined;
  /** Names one more who hears every event, before the sink does. */
  listen(hear: Emit): void;
  /** What answers the commands of clients, on stdin and on the socket alike; made when it is first asked for. */
  service(): Promise<RpcService>;
  /** Ends what clients run beside the conversation, who can begin nothing any more. */
  endCommands(): Promise<void>;
  /** Ends the tools and closes the session's file and the recording. */
  close(): Promise<void>;
};

type RunInvocation = Extract<Invocation, { kind: "run" }>;

/**
 * Does all that a run needs before its first request, and writes the session header. Throws a StartupError for
 * whatever the user can put right; nothing is left behind then. `sink` takes the events in place of what the options say.
 */
export async function startRun(
  invocation: RunInvocation,
  host: Host,
  console: Console,
  sink?: Sink,
): Promise<Run> {
  const { flags } = invocation;
  const warn = (line: string) => console.stderr.diagnostic(line);
  const home = homeFolder(host.env);
  checkOutputFiles(flags, host);
  const schema =
    flags.outputSchema === undefined
      ? undefined
      : await (await import("./output-schema-file.ts")).loadOutputSchema(flags.outputSchema, host);
  const startFolder = workingFolder(flags.cwd, host.cwd);
  const settingsOf = (cwd: string) => loadSettings({ home, cwd, env: host.env, warn });
  const startSettings = await settingsOf(startFolder);
  const folder = resolve(host.cwd, flags.sessionDir ?? startSettings.sessionDir ?? homePaths(home).sessions);
  const prompts = isServed(flags)
    ? noPrompts(invocation)
    : (host.handed?.prompts ??
      (await readPrompts({
        messages: invocation.messages,
        files: invocation.files,
        cwd: host.cwd,
        stdin: host.stdin,
        readStdin: flags.stdin,
        stdinTimeoutMs: flags.stdinTimeoutMs,
        signal: host.signal,
        warn,
      })));
  const opened = await openStore(flags, { folder, cwd: startFolder, pid: host.pid, warn });
  const undo: (() => void | Promise<void>)[] = [() => opened?.close()];
  try {
    const left = opened && leftBranch(opened, flags);
    const cwd = flags.cwd === undefined && opened !== undefined ? recordedFolder(opened) : startFolder;
    const settings = cwd === startFolder ? startSettings : await settingsOf(cwd);
    const chosen = await pickModel({ flags, host, home, settings, saved: opened?.settings(), warn });
    undo.push(chosen.close);
    console.redaction.add(chosen.secrets);
    const shell = {
      env: host.env,
      credentialNames: chosen.credentialEnv,
      // With those of the models that are chosen later.
      secrets: console.redaction.secrets,
      passEnv: flags.passEnv,
      shell: settings.shell,
      spillFolder: join(home, "spill"),
    };
    const tools = createTools({
      ...shell,
      ...(flags.noTools ? { none: true } : {}),
      names: flags.tools,
      images: settings.images,
      ranPython: opened !== undefined && hasRunPython(opened),
    });
    const store = opened ?? createSession({ folder, cwd, pid: host.pid, persist: !flags.noSession });
    return begin({
      ...{
        flags,
        host,
        console,
        settings,
        home,
        folder,
        cwd,
        prompts,
        left,
        schema,
        chosen,
        shell,
        tools,
        store,
        warn,
      },
      ...(sink === undefined ? {} : { sink }),
    });
  } catch (error) {
    for (const step of undo) await step();
    throw error;
  }
}

/** Whether prompts come from a client on stdin. */
function isServed({ mode }: Flags): boolean {
  return mode === "rpc" || mode === "acp";
}

/** Throws a StartupError when there are messages or files although prompts come from a client. */
export function noPrompts({ flags: { mode }, messages, files }: RunInvocation): readonly Prompt[] {
  if (messages.length + files.length === 0) return [];
  throw new StartupError(`--mode ${mode} takes its prompts from stdin: leave out the messages and files`);
}

type Beginning = {
  readonly flags: Flags;
  readonly host: Host;
  readonly console: Console;
  readonly settings: Settings;
  readonly home: string;
  /** Where sessions are kept. */
  readonly folder: string;
  readonly cwd: string;
  readonly prompts: readonly Prompt[];
  /** What `--branch` leaves behind, when it is to be summed up. */
  readonly left: LeftBranch | undefined;
  readonly schema: OutputSchema | undefined;
  readonly chosen: PickedModel;
  readonly shell: UserShell;
  readonly tools: readonly Tool[];
  readonly store: SessionStore;
  readonly warn: (line: string) => void;
  readonly sink?: Sink;
};

function begin(beginning: Beginning): Run {
  const { flags, host, console, settings, home, cwd, chosen, store, warn } = beginning;
  const { sink = createSink(flags, host, console) } = beginning;
  sink.header({ ...store.header, cwd });
  const registration = registerSelf(beginning);
  const choice = choiceEntries(store, flags, chosen);
  const { left } = beginning;
  // What is kept before the summary of the branch that is left would be where the session goes on if that fails.
  if (left === undefined) choice.forEach(withRedaction(store, console.redaction.redact).append);
  const sources: PromptSources = { folders: configFolders(home, cwd), reserved: sessionCommandNames, warn };
  const prompts = [
    ...(left === undefined ? [] : [{ kind: "branch_summary" as const, left, choice }]),
    ...beginning.prompts.map((prompt) => toRunPrompt(prompt, sources)),
  ];
  const listeners: Emit[] = [];
  const ledger = createUsageLedger();
  const parts: RunParts = {
    ...beginning,
    ledger,
    settings: { ...settings, retry: { ...settings.retry }, compaction: { ...settings.compaction } },
    sink,
    emit(event) {
      for (const hear of listeners) hear(event);
      sink.emit(event);
    },
    redaction: console.redaction,
    autonomous: createAutonomousSetup({
      ...beginning,
      ledger,
      promptCount: prompts.filter(({ kind }) => kind === "message").length,
      ownPaths: ownPaths(beginning),
      ownDescriptors: [host.stdout.fd, host.stderr.fd],
      redact: console.redaction.redact,
    }),
    chooseModel: async (id) => {
      const other = await chosen.another(id);
      console.redaction.add(other.secrets);
      return other;
    },
  };
  const opened = assembleSession(parts, { store, cwd, choice: chosen });
  const conversation = createConversation({
    opened,
    signal: host.signal,
    isServed: isServed(flags),
  });
  const rpc: RpcOptions = {
    conversation,
    settings: parts.settings,
    signal: host.signal,
    chooseModel: parts.chooseModel,
    runBash: async (command, place) =>
      (await import("./run-user-command.ts")).runUserCommand(command, { ...place, shell: beginning.shell }),
    ...(flags.mode === "rpc"
      ? {
          openSession: async (target) =>
            (await import("./open-other.ts")).openOther(target, {
              parts,
              current: conversation.current(),
              folder: beginning.folder,
              pid: host.pid,
            }),
        }
      : {}),
  };
  let service: Promise<RpcService> | undefined;
  return {
    conversation,
    prompts,
    settings,
    autonomous: parts.autonomous,
    sink,
    registration,
    listen: (hear) => listeners.push(hear),
    service() {
      service ??= createService(rpc, listeners);
      return service;
    },
    endCommands: async () => (await service)?.end(),
    async close() {
      try {
        await chosen.close();
      } finally {
        await conversation.close();
      }
    },
  };
}

/** Where the program itself writes while a run lasts. */
function ownPaths({ flags, host, home, folder }: Beginning): string[] {
  const files = [flags.record, flags.outputLastMessage, flags.summary].filter((file) => file !== undefined);
  return [home, folder, ...files.map((file) => resolve(host.cwd, file))];
}

async function createService(options: RpcOptions, listeners: Emit[]): Promise<RpcService> {
  const { createRpcService } = await import("../runs/rpc/rpc.ts");
  const service = createRpcService(options);
  listeners.push(service.observe);
  return service;
}

function createSink(flags: Flags, host: Host, { stdout, stderr, redaction }: Console): Sink {
  if (flags.mode === "text")
    return createTextSink({ writer: stdout, isTerminal: host.stdout.isTerminal, stderr });
  const create = flags.jsonDeltas ? createDeltaSink : createJsonSink;
  return create({ writer: stdout, redact: redaction.redact });
}
