import { join, resolve } from "node:path";
import { expandPrompt, type PromptSources } from "./config/expand-prompt.ts";
import { homeFolder, homePaths } from "./config/paths.ts";
import { loadSettings } from "./config/settings.ts";
import { configFolders, readSystemPrompt } from "./config/system-prompt.ts";
import type { Settings } from "./contract/config.ts";
import type { UserMessage } from "./contract/messages.ts";
import type { Sink } from "./contract/sink.ts";
import type { Tool } from "./contract/tool.ts";
import type { Invocation } from "./flags.ts";
import type { Flags } from "./flags-options.ts";
import type { Host } from "./host.ts";
import { type Prompt, readPrompts } from "./input.ts";
import { checkLastMessageFile } from "./last-message.ts";
import type { Console } from "./main.ts";
import { leftBranch, openStore, recordedFolder, workingFolder } from "./open-store.ts";
import { type PickedModel, pickModel } from "./pick-model.ts";
import { type AgentSession, createAgentSession } from "./session/agent-session.ts";
import type { LeftBranch } from "./session/branch-summary.ts";
import type { SessionCommand } from "./session/slash-commands.ts";
import { createSession, type SessionStore } from "./session/store.ts";
import { createDeltaSink } from "./sinks/deltas.ts";
import { createJsonSink } from "./sinks/json.ts";
import { createTextSink } from "./sinks/text.ts";
import { createTools } from "./tools/registry.ts";

/** A run that is ready for its prompts. */
export type Run = {
  readonly session: AgentSession;
  readonly prompts: readonly RunPrompt[];
  readonly sink: Sink;
  /** Ends the tools and closes the session's file and the recording. */
  close(): Promise<void>;
};

/** What the command line asks for: the model's work, a command of the session, or the summary of a branch that is left. */
export type RunPrompt =
  | { readonly kind: "message"; readonly message: UserMessage }
  | { readonly kind: "branch_summary"; readonly left: LeftBranch }
  | ({ readonly kind: "command" } & SessionCommand);

type RunInvocation = Extract<Invocation, { kind: "run" }>;

/**
 * Does all that a run needs before its first request, and writes the session header. Throws a StartupError for
 * whatever the user can put right; nothing is left behind then.
 */
export async function startRun(invocation: RunInvocation, host: Host, console: Console): Promise<Run> {
  const { flags } = invocation;
  const warn = (line: string) => console.stderr.diagnostic(line);
  const home = homeFolder(host.env);
  if (flags.outputLastMessage !== undefined) checkLastMessageFile(flags.outputLastMessage, host.cwd);
  const startFolder = workingFolder(flags.cwd, host.cwd);
  const settingsOf = (cwd: string) => loadSettings({ home, cwd, env: host.env, warn });
  const startSettings = await settingsOf(startFolder);
  const folder = resolve(host.cwd, flags.sessionDir ?? startSettings.sessionDir ?? homePaths(home).sessions);
  const prompts = await readPrompts({
    messages: invocation.messages,
    files: invocation.files,
    cwd: host.cwd,
    stdin: host.stdin,
    readStdin: flags.stdin,
    stdinTimeoutMs: flags.stdinTimeoutMs,
    signal: host.signal,
    warn,
  });
  const opened = openStore(flags, { folder, cwd: startFolder, pid: host.pid, warn });
  const undo: (() => void | Promise<void>)[] = [() => opened?.close()];
  try {
    const left = opened && leftBranch(opened, flags);
    const cwd = flags.cwd === undefined && opened !== undefined ? recordedFolder(opened) : startFolder;
    const settings = cwd === startFolder ? startSettings : await settingsOf(cwd);
    const chosen = await pickModel({ flags, host, home, settings, saved: opened?.settings(), warn });
    undo.push(chosen.close);
    console.redaction.add(chosen.secrets);
    const tools = createTools({
      ...(flags.noTools ? { none: true } : {}),
      names: flags.tools,
      env: host.env,
      credentialNames: chosen.credentialEnv,
      secrets: chosen.secrets,
      passEnv: flags.passEnv,
      shell: settings.shell,
      spillFolder: join(home, "spill"),
      images: settings.images,
    });
    const store = opened ?? createSession({ folder, cwd, pid: host.pid, persist: !flags.noSession });
    return begin({ flags, host, console, settings, home, cwd, prompts, left, chosen, tools, store, warn });
  } catch (error) {
    for (const step of undo) await step();
    throw error;
  }
}

