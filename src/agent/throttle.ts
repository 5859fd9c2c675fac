import { monotonicMs } from "../contract/monotonic.ts";

/** Passes values on at most once an interval, the newest one last. */
export type Throttle<T> = {
  push(value: T): void;
  /** Drops what waits and passes nothing on any more. */
  stop(): void;
};

export type ThrottleOptions<T> = {
  readonly intervalMs: number;
  /** The first value; like any other it is passed on again when nothing new came for a while. */
  readonly first: T;
  /** How long that while is. It doubles each time, up to `maxSilenceMs`. */
  readonly silenceMs: number;
  readonly maxSilenceMs: number;
};

/** Makes a throttle. The first value that is pushed passes at once. */
export function throttle<T>(options: ThrottleOptions<T>, pass: (value: T) => void): Throttle<T> {
  const { intervalMs, maxSilenceMs } = options;
  let last = options.first;
  let waiting: { value: T } | undefined;
  let nextMs = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;
  let silenceMs = options.silenceMs;
  let timedMs = silenceMs;
  let silence = setTimeout(repeat, silenceMs);
  let stopped = false;

  function push(value: T): void {
    if (stopped) return;
    silenceMs = options.silenceMs;
    const nowMs = monotonicMs();
    if (timer === undefined && nowMs >= nextMs) tellNew(value, nowMs);
    else {
      waiting = { value };
      timer ??= setTimeout(elapsed, nextMs - nowMs);
    }
  }

  function tellNew(value: T, nowMs: number): void {
    nextMs = nowMs + intervalMs;
    tell(value);
  }

  function tell(value: T): void {
    last = value;
    restartSilence();
    pass(value);
  }

  /** Most calls are over before anything has to wait: a timer that is there already costs less than a new one. */
  function restartSilence(): void {
    if (timedMs === silenceMs) {
      silence.refresh();
      return;
    }
    clearTimeout(silence);
    timedMs = silenceMs;
    silence = setTimeout(repeat, silenceMs);
  }

  function elapsed(): void {
    timer = undefined;
    if (waiting === undefined) return;
    const { value } = waiting;
    waiting = undefined;
    tellNew(value, monotonicMs());
  }

  function repeat(): void {
    silenceMs = Math.min(silenceMs * 2, maxSilenceMs);
    tell(last);
  }

  function stop(): void {
    stopped = true;
    clearTimeout(timer);
    clearTimeout(silence);
  }

  return { push, stop };
}
