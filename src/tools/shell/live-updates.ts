import type { ToolOutput } from "../../contract/events.ts";
import { monotonicMs } from "../../contract/monotonic.ts";

/** Tells about output while it comes. */
export type LiveUpdates = {
  /** There is something new. */
  touch(): void;
  /** Nothing is told any more. */
  stop(): void;
};

const intervalMs = 100;

/** Makes updates that are put together at most every 100 ms: at once for the first output, and never older than that. */
export function createLiveUpdates(
  onUpdate: (partial: ToolOutput) => void,
  soFar: () => ToolOutput,
): LiveUpdates {
  let timer: NodeJS.Timeout | undefined;
  let nextMs = Number.NEGATIVE_INFINITY;
  let isStopped = false;

  function tell(): void {
    timer = undefined;
    nextMs = monotonicMs() + intervalMs;
    onUpdate(soFar());
  }

  return {
    touch() {
      if (isStopped || timer !== undefined) return;
      const waitMs = nextMs - monotonicMs();
      if (waitMs <= 0) tell();
      else timer = setTimeout(tell, waitMs);
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
