import type { NewEntry } from "../contract/entries.ts";
import { errorMessage } from "../contract/errors.ts";
import type { AgentMessage, AssistantMessage } from "../contract/messages.ts";
import type { RunFailure, RunOutcome } from "../contract/outcome.ts";
import type { Model } from "../contract/provider.ts";
import type { SessionStore } from "./store/store.ts";
import { createUsageLedger, type UsageLedger } from "./usage.ts";

/** What is kept of a session's work: its entries in the store, what it used, and what its exit status depends on. */
export type SessionRecord = {
  /** Changed in place as the work goes on. */
  readonly outcome: RunOutcome;
  readonly ledger: UsageLedger;
  /** Keeps an entry. A file that cannot be written is a failure of the outcome; nothing is thrown. */
  append(entry: NewEntry): void;
  message(message: AgentMessage): void;
  /** Keeps a reply of the model, with what it used and how it ended. */
  reply(message: AssistantMessage, model: Model): void;
  fail(kind: RunFailure["kind"], message: string): void;
  /** Forgets what ended earlier prompts, unless it concerns the session's file. */
  renew(): void;
};

/** Starts with nothing used and nothing failed. `redact` cleans what is said of failures. */
export function createSessionRecord({
  store,
  redact,
  ledger = createUsageLedger(),
}: {
  readonly store: SessionStore;
  readonly redact: (text: string) => string;
  readonly ledger?: UsageLedger | undefined;
}): SessionRecord {
  const outcome: RunOutcome = { failures: [], finalText: "" };

  function fail(kind: RunFailure["kind"], message: string): void {
    outcome.failures.push({ kind, message: redact(message) });
  }

  function append(entry: NewEntry): void {
    try {
      store.append(entry);
    } catch (error) {
      fail("persistence", errorMessage(error));
    }
  }

  function keepMessage(message: AgentMessage): void {
    append({ type: "message", message });
  }

  return {
    outcome,
    ledger,
    append,
    message: keepMessage,
    reply(reply, model) {
      keepMessage(reply);
      const { stopReason, errorMessage: words } = reply;
      outcome.terminal = { stopReason, ...(words === undefined ? {} : { errorMessage: words }) };
      ledger.add(model, isCutShort(outcome) ? "failed_attempt" : "turn", reply.usage);
      outcome.finalText = finalText(reply);
    },
    fail,
    renew() {
      outcome.failures = outcome.failures.filter(({ kind }) => kind === "persistence");
      delete outcome.limit;
    },
  };
}

/** Whether nothing has failed that work ends with: a session that cannot be written any more can still give its answers. */
export function mayGoOn(outcome: RunOutcome): boolean {
  return outcome.failures.every(({ kind }) => kind === "persistence") && !isCutShort(outcome);
}

function isCutShort({ terminal }: RunOutcome): boolean {
  return terminal?.stopReason === "error" || terminal?.stopReason === "aborted";
}

/** The text of an answer, as text mode prints it. */
export function finalText(message: AssistantMessage): string {
  return message.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
