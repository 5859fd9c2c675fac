import { ProviderError } from "../contract/errors.ts";
import type { Provider, ProviderEvent, ProviderRequest, Timeouts } from "../contract/provider.ts";
import { maxTimerMs } from "../contract/timers.ts";

/**
 * A provider whose replies have time limits: until the first event, and between events. The clock runs only while the
 * provider is waited for, so that a slow consumer costs nothing. Past a limit the request is aborted and a ProviderError
 * `timeout` thrown. An abort from outside throws the signal's reason at once, whether or not the provider heeds it.
 */
export function withTimeLimits(provider: Provider, timeouts: Timeouts): Provider {
  return { stream: (request, signal) => limit({ provider, timeouts, request, signal }) };
}

type Reply = {
  readonly provider: Provider;
  readonly timeouts: Timeouts;
  readonly request: ProviderRequest;
  readonly signal: AbortSignal;
};

async function* limit(reply: Reply): AsyncGenerator<ProviderEvent, void, undefined> {
  const { provider, timeouts, request, signal } = reply;
  signal.throwIfAborted();
  const controller = new AbortController();
  const events = provider.stream(request, controller.signal);
  const wait = createWait(events, (reason) => controller.abort(reason));
  const onAbort = () => wait.interrupt(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    const name = request.model.provider;
    const toIdleError = () => tooSlow(name, "idleMs", timeouts);
    let result = await wait.next(timeouts.firstEventMs, () => tooSlow(name, "firstEventMs", timeouts));
    while (!result.done) {
      yield result.value;
      signal.throwIfAborted();
      result = await wait.next(timeouts.idleMs, toIdleError);
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    wait.end();
    // Not awaited: a provider that hangs would hang this one too.
    events.return().catch(() => undefined);
  }
}

/** The next event, unless something comes between. */
type Wait = {
  next(limitMs: number, toError: () => ProviderError): Promise<IteratorResult<ProviderEvent, void>>;
  /** Aborts the request and rejects what waits for it. */
  interrupt(reason: unknown): void;
  /** Stops the clock. */
  end(): void;
};

function createWait(events: AsyncGenerator<ProviderEvent, void>, abort: (reason: unknown) => void): Wait {
  let reject: ((reason: unknown) => void) | undefined;
  const interrupt = (reason: unknown) => {
    reject?.(reason);
    abort(reason);
  };
  // One timer serves all events: to make one for each costs as much as to read it.
  let timer: NodeJS.Timeout | undefined;
  let timerMs: number | undefined;
  let error: () => ProviderError;
  const onTimer = () => {
    if (reject !== undefined) interrupt(error());
  };
  const startClock = (limitMs: number) => {
    if (timerMs === limitMs) {
      timer?.refresh();
      return;
    }
    clearTimeout(timer);
    timerMs = limitMs;
    timer = setTimeout(onTimer, Math.min(limitMs, maxTimerMs));
  };
  return {
    interrupt,
    next(limitMs, toError) {
      error = toError;
      startClock(limitMs);
      return new Promise((resolve, rejectThis) => {
        reject = rejectThis;
        const settled = <T>(settle: (value: T) => void) => {
          return (value: T) => {
            reject = undefined;
            settle(value);
          };
        };
        events.next().then(settled(resolve), settled(rejectThis));
      });
    },
    end: () => clearTimeout(timer),
  };
}

function tooSlow(provider: string, name: keyof Timeouts, timeouts: Timeouts): ProviderError {
  const seconds = timeouts[name] / 1000;
  const what =
    name === "firstEventMs" ? `did not start to answer within ${seconds} s` : `sent nothing for ${seconds} s`;
  return new ProviderError(
    "timeout",
    `${provider} ${what}; timeouts.${name} in settings.json sets the limit`,
  );
}
