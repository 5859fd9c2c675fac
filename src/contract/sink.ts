import type { AgentSessionEvent, SessionHeader } from "./events.ts";
import type { RunOutcome } from "./outcome.ts";

/** What turns session events into bytes on stdout. */
export type Sink = {
  /** The first line, before any event. */
  header(header: SessionHeader): void;
  /** Takes an event at once: what it needs of a live message it copies. Never throws. */
  emit(event: AgentSessionEvent): void;
  /** Resolves when there is room for more; at once when there is. Also resolves when the reader is gone. */
  ready(): Promise<void>;
  /** Writes what is left (in text mode: the answer) and resolves when all of it has left the process or can never. */
  close(outcome: RunOutcome): Promise<void>;
};
