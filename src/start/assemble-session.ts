import type { PromptSources } from "../config/expand-prompt.ts";
import { configFolders, readSystemPrompt } from "../config/system-prompt.ts";
import type { Settings } from "../contract/config.ts";
import type { Emit } from "../contract/events.ts";
import type { Sink } from "../contract/sink.ts";
import type { Tool } from "../contract/tool.ts";
import type { Flags } from "../flags/options.ts";
import type { Redaction } from "../redaction.ts";
import type { OpenedSession } from "../runs/conversation.ts";
import type { LiveSettings } from "../runs/rpc/actions.ts";
import { createAgentSession, type ModelChoice } from "../session/agent-session.ts";
import { sessionCommandNames } from "../session/slash-commands.ts";
import type { SessionStore } from "../session/store/store.ts";
import type { UsageLedger } from "../session/usage.ts";
import type { AutonomousSetup } from "./autonomous-setup.ts";
import { toRunPrompt } from "./run-prompt.ts";

/** What all sessions of a run have in common. */
export type RunParts = {
  readonly flags: Flags;
  readonly home: string;
  readonly settings: Settings & LiveSettings;
  readonly tools: readonly Tool[];
  readonly sink: Sink;
  readonly emit: Emit;
  readonly redaction: Redaction;
  readonly autonomous: AutonomousSetup;
  readonly ledger: UsageLedger;
  readonly chooseModel: (id: string) => Promise<ModelChoice>;
  readonly warn: (line: string) => void;
};

/** Puts a session together from its store. Its header is not told yet. */
export function assembleSession(
  parts: RunParts,
  { store, cwd, choice }: { store: SessionStore; cwd: string; choice: ModelChoice },
): OpenedSession {
  const { flags, home, settings, tools, sink, redaction, warn } = parts;
  const header = { ...store.header, cwd };
  const autonomy = parts.autonomous.prepare({ store, cwd, model: choice.model });
  const made = createAgentSession({
    ...choice,
    tools: [...tools, ...autonomy.tools],
    store,
    cwd,
    systemPrompt: [
      readSystemPrompt({
        home,
        cwd,
        timestamp: header.timestamp,
        custom: flags.systemPrompt,
        append: flags.appendSystemPrompt,
        contextFiles: !flags.noContextFiles,
        canRead: tools.some(({ name }) => name === "read" || name === "bash"),
        warn,
      }),
      ...autonomy.systemPrompt,
    ].join("\n\n"),
    outputSchema: autonomy.outputSchema,
    limit: autonomy.limit,
    settings,
    emit: parts.emit,
    ready: sink.ready,
    secrets: redaction.secrets,
    redact: redaction.redact,
    warn,
    now: Date.now,
    ledger: parts.ledger,
    chooseModel: parts.chooseModel,
    exportTo: async (file, signal) =>
      (await import("./export-to.ts")).exportTo(store, { file, cwd, signal, warn }),
  });
  const session = autonomy.wrap(made);
  const sources: PromptSources = { folders: configFolders(home, cwd), reserved: sessionCommandNames, warn };
  return {
    session,
    cwd,
    toPrompt: (text, images, literal = false) =>
      toRunPrompt({ attached: "", text, images, literal }, sources),
    commands: async () => (await import("./list-commands.ts")).listCommands(sources),
    begin: () => sink.header(header),
    async close() {
      try {
        for (const tool of tools) await tool.close?.();
      } finally {
        store.close();
      }
    },
  };
}
