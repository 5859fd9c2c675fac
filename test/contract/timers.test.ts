import { expect, test } from "vitest";
import { within } from "../../src/contract/timers.ts";

/** Ends when it is told to, with the reason that it is given. */
const work = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason));
  });

test("work is told to end once its time is over", async () => {
  await expect(within(5, undefined, work)).rejects.toMatchObject({ name: "TimeoutError" });
  await expect(within(5, new AbortController().signal, work)).rejects.toMatchObject({ name: "TimeoutError" });
});

test("work ends with the reason of the signal, be it aborted before or meanwhile", async () => {
  const reason = new Error("stopped");
  await expect(within(60_000, AbortSignal.abort(reason), work)).rejects.toBe(reason);
  const controller = new AbortController();
  const ended = expect(within(60_000, controller.signal, work)).rejects.toBe(reason);
  controller.abort(reason);
  await ended;
});

test("work that ends by itself gives what it made", async () => {
  expect(await within(60_000, undefined, async () => "made")).toBe("made");
});
