import type { Model } from "../contract/provider.ts";
import { maxTimerMs } from "../contract/timers.ts";
import type { ProviderFetch } from "./adapter.ts";

/** The fetch of one request, for an SDK that hides what went wrong. */
export type RequestFetch = {
  readonly fetch: ProviderFetch;
  /** What the SDK's call stands for: throws what our fetch threw, not what the SDK made of it. */
  settle<T>(call: Promise<T>): Promise<T>;
};

/** The longest time that a timer can hold, in place of an SDK's own limit: the time limits are ours. */
export const noTimeoutMs = maxTimerMs;

/** What the SDK gets as body, and does not touch. Its fetch puts the real one, which is in parts, in its place. */
export const bodyStandIn = new Uint8Array();

/**
 * Wraps our fetch for one request. The signal goes straight to it, so that an abort does not depend on the SDK, and a
 * failure comes back as it was thrown (SDKs turn what looks like a time-out into an error without a cause).
 */
export function createRequestFetch(fetch: ProviderFetch, signal: AbortSignal): RequestFetch {
  let failure: { readonly thrown: unknown } | undefined;
  return {
    async fetch(url, init) {
      try {
        // The SDK gets here only some turns later.
        signal.throwIfAborted();
        return await fetch(url, { ...init, signal });
      } catch (thrown) {
        failure = { thrown };
        throw thrown;
      }
    },
    async settle(call) {
      try {
        return await call;
      } catch (thrown) {
        signal.throwIfAborted();
        throw failure === undefined ? thrown : failure.thrown;
      }
    },
  };
}

/**
 * All headers of one request, their names in lower case. They take the place of the SDK's, which tell of this machine
 * and of what its environment holds for the SDK's own provider. What the model's configuration states comes last and
 * wins.
 */
export function toRequestHeaders(
  model: Model,
  own: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {
    accept: "application/json",
    "content-type": "application/json",
    "user-agent": "base-context",
    ...own,
  };
  for (const [name, value] of Object.entries(model.headers)) headers[name.toLowerCase()] = value.trim();
  return headers;
}
