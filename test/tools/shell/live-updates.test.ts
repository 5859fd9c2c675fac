import { expect, test, vi } from "vitest";
import { createLiveUpdates } from "../../../src/tools/shell/live-updates.ts";

test("nothing is told once it was stopped, however long ago the last update was", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "hrtime"] });
  try {
    const onUpdate = vi.fn();
    const updates = createLiveUpdates(onUpdate, () => ({ content: [] }));
    updates.touch();
    vi.advanceTimersByTime(1_000);
    updates.stop();
    updates.touch();
    vi.advanceTimersByTime(1_000);
    expect(onUpdate).toHaveBeenCalledTimes(1);
  } finally {
    vi.useRealTimers();
  }
});
