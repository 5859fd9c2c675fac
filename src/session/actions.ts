import type { QueueMode } from "../contract/config.ts";
import type { Emit, SessionActionSnapshot } from "../contract/events.ts";

export type QueueModes = {
  readonly steeringMode: QueueMode;
  readonly followUpMode: QueueMode;
};

/** What waits for its turn, and what is at work. Tells whenever either changes, and never twice the same. */
export type SessionActions = {
  setActive(active: SessionActionSnapshot["active"]): void;
  /** Queues a text that is said after the current turn's tool calls. */
  steer(text: string): void;
  /** Queues a text that is said when the agent would stop. */
  followUp(text: string): void;
  /** Takes what is to be said now; between turns only what steers. */
  take(when: "between_turns" | "at_end"): readonly string[];
  /** Takes all that waits. */
  clear(): readonly string[];
  snapshot(): SessionActionSnapshot;
};

/** Starts with nothing active and an empty queue, which is not told. */
export function createSessionActions(emit: Emit, modes: QueueModes): SessionActions {
  let steering: string[] = [];
  let followUps: string[] = [];
  let active: SessionActionSnapshot["active"];
  let told = JSON.stringify(snapshot());

  function snapshot(): SessionActionSnapshot {
    return {
      queuedCount: steering.length + followUps.length,
      steering: [...steering],
      followUps: [...followUps],
      ...(active === undefined ? {} : { active }),
    };
  }

  function tell(): void {
    const actions = snapshot();
    const text = JSON.stringify(actions);
    if (text === told) return;
    told = text;
    emit({ type: "session_action_update", actions });
  }

  function take(when: "between_turns" | "at_end"): readonly string[] {
    let taken: readonly string[];
    if (steering.length > 0) [taken, steering] = split(steering, modes.steeringMode);
    else if (when === "at_end") [taken, followUps] = split(followUps, modes.followUpMode);
    else return [];
    tell();
    return taken;
  }

  return {
    setActive(next) {
      active = next;
      tell();
    },
    steer(text) {
      steering.push(text);
      tell();
    },
    followUp(text) {
      followUps.push(text);
      tell();
    },
    take,
    clear() {
      const all = [...steering, ...followUps];
      steering = [];
      followUps = [];
      tell();
      return all;
    },
    snapshot,
  };
}

function split(waiting: string[], mode: QueueMode): [taken: string[], left: string[]] {
  return mode === "all" ? [waiting, []] : [waiting.slice(0, 1), waiting.slice(1)];
}
