import type { ToolOutput } from "../contract/events.ts";

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
  let isDue = false;

  function tell(): void {
    isDue = false;
    timer = setTimeout(elapsed, intervalMs);
    onUpdate(soFar());
  }

  function elapsed(): void {
    timer = undefined;
    if (isDue) tell();
  }

  return {
    touch() {
      if (timer === undefined) tell();
      else isDue = true;
    },
    stop: () => clearTimeout(timer),
  };
}
