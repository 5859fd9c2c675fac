/** The longest time that a timer of Node can wait, in milliseconds: one that is told to wait longer fires at once. */
export const maxTimerMs = 2 ** 31 - 1;

/**
 * Does something with a signal that is aborted when another one is, with its reason, or once a time (milliseconds) is
 * over. `AbortSignal.timeout` does not do in `AbortSignal.any`: Node 20 collects it as garbage before it fires.
 */
export async function within<T>(
  limitMs: number,
  signal: AbortSignal | undefined,
  work: (limit: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const onAbort = () => controller.abort(signal?.reason);
  const onTimer = () =>
    controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError"));
  if (signal?.aborted) onAbort();
  signal?.addEventListener("abort", onAbort, { once: true });
  const timer = setTimeout(onTimer, limitMs);
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}
