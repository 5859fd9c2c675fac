import type { ProviderError } from "../contract/errors.ts";
import type { Emit } from "../contract/events.ts";
import { maxTimerMs } from "../contract/timers.ts";

/** When and how long to wait before a failed request is made again. Times in milliseconds. */
export type RetrySettings = {
  readonly enabled: boolean;
  readonly maxRetries: number;
  readonly baseDelayMs: number;
  readonly maxDelayMs: number;
};

export type RetryDeps = {
  readonly settings: RetrySettings;
  readonly emit: Emit;
  readonly redact: (text: string) => string;
  /** A number from 0 up to 1. */
  readonly random: () => number;
};

/** One series of attempts: it opens with the first failure that may pass and closes with one `auto_retry_end`. */
export type RetrySeries = {
  /** Waits for the next attempt's time. False when there is to be none, or the wait was aborted. */
  next(error: ProviderError, signal: AbortSignal): Promise<boolean>;
  /** Ends the wait for the next attempt, so that there is none. False when nothing waits. */
  abortWait(): boolean;
  /** Closes an open series: an attempt worked. */
  succeed(): void;
  /** Closes an open series whose last attempt came to nothing, and says why in a few words. */
  abandon(why: string): void;
  /** Closes an open series: the failure is not one that another attempt helps. */
  fail(error: ProviderError): void;
};

/** Makes the retry policy of one session. */
export function createRetrySeries(deps: RetryDeps): RetrySeries {
  const { settings, emit, redact } = deps;
  let attempt = 0;
  let wait: AbortController | undefined;

  async function next(error: ProviderError, signal: AbortSignal): Promise<boolean> {
    const delayMs = retryDelayMs(error, attempt + 1, deps);
    if (delayMs === undefined) {
      fail(error);
      return false;
    }
    attempt++;
    const message = redact(error.message);
    emit({
      type: "auto_retry_start",
      attempt,
      maxAttempts: settings.maxRetries,
      delayMs,
      errorMessage: message,
    });
    wait = new AbortController();
    const waited = await waitUnlessAborted(delayMs, AbortSignal.any([signal, wait.signal]));
    wait = undefined;
    if (waited) return true;
    close(false, `aborted while waiting to try again after: ${message}`);
    return false;
  }

  function close(success: boolean, finalError?: string): void {
    if (attempt === 0) return;
    emit({ type: "auto_retry_end", success, attempt, ...(finalError === undefined ? {} : { finalError }) });
    attempt = 0;
  }

  function fail(error: ProviderError): void {
    close(false, redact(error.message));
  }

  function abortWait(): boolean {
    wait?.abort();
    return wait !== undefined;
  }

  return {
    next,
    abortWait,
    succeed: () => close(true),
    abandon: (why) => close(false, why),
    fail,
  };
}

/** The wait before attempt 1, 2, 3 ... in milliseconds; undefined when there is to be no such attempt. */
export function retryDelayMs(
  error: ProviderError,
  attempt: number,
  deps: Pick<RetryDeps, "settings" | "random">,
): number | undefined {
  const { enabled, maxRetries, baseDelayMs } = deps.settings;
  const maxDelayMs = Math.min(deps.settings.maxDelayMs, maxTimerMs);
  if (!enabled || !error.transient || attempt > maxRetries) return undefined;
  if (error.retryAfterMs !== undefined)
    return error.retryAfterMs > maxDelayMs ? undefined : error.retryAfterMs;
  const jitter = 1 + deps.random() / 4;
  return Math.min(maxDelayMs, Math.round(baseDelayMs * 2 ** (attempt - 1) * jitter));
}

/** Resolves true after the time, false as soon as the signal is aborted. */
export function waitUnlessAborted(delayMs: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(false);
    const timer = setTimeout(() => done(true), delayMs);
    const onAbort = () => done(false);
    signal.addEventListener("abort", onAbort, { once: true });
    function done(waited: boolean): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      resolve(waited);
    }
  });
}
