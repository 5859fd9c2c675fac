import type { Emit, SessionActionSnapshot } from "../contract/events.ts";

/** Tells what is at work and what waits, whenever either changes and never twice the same. */
export type SessionActions = {
  setActive(active: SessionActionSnapshot["active"]): void;
};

/** Starts with nothing active and an empty queue, which is not told. */
export function createSessionActions(emit: Emit): SessionActions {
  let told = JSON.stringify(snapshot(undefined));

  function setActive(active: SessionActionSnapshot["active"]): void {
    const actions = snapshot(active);
    const text = JSON.stringify(actions);
    if (text === told) return;
    told = text;
    emit({ type: "session_action_update", actions });
  }

  return { setActive };
}

function snapshot(active: SessionActionSnapshot["active"]): SessionActionSnapshot {
  return { queuedCount: 0, steering: [], followUps: [], ...(active === undefined ? {} : { active }) };
}