type Beginning = {
  readonly flags: Flags;
  readonly host: Host;
  readonly console: Console;
  readonly settings: Settings;
  readonly home: string;
  readonly cwd: string;
  readonly prompts: readonly Prompt[];
  /** What `--branch` leaves behind, when it is to be summed up. */
  readonly left: LeftBranch | undefined;
  readonly chosen: PickedModel;
  readonly tools: readonly Tool[];
  readonly store: SessionStore;
  readonly warn: (line: string) => void;
};

function begin(beginning: Beginning): Run {
  const { flags, host, console, settings, home, cwd, chosen, tools, store, warn } = beginning;
  const { secrets, redact } = console.redaction;
  const sink = createSink(flags, host, console);
  const header = { ...store.header, cwd };
  sink.header(header);
  keepChoice(store, flags, chosen);
  const session = createAgentSession({
    provider: chosen.provider,
    model: chosen.model,
    thinkingLevel: chosen.thinkingLevel,
    tools,
    store,
    cwd,
    systemPrompt: readSystemPrompt({
      home,
      cwd,
      timestamp: header.timestamp,
      custom: flags.systemPrompt,
      append: flags.appendSystemPrompt,
      contextFiles: !flags.noContextFiles,
      canRead: tools.some(({ name }) => name === "read" || name === "bash"),
      warn,
    }),
    settings,
    emit: sink.emit,
    ready: sink.ready,
    secrets,
    redact,
    warn,
    now: Date.now,
    chooseModel: async (id) => {
      const other = await chosen.another(id);
      console.redaction.add(other.secrets);
      return other;
    },
    exportTo: async (file) => (await import("./export-to.ts")).exportTo(store, { file, cwd, warn }),
  });
  const sources: PromptSources = { folders: configFolders(home, cwd), warn };
  return {
    session,
    prompts: [
      ...(beginning.left === undefined ? [] : [{ kind: "branch_summary" as const, left: beginning.left }]),
      ...beginning.prompts.map((prompt) => toRunPrompt(prompt, sources)),
    ],
    sink,
    async close() {
      try {
        for (const tool of tools) await tool.close?.();
        await chosen.close();
      } finally {
        store.close();
      }
    },
  };
}

function createSink(flags: Flags, host: Host, { stdout, stderr, redaction }: Console): Sink {
  if (flags.mode === "text")
    return createTextSink({ writer: stdout, isTerminal: host.stdout.isTerminal, stderr });
  const create = flags.jsonDeltas ? createDeltaSink : createJsonSink;
  return create({ writer: stdout, redact: redaction.redact });
}

/** Keeps what the session goes on with, where that is not what it says already. */
function keepChoice(store: SessionStore, flags: Flags, { model, thinkingLevel }: PickedModel): void {
  const saved = store.settings();
  if (saved.model?.provider !== model.provider || saved.model.modelId !== model.id)
    store.append({ type: "model_change", provider: model.provider, modelId: model.id });
  if (saved.thinkingLevel !== thinkingLevel) store.append({ type: "thinking_level_change", thinkingLevel });
  if (flags.name !== undefined && flags.name !== saved.name)
    store.append({ type: "session_info", name: flags.name });
}

function toRunPrompt({ attached, text: said, literal, images }: Prompt, sources: PromptSources): RunPrompt {
  const expanded = literal ? undefined : expandPrompt(said, sources);
  // What comes with text from elsewhere is meant for the model.
  if (expanded?.kind === "not_found" && attached === "" && images.length === 0)
    return { kind: "command", name: expanded.name, args: expanded.args };
  const meant = expanded?.kind === "prompt" ? expanded.text : said;
  const text = attached === "" || meant === "" ? attached + meant : `${attached}\n\n${meant}`;
  const content = images.length === 0 ? text : [{ type: "text" as const, text }, ...images];
  return { kind: "message", message: { role: "user", content, timestamp: Date.now() } };
}
