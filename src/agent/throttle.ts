/** Passes values on at most once an interval, the newest one last. */
export type Throttle<T> = {
  push(value: T): void;
  /** Drops what waits and passes nothing on any more. */
  stop(): void;
};

/** Makes a throttle; the first value passes at once. */
export function throttle<T>(intervalMs: number, pass: (value: T) => void): Throttle<T> {
  let waiting: { value: T } | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  function push(value: T): void {
    if (stopped) return;
    if (timer !== undefined) {
      waiting = { value };
      return;
    }
    timer = setTimeout(elapsed, intervalMs);
    pass(value);
  }

  function elapsed(): void {
    timer = undefined;
    if (waiting === undefined) return;
    const { value } = waiting;
    waiting = undefined;
    push(value);
  }

  function stop(): void {
    stopped = true;
    clearTimeout(timer);
  }

  return { push, stop };
}
