import { maxTimerMs } from "../../contract/timers.ts";
export type OutputStream = "stdout" | "stderr";

/** Takes output as it comes. The chunk is only valid during the call. Must not throw. */
export type OnOutput = (chunk: Uint8Array, stream: OutputStream) => void;

/** What ends a command early, and who takes its output. */
export type Limits = {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /** Output beyond this ends the command. */
  readonly maxOutputBytes?: number | undefined;
  readonly onOutput?: OnOutput | undefined;
};

/** What ended it. */
export type StopReason = "timeout" | "abort" | "ceiling";

/** Watches over time, signal and amount of output; `stopped` resolves when the first of them says stop. */
export function watchLimits({
  signal,
  timeoutMs,
  maxOutputBytes = Number.POSITIVE_INFINITY,
  onOutput,
}: Limits) {
  let stop: (reason: StopReason) => void = () => undefined;
  const stopped = new Promise<StopReason>((resolve) => {
    stop = resolve;
  });
  const onAbort = (): void => stop("abort");
  const onTimeout = (): void => stop("timeout");
  if (signal?.aborted) onAbort();
  signal?.addEventListener("abort", onAbort, { once: true });
  const timer = timeoutMs === undefined ? undefined : setTimeout(onTimeout, Math.min(timeoutMs, maxTimerMs));
  let bytes = 0;
  return {
    stopped,
    onOutput(chunk: Uint8Array, stream: OutputStream): void {
      const room = maxOutputBytes - bytes;
      bytes += chunk.length;
      if (room > 0) onOutput?.(chunk.length > room ? chunk.subarray(0, room) : chunk, stream);
      if (bytes > maxOutputBytes) stop("ceiling");
    },
    dispose(): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    },
  };
}
