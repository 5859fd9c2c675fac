import { dirname } from "node:path";
import { psStart } from "./process-start.ts";
import type { Registration } from "./registration.ts";
import { pruneWhenMany } from "./registry.ts";

/** What a run does for the registry when it has a moment, such as while it waits for the model. Never throws. */
export function tidyUp(registration: Registration): void {
  completeIdentity(registration);
  pruneWhenMany(dirname(registration.folder()), Date.now());
}

/** Lets systems without /proc tell this process from a later one with its number. Takes some milliseconds there. */
function completeIdentity(registration: Registration): void {
  const { process } = registration.record();
  if (process.startTime !== undefined) return;
  const start = psStart(process.pid);
  if (start !== undefined) registration.update({ psStart: start });
}
