import type { TextOutput } from "../../src/commands/export-file.ts";
import { createSession, type SessionStore } from "../../src/session/store/store.ts";
import { assistant, call, message, result, text, user } from "../session/samples.ts";

/** When the sample sessions happen. */
export const sampleTime = "2024-01-01T00:00:00.000Z";

/** A new session that is called `mine`, without messages. */
export function createSampleSession(folder: string): SessionStore {
  const now = () => Date.parse(sampleTime);
  const store = createSession({ folder, cwd: "/work", pid: process.pid, persist: true, now });
  store.append({ type: "session_info", name: "mine" });
  return store;
}

/** A session that is called `mine`, with a question, a call and its result. */
export function writeSampleSession(folder: string): SessionStore {
  const store = createSampleSession(folder);
  store.append(message(user("list\nthe \u001b[31mfiles")));
  store.append(message(assistant([text("Yes"), call("1")])));
  store.append(message(result("1", "x".repeat(5000))));
  return store;
}

/** Takes text and keeps it. */
export function createMemoryOutput(): TextOutput & { readonly text: () => string } {
  let written = "";
  return {
    write(piece) {
      written += piece;
    },
    ready: async () => undefined,
    text: () => written,
  };
}

/** What a command that never ends early is told. */
export const going: AbortSignal = new AbortController().signal;
